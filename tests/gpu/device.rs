//! Devices that tests share or open, and helpers for them.

use crate::execution::Pipeline;
use bcfsort_testkit::kernels_of_tests::{are_noted, note};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::paper::PrefixSums;
use wgpu_bcfsort::{
    Error, KeyType, Keys, Options, Order, Profile, SortJob, SortKey, Sorter, adapters, requirements,
};

/// A device that tests share, with a sorter for each set of options.
pub(crate) struct Gpu {
    pub(crate) adapter: wgpu::Adapter,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// The other sorters share its compiled kernels.
    pub(crate) first: Sorter,
    sorters: Mutex<HashMap<Options, Arc<Sorter>>>,
    /// Pipelines of recordings that run step by step.
    pub(crate) pipelines: Mutex<HashMap<Kernel, Arc<Pipeline>>>,
    pub(crate) sums: OnceLock<PrefixSums>,
}

/// Lavapipe compiles a kernel when it first runs, one at a time per device. Most of the time of
/// these tests is compilation.
const DEVICES: usize = 2;

/// One of the shared devices for this test; `None`, with a message, if there is no adapter. With
/// `WGPU_BCFSORT_REQUIRE_ADAPTER` set, a missing adapter is a failure.
pub(crate) fn gpu() -> Option<&'static Gpu> {
    static GPUS: LazyLock<Option<[Gpu; DEVICES]>> = LazyLock::new(|| {
        let adapter = adapters().into_iter().next()?;
        let needs = requirements(&adapter).unwrap();
        Some(std::array::from_fn(|_| {
            let (device, queue) = open(&adapter, needs.limits.clone());
            Gpu {
                first: Sorter::new(&device, &queue, Options::default()).unwrap(),
                adapter: adapter.clone(),
                device,
                queue,
                sorters: Mutex::default(),
                pipelines: Mutex::default(),
                sums: OnceLock::new(),
            }
        }))
    });
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // Each test has its own thread. Tests that run at the same time start one after the other,
        // so they get different devices.
        static TEST: usize = TESTS.fetch_add(1, Ordering::Relaxed);
    }
    if are_noted() && log::set_logger(&NotesKernels).is_ok() {
        log::set_max_level(log::LevelFilter::Trace);
    }
    let required = std::env::var("WGPU_BCFSORT_REQUIRE_ADAPTER").is_ok_and(|v| v != "0");
    assert!(
        GPUS.is_some() || !required,
        "no adapter, and one is required"
    );
    let Some(gpus) = &*GPUS else {
        println!("SKIPPED: no adapter on this machine");
        return None;
    };
    let gpu = &gpus[TEST.with(|test| *test) % DEVICES];
    println!("on {}", gpu.adapter.get_info().name);
    Some(gpu)
}

/// Notes the kernels that the library prepares for a test.
struct NotesKernels;

impl log::Log for NotesKernels {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("wgpu_bcfsort")
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if let Some(label) = record.args().to_string().strip_prefix("preparing ") {
            note(label);
        }
    }

    fn flush(&self) {}
}

/// Opens a new device.
pub(crate) fn open(adapter: &wgpu::Adapter, limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("tests"),
        required_limits: limits,
        ..Default::default()
    }))
    .unwrap()
}

const EVERY_USE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

impl Gpu {
    /// True if the adapter is a CPU: lavapipe or `SwiftShader`, which compile kernels slowly.
    pub(crate) fn is_cpu(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// True if tests run all of their cases on this adapter: always on a GPU, and on a CPU if the
    /// environment [asks for it](bcfsort_testkit::all_cases).
    pub(crate) fn runs_all_cases(&self) -> bool {
        !self.is_cpu() || bcfsort_testkit::all_cases()
    }

    /// The cases that a test runs on this adapter: `few`, and `more` if all cases are run.
    pub(crate) fn cases<T: Clone>(&self, few: &[T], more: &[T]) -> Vec<T> {
        let more = if self.runs_all_cases() { more } else { &[] };
        few.iter().chain(more).cloned().collect()
    }

    pub(crate) fn sorter(&self, options: &Options) -> Arc<Sorter> {
        let mut sorters = self.sorters.lock().unwrap_or_else(PoisonError::into_inner);
        sorters
            .entry(options.clone())
            .or_insert_with(|| Arc::new(self.first.with_options(options.clone()).unwrap()))
            .clone()
    }

    /// A buffer that holds these words.
    pub(crate) fn buffer(&self, words: &[u32]) -> wgpu::Buffer {
        let buffer = self.empty_buffer(words.len() as u64 * 4);
        self.queue
            .write_buffer(&buffer, 0, bytemuck::cast_slice(words));
        buffer
    }

    pub(crate) fn empty_buffer(&self, bytes: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("tests.buffer"),
            size: bytes,
            usage: EVERY_USE,
            mapped_at_creation: false,
        })
    }

    pub(crate) fn read(&self, buffer: &wgpu::Buffer) -> Vec<u32> {
        read(&self.device, &self.queue, buffer)
    }
}

/// The words of a buffer.
pub(crate) fn read(device: &wgpu::Device, queue: &wgpu::Queue, buffer: &wgpu::Buffer) -> Vec<u32> {
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("tests.staging"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).unwrap())
}

/// Sorts a slice in place by [`Sorter::profile`].
pub(crate) fn profiled<T: SortKey>(
    sorter: &Sorter,
    keys: &mut [T],
    order: Order,
) -> Result<Profile, Error> {
    let mut sorted = Vec::with_capacity(keys.len());
    let profile = sorter.profile(keys, order, |block| {
        sorted.extend_from_slice(block);
        Ok::<_, Error>(())
    })?;
    keys.copy_from_slice(&sorted);
    Ok(profile)
}

/// Random keys (xorshift64*, Vigna 2016).
pub(crate) fn random<T: SortKey>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed * 2 + 1;
    (0..count)
        .map(|_| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            T::from_bits64(state.wrapping_mul(0x2545_f491_4f6c_dd1d))
        })
        .collect()
}

pub(crate) fn sorted(keys: &[u32]) -> Vec<u32> {
    let mut sorted = keys.to_vec();
    sort_on_cpu(&mut sorted, Order::Ascending);
    sorted
}

/// An ascending sort of u32 keys in place.
pub(crate) fn ascending(buffer: &wgpu::Buffer, len: u64) -> SortJob<'_> {
    SortJob::new(Keys::new(buffer, KeyType::U32), len)
}

pub(crate) fn default_sorter(gpu: &Gpu) -> Arc<Sorter> {
    gpu.sorter(&Options::default())
}

/// A device for one test, with limits lowered by `lower`.
pub(crate) fn own_device(
    gpu: &Gpu,
    lower: impl FnOnce(&mut wgpu::Limits),
) -> (wgpu::Device, wgpu::Queue) {
    let mut limits = requirements(&gpu.adapter).unwrap().limits;
    lower(&mut limits);
    open(&gpu.adapter, limits)
}

pub(crate) fn is_loss(error: &Error) -> bool {
    matches!(error, Error::DeviceLost(_))
}

/// A sorter on its own instance, whose report counts only this sorter's objects.
pub(crate) struct Alone {
    instance: wgpu::Instance,
    pub(crate) sorter: Sorter,
}

impl Alone {
    pub(crate) fn open(options: Options) -> Self {
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let adapter = pollster::block_on(instance.request_adapter(&<_>::default())).unwrap();
        let sorter = Sorter::open(options.adapter(&adapter)).unwrap();
        Self { instance, sorter }
    }

    /// The number of objects of each kind, and the number of slots that wgpu has for them, which is
    /// the largest number so far.
    pub(crate) fn objects(&self) -> [(usize, usize); 9] {
        self.sorter
            .device()
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        let report = self.instance.generate_report().unwrap();
        let hub = report.hub_report();
        [
            &hub.buffers,
            &hub.bind_groups,
            &hub.bind_group_layouts,
            &hub.compute_pipelines,
            &hub.pipeline_layouts,
            &hub.shader_modules,
            &hub.command_encoders,
            &hub.command_buffers,
            &hub.query_sets,
        ]
        .map(|registry| {
            let slots = registry.num_kept_from_user + registry.num_released_from_user;
            (registry.num_allocated, slots)
        })
    }
}

/// True in a process that runs only this test. Otherwise, runs the test in a new process with these
/// environment variables, panics if it fails there, and returns false.
pub(crate) fn is_alone(test: &str, variables: &[(&str, &str)]) -> bool {
    const ALONE: &str = "WGPU_BCFSORT_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    println!("{said}");
    // Without a test of this name, the process would succeed, too.
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{}: {}",
        child.status,
        String::from_utf8_lossy(&child.stderr)
    );
    false
}

/// The bits of keys, for comparison.
pub(crate) fn bits<T: SortKey>(keys: &[T]) -> Vec<u64> {
    keys.iter().map(|key| key.to_bits64()).collect()
}

/// Sorts on the device and on the CPU, and compares bit for bit. `what` names the case. The input
/// of a failing case is written to a file.
pub(crate) fn check_sort<T: SortKey>(sorter: &Sorter, keys: &[T], order: Order, what: &str) {
    let mut expected = keys.to_vec();
    sort_on_cpu(&mut expected, order);
    let mut sorted = keys.to_vec();
    let outcome = sorter.sort(&mut sorted, order);
    let wrong = (bits(&sorted).iter().zip(bits(&expected))).position(|(a, b)| *a != b);
    if outcome.is_ok() && wrong.is_none() {
        return;
    }
    let mut message = what.to_owned();
    match (outcome, wrong) {
        (Err(error), _) => write!(message, ": {error:?}").unwrap(),
        (Ok(()), Some(i)) => {
            write!(
                message,
                ": key {i} is {:?}, not {:?}",
                sorted[i], expected[i]
            )
            .unwrap();
        }
        (Ok(()), None) => {}
    }
    let name: String = what
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let name = format!("failing-{name}.bin");
    panic!(
        "{message}; its input is in {}",
        save(&name, bytemuck::cast_slice(keys))
    );
}

/// Writes a file into cargo's directory for tests or, if the program runs on another machine, into
/// the temporary directory. Returns the path, or the error.
fn save(name: &str, bytes: &[u8]) -> String {
    let directories = [
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        std::env::temp_dir(),
    ];
    let mut outcome = String::new();
    for directory in directories {
        let path = directory.join(name);
        match std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, bytes)) {
            Ok(()) => return path.display().to_string(),
            Err(error) => outcome = format!("no file: {error}"),
        }
    }
    outcome
}
