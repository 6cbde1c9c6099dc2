//! Every kernel on the device: each dispatch starts from what the lock-step executor has in the
//! buffers, and is to leave the same bits as there. The executor's result of the whole recording is
//! compared with the CPU's.
//!
//! So each kernel is judged by itself: a wrong one does not spoil the input of the next.

use super::checks::{Opened, guarded};
use super::report::{Kernels, LeftOut, Outcome};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::recordings::{
    Coloring, Execution, REPRESENTATIVES, is_same, library, payload_buffer, prefix_sums_library,
    prefix_sums_of, was_sorted,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wgpu_bcfsort::internals::layout_entries;
use wgpu_bcfsort::internals::mergesort::kernels::base_case;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::shader::{Access, Assembled, Kernel, W};
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{KeyType, Sorter, wgpu};
use wgsl_lockstep::Config;

/// Devices that run kernels at the same time. Software drivers compile one kernel at a time on each
/// device.
const DEVICES: usize = 4;

/// How long kernels are run. Those that are left then are told. Only software drivers come near it:
/// they compile some kernels for seconds.
const fn time_for(is_software: bool, quick: bool) -> Duration {
    Duration::from_secs(match (is_software, quick) {
        (true, true) => 6,
        (true, false) => 120,
        (false, _) => 300,
    })
}

/// Why kernels are not run after that time.
const NO_TIME: &str = "no time was left, since the driver compiles slowly";

/// Distinct keys: so many kernels see equal keys, and different ones.
const DISTINCT: u64 = 2000;

/// Runs every kernel that the adapter can run. Calls `done` with the number of recordings that are
/// done, and that of all.
pub(super) fn check(
    adapter: &wgpu::Adapter,
    quick: bool,
    done: impl FnMut(usize, usize) + Send,
) -> Kernels {
    let (jobs, left_out) = jobs(adapter, quick);
    let count = jobs.len();
    let is_software = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    let until = Instant::now() + time_for(is_software, quick);
    let (next, finished) = (AtomicUsize::new(0), Mutex::new((0, done)));
    let results = Mutex::new(Vec::new());
    let work = || {
        let mut device = Opened::new(adapter);
        while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
            let result = job.run(&mut device, until);
            results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(result);
            let mut finished = finished.lock().unwrap_or_else(PoisonError::into_inner);
            finished.0 += 1;
            let number = finished.0;
            (finished.1)(number, count);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 1..threads.min(DEVICES) {
            scope.spawn(work);
        }
        work();
    });
    let mut kernels = Kernels {
        left_out,
        ..Kernels::default()
    };
    for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        kernels.recordings += usize::from(result.is_whole);
        kernels.executor_wrong.extend(result.executor_wrong);
        for (kernel, outcome) in result.kernels {
            match outcome {
                Verdict::Right => kernels.right.push(kernel),
                Verdict::Wrong(what) => kernels.wrong.push(Outcome { kernel, what }),
                Verdict::Failed(what) => kernels.failed.push(Outcome { kernel, what }),
                Verdict::LeftOut(reason) => leave_out(&mut kernels.left_out, &kernel, reason),
            }
        }
    }
    // The order in which threads end is of no interest.
    kernels.right.sort_unstable();
    kernels.executor_wrong.sort_unstable();
    for outcomes in [&mut kernels.wrong, &mut kernels.failed] {
        outcomes.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    }
    kernels
}

/// A recording, and the kernels that are judged in it: those that no other job has.
struct Job {
    recording: Recording,
    kernels: BTreeSet<Kernel>,
    /// What the executor has to do, in keys that are moved.
    work: u64,
}

/// What a job has found.
#[derive(Default)]
struct Judged {
    kernels: BTreeMap<String, Verdict>,
    /// The executor has run all of the recording.
    is_whole: bool,
    executor_wrong: Option<String>,
}

/// What a kernel has done.
enum Verdict {
    Right,
    Wrong(String),
    Failed(String),
    LeftOut(String),
}

/// Recordings that together have every kernel that the adapter can run, few and short ones; and the
/// kernels that are left out.
fn jobs(adapter: &wgpu::Adapter, quick: bool) -> (Vec<Job>, Vec<LeftOut>) {
    let sorts = REPRESENTATIVES
        .into_iter()
        .flat_map(|of| library(of.0, of.1));
    let sums = KeyType::WHOLE_WORDS
        .into_iter()
        .flat_map(prefix_sums_library);
    let mut others: Vec<Job> = sorts.chain(sums).map(Job::new).collect();
    let all: BTreeSet<Kernel> = others.iter().flat_map(|job| job.kernels.clone()).collect();
    let mut left_out = Vec::new();
    let mut missing = BTreeSet::new();
    for kernel in all {
        match reason_to_leave_out(&kernel, adapter, quick) {
            None => {
                missing.insert(kernel);
            }
            Some(reason) => leave_out(&mut left_out, kernel.label(), reason),
        }
    }
    // Greedily: each time the recording with the most new kernels for the work of the executor.
    let mut jobs = Vec::new();
    loop {
        for job in &mut others {
            job.kernels.retain(|kernel| missing.contains(kernel));
        }
        others.retain(|job| !job.kernels.is_empty());
        let gain = |job: &Job| job.kernels.len() as f64 / job.work as f64;
        let best = (0..others.len()).max_by(|&a, &b| gain(&others[a]).total_cmp(&gain(&others[b])));
        let Some(best) = best else { break };
        let job = others.swap_remove(best);
        missing.retain(|kernel| !job.kernels.contains(kernel));
        jobs.push(job);
    }
    (jobs, left_out)
}

fn leave_out(left_out: &mut Vec<LeftOut>, label: &str, reason: String) {
    match left_out.iter_mut().find(|out| out.reason == reason) {
        Some(out) => out.kernels.push(label.to_owned()),
        None => left_out.push(LeftOut {
            reason,
            kernels: vec![label.to_owned()],
        }),
    }
}

fn of_recording(recording: &Recording) -> BTreeSet<Kernel> {
    let steps = recording.steps.iter();
    steps.map(|step| step.kernel.clone()).collect()
}

/// Why a kernel is not run on this adapter, in a report.
fn reason_to_leave_out(kernel: &Kernel, adapter: &wgpu::Adapter, quick: bool) -> Option<String> {
    let info = adapter.get_info();
    if info.backend == wgpu::Backend::Dx12 {
        return not_for_fxc(kernel).map(str::to_owned);
    }
    let is_software = info.device_type == wgpu::DeviceType::Cpu;
    let is_default = *kernel == base_case(BaseCase::default(), 1, kernel.key());
    if (is_software || quick) && kernel.constant("TILES").is_some() && !is_default {
        let reason = "base cases of the paper, which sorts take only on request; software drivers \
                      compile them slowly";
        return Some(reason.to_owned());
    }
    if is_software && sorts_by_large_text(kernel) {
        let reason = "software drivers compile them slowly, so sorts there take the compact ones";
        return Some(reason.to_owned());
    }
    None
}

/// True if it sorts tiles in registers, with code for each pass.
fn sorts_by_large_text(kernel: &Kernel) -> bool {
    let sorts = kernel.is("samplesort.sort") || kernel.is("samplesort.splitters");
    sorts && !kernel.name().contains(".compact") && !kernel.compares_rows()
}

/// Why a kernel does not fit the device. wgpu 30 does not check the memory.
fn too_large(kernel: &Assembled, limits: &wgpu::Limits) -> Option<String> {
    let bytes = limits.max_compute_workgroup_storage_size;
    let lanes = limits.max_compute_invocations_per_workgroup;
    if kernel.workgroup_bytes > bytes {
        return Some(format!(
            "they need more than the device's {bytes} bytes of workgroup memory"
        ));
    }
    (kernel.workgroup_size > lanes)
        .then(|| format!("they need workgroups of more than the device's {lanes} lanes"))
}

/// Why DX12 never gets a kernel: its older compiler, FXC, refuses it or takes very long.
fn not_for_fxc(kernel: &Kernel) -> Option<&'static str> {
    if sorts_by_large_text(kernel) {
        return Some("FXC compiles them slowly, so sorts on DX12 take the compact ones");
    }
    if kernel.constant("IDLE_ROUNDS") == Some(0) {
        return Some("FXC refuses their loops, so DX12 gets those of all rounds");
    }
    let warps = kernel.constant("LANES").map(|lanes| lanes / W);
    let several_warps = kernel.constant("TILES").is_some() && warps > Some(1);
    (several_warps && kernel.key().words() == 2)
        .then_some("base cases of 64-bit keys with several warps, which FXC compiles slowly")
}

impl Job {
    fn new(recording: Recording) -> Self {
        // Each dispatch takes some time, however few keys it moves.
        let steps = recording.steps.iter();
        let work = steps.map(|step| step.keys + 1024).sum();
        Self {
            kernels: of_recording(&recording),
            work,
            recording,
        }
    }

    /// Runs the recording in the executor, and the job's kernels on the device.
    fn run(&self, device: &mut Opened<'_>, until: Instant) -> Judged {
        let mut result = Judged::default();
        // An error outside of a kernel counts for all kernels that have no verdict.
        let ended = guarded(|| self.run_steps(device, until, &mut result));
        if let Err(what) = ended {
            for kernel in &self.kernels {
                let label = kernel.label().to_owned();
                result
                    .kernels
                    .entry(label)
                    .or_insert_with(|| Verdict::Failed(what.clone()));
            }
        }
        result
    }

    fn run_steps(
        &self,
        device: &mut Opened<'_>,
        until: Instant,
        result: &mut Judged,
    ) -> Result<(), String> {
        let recording = &self.recording;
        let is_sums = (recording.steps.first()).is_some_and(|step| step.phase == Phase::TileSums);
        let words = u64::from(recording.len) * u64::from(recording.key.words());
        let spec = Spec::new(Pattern::FewDistinct, words).distinct(DISTINCT);
        let mut keys: Vec<u32> = generate(&spec).map_err(|error| error.to_string())?;
        if is_sums && recording.key == KeyType::F32 {
            // Small integers, whose sums are exact.
            keys = keys.iter().map(|&key| (key as f32).to_bits()).collect();
        }
        let mut executor = Execution::new(recording, &keys, Config::default());
        let colors = recording
            .steps
            .first()
            .and_then(|step| step.parameter("colors"));
        let colors = colors.map(|colors| Coloring::Beyond.make(recording.len, colors));
        if let Some(colors) = &colors {
            executor.set_buffer(Buffer::Colors, colors.clone());
        }
        let limits = &device.adapter.limits();
        let mut pipelines = HashMap::new();
        for step in &recording.steps {
            let label = step.kernel.label();
            if Instant::now() > until {
                for kernel in &self.kernels {
                    let verdict = || Verdict::LeftOut(NO_TIME.to_owned());
                    let label = kernel.label().to_owned();
                    result.kernels.entry(label).or_insert_with(verdict);
                }
                return Ok(());
            }
            // One verdict on a kernel that is not right is enough.
            let is_judged = !matches!(result.kernels.get(label), None | Some(Verdict::Right));
            let ran = if self.kernels.contains(&step.kernel) && !is_judged {
                let before = executor.contents(step).map_err(|error| error.to_string())?;
                let assembled = executor.assembled(step);
                let assembled = assembled.map_err(|error| error.to_string())?;
                if let Some(reason) = too_large(assembled, limits) {
                    let verdict = Verdict::LeftOut(reason);
                    result.kernels.insert(label.to_owned(), verdict);
                    None
                } else {
                    Some(device.guarded(|sorter| {
                        let pipeline = pipelines
                            .entry(step.kernel.clone())
                            .or_insert_with(|| Pipeline::new(sorter, &step.kernel, assembled));
                        let pipeline = pipeline.as_ref().map_err(Clone::clone)?;
                        pipeline.run(sorter, step, &before)
                    }))
                }
            } else {
                None
            };
            executor.step(step).map_err(|error| error.to_string())?;
            let Some(ran) = ran else { continue };
            let verdict = match ran {
                Err(what) => {
                    // They are of a device that may be lost.
                    pipelines.clear();
                    Verdict::Failed(what)
                }
                Ok(after) => compared(step, &after, &executor),
            };
            result.kernels.insert(label.to_owned(), verdict);
        }
        let [after, values] = [Buffer::Keys, payload_buffer(recording)].map(|b| executor.buffer(b));
        let is_right = if is_sums {
            after == prefix_sums_of(recording, &keys, colors.as_deref().unwrap_or_default())
        } else {
            was_sorted(recording, &keys, after, values)
        };
        result.is_whole = true;
        result.executor_wrong = (!is_right).then(|| {
            let kernels = of_recording(recording);
            let labels: Vec<&str> = kernels.iter().map(Kernel::label).collect();
            let (len, key) = (recording.len, recording.key);
            format!(
                "{len} {key} keys, {}: {}",
                recording.order.name(),
                labels.join(", ")
            )
        });
        Ok(())
    }
}

/// Compares what a dispatch has left with what it leaves in the executor.
fn compared(step: &Step, after: &BTreeMap<Buffer, Vec<u32>>, executor: &Execution<'_>) -> Verdict {
    for (&buffer, words) in after {
        let expected = executor.buffer(buffer);
        if is_same(step, buffer, words, expected) {
            continue;
        }
        let mut pairs = words.iter().zip(expected);
        let at = pairs
            .position(|(a, b)| a != b)
            .unwrap_or(words.len().min(expected.len()));
        let wrong = words.iter().zip(expected).filter(|(a, b)| a != b).count();
        let word = |words: &[u32]| {
            words
                .get(at)
                .map_or("none".to_owned(), |w| format!("{w:#010x}"))
        };
        return Verdict::Wrong(format!(
            "{buffer} after the phase {}: {wrong} of {} words differ; word {at} is {}, not {}",
            step.phase.name(),
            expected.len(),
            word(words),
            word(expected)
        ));
    }
    Verdict::Right
}

/// A kernel that is compiled for a device.
struct Pipeline {
    compiled: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    assembled: Assembled,
}

impl Pipeline {
    /// Compiles a kernel as a sorter does.
    fn new(sorter: &Sorter, kernel: &Kernel, assembled: &Assembled) -> Result<Self, String> {
        let device = sorter.device();
        let label = Some(kernel.label());
        scoped(device, || {
            let descriptor = wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Wgsl(assembled.wgsl.as_str().into()),
            };
            let checks = if kernel.role().is_some() {
                wgpu::ShaderRuntimeChecks::checked()
            } else {
                wgpu::ShaderRuntimeChecks::unchecked()
            };
            // SAFETY: without checks, these are the library's own kernels, with the parameters and
            // the buffers of the library's own recordings, which hold what the executor left there.
            // No access of these leaves its buffer, and every loop ends: in the tests, the executor
            // finds that of the same recordings.
            let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label,
                entries: &layout_entries(assembled),
            });
            let of_pipeline = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label,
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let compiled = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label,
                layout: Some(&of_pipeline),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            });
            Self {
                compiled,
                layout,
                assembled: assembled.clone(),
            }
        })
    }

    /// Runs a step with these words in its bindings. Returns those of the buffers that it writes.
    fn run(
        &self,
        sorter: &Sorter,
        step: &Step,
        before: &BTreeMap<u32, Vec<u32>>,
    ) -> Result<BTreeMap<Buffer, Vec<u32>>, String> {
        let device = sorter.device();
        let mut buffers = Vec::new();
        for binding in &self.assembled.bindings {
            let words = before.get(&binding.binding);
            let mut words = words
                .cloned()
                .ok_or_else(|| format!("no buffer {}", binding.name))?;
            let buffer = if binding.access == Access::Uniform {
                words.resize(words.len().next_multiple_of(4), 0);
                let uniforms = scoped(device, || {
                    device.create_buffer(&wgpu::BufferDescriptor {
                        label: Some("doctor.parameters"),
                        size: words.len() as u64 * 4,
                        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                        mapped_at_creation: false,
                    })
                })?;
                sorter
                    .queue()
                    .write_buffer(&uniforms, 0, bytemuck::cast_slice(&words));
                uniforms
            } else {
                // A binding may not be empty.
                words.resize(words.len().max(1), 0);
                sorter.upload(&words).map_err(|error| error.to_string())?
            };
            buffers.push((binding, buffer));
        }
        let entries: Vec<_> = (buffers.iter())
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding: binding.binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        scoped(device, || {
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &self.layout,
                entries: &entries,
            });
            let mut encoder =
                device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(&self.compiled);
                // (The offset of the parameters.)
                let uniforms = buffers
                    .iter()
                    .filter(|(of, _)| of.access == Access::Uniform);
                pass.set_bind_group(0, &group, &vec![0; uniforms.count()]);
                pass.dispatch_workgroups(step.workgroups[0], step.workgroups[1], 1);
            }
            sorter.queue().submit([encoder.finish()]);
        })?;
        let mut after = BTreeMap::new();
        for (binding, buffer) in &buffers {
            if let (Access::ReadWrite, Some(role)) = (binding.access, step.buffer(&binding.name)) {
                let words = sorter.download(buffer).map_err(|error| error.to_string())?;
                after.insert(role, words);
            }
        }
        Ok(after)
    }
}

/// Calls wgpu, and returns its first error, if there is one.
fn scoped<T>(device: &wgpu::Device, call: impl FnOnce() -> T) -> Result<T, String> {
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let made = call();
    // In reverse order: an open scope would take later errors.
    let errors = [
        pollster::block_on(internal.pop()),
        pollster::block_on(memory.pop()),
        pollster::block_on(validation.pop()),
    ];
    match errors.into_iter().flatten().next() {
        Some(error) => Err(error.to_string()),
        None => Ok(made),
    }
}
