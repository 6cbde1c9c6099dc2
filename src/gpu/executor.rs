//! Runs a recording: every object it needs is made beforehand, then it is encoded.

use super::faults::{check_not_lost, scoped};
use super::pipelines::{Compiled, Pipelines};
use super::transfer::{fill, staging};
use super::waiting::Waiting;
use crate::Error;
use crate::kernel::{Access, Binding, PARAMETER_BLOCK};
use crate::recording::{Buffer, Phase, Recording, Step};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Keys that one submission moves, in dispatches of the device's `keys_per_dispatch`.
const DISPATCHES_PER_SUBMISSION: u64 = 4;

/// Buffers by role, without the keys.
pub(crate) type BufferSet = BTreeMap<Buffer, wgpu::Buffer>;

/// Makes every buffer of a recording, or takes it from `pool` where one of the size is there.
pub(crate) fn make_buffers(
    device: &wgpu::Device,
    recording: &Recording,
    mut pool: BufferSet,
) -> Result<BufferSet, Error> {
    let mut made = BufferSet::new();
    for (&role, &bytes) in &recording.buffers {
        let pooled = pool.remove(&role);
        let buffer = match pooled.filter(|pooled| pooled.size() >= bytes) {
            Some(pooled) => pooled,
            None => scoped(device, bytes, || {
                device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(&format!("bcfsort.{role}")),
                    size: bytes,
                    // To be read by who wants to look into a sort.
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: false,
                })
            })?,
        };
        made.insert(role, buffer);
    }
    // What this recording does not need may serve the next one.
    for (role, buffer) in pool {
        made.entry(role).or_insert(buffer);
    }
    Ok(made)
}

struct Dispatch {
    compiled: Arc<Compiled>,
    bind_group: wgpu::BindGroup,
    offset: u32,
    workgroups: [u32; 2],
    phase: Phase,
    round: u32,
}

impl Dispatch {
    fn encode(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.compiled.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[self.offset]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

/// The parameter block of every step.
struct Parameters {
    /// Those that stay as they are.
    fixed: wgpu::Buffer,
    /// Those of [counted](crate::recording::Step::is_counted) steps: [`Buffer::Parameters`].
    counted: wgpu::Buffer,
    /// Where each step's block begins in either.
    offsets: Vec<u32>,
}

impl Parameters {
    fn new(device: &wgpu::Device, recording: &Recording) -> Result<Self, Error> {
        let (mut fixed, mut counted) = (Vec::new(), Vec::new());
        let mut offsets = Vec::with_capacity(recording.steps.len());
        for step in &recording.steps {
            let fail = |message: &str| Error::Kernel {
                kernel: step.kernel.name(),
                message: message.to_owned(),
            };
            let parameters = &step.parameters;
            if !parameters.is_like(&step.kernel.parameters()) {
                return Err(fail("the recording gives it the parameters of another"));
            }
            if step.is_counted() && parameters.names()[0] != "len" {
                return Err(fail("its first parameter is not the number of records"));
            }
            let blocks: &mut Vec<u8> = if step.is_counted() {
                &mut counted
            } else {
                &mut fixed
            };
            offsets.push(blocks.len() as u32);
            let end = blocks.len() + PARAMETER_BLOCK as usize;
            blocks.extend_from_slice(bytemuck::cast_slice(parameters.words()));
            blocks.resize(end, 0);
        }
        let make = |blocks: &[u8], usage| {
            let size = blocks.len() as u64;
            // (wgpu takes as much for staging, and the device for lost where there is not: see
            // `write`. A copy of ours would be a submission more for each sort.)
            drop(scoped(device, size, || staging(device, size))?);
            let buffer = scoped(device, size, || {
                device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("bcfsort.parameters"),
                    size,
                    usage,
                    mapped_at_creation: true,
                })
            })?;
            fill(device, &buffer, blocks)?;
            Ok::<_, Error>(buffer)
        };
        let written = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::STORAGE;
        let fixed = make(&fixed, wgpu::BufferUsages::UNIFORM)?;
        let counted = match counted.len() {
            0 => fixed.clone(),
            _ => make(&counted, written)?,
        };
        Ok(Self {
            fixed,
            counted,
            offsets,
        })
    }

    /// What is bound to a kernel: the blocks, of which it is told which is its own; or all counted
    /// ones.
    fn binding(&self, step: &Step, binding: &Binding) -> wgpu::BufferBinding<'_> {
        let is_one = binding.access == Access::Uniform;
        let buffer = if is_one && !step.is_counted() {
            &self.fixed
        } else {
            &self.counted
        };
        wgpu::BufferBinding {
            buffer,
            offset: 0,
            size: wgpu::BufferSize::new(if is_one {
                PARAMETER_BLOCK.into()
            } else {
                buffer.size()
            }),
        }
    }
}

/// Ranges of steps that move about [`DISPATCHES_PER_SUBMISSION`] times `keys_per_dispatch` keys.
fn cut_into_submissions(recording: &Recording, keys_per_dispatch: u32) -> Vec<Range<usize>> {
    let budget = u64::from(keys_per_dispatch) * DISPATCHES_PER_SUBMISSION;
    let mut submissions = Vec::new();
    let (mut start, mut keys) = (0, 0);
    for (i, step) in recording.steps.iter().enumerate() {
        if keys > 0 && keys + step.keys > budget {
            submissions.push(start..i);
            (start, keys) = (i, 0);
        }
        keys += step.keys;
    }
    submissions.push(start..recording.steps.len());
    submissions
}

/// A recording with all its GPU objects: encoding it makes none.
pub(crate) struct Prepared {
    dispatches: Vec<Dispatch>,
    /// Dispatches that fit one short submission each.
    submissions: Vec<Range<usize>>,
}

impl Prepared {
    /// `callers`: the buffers that the recording does not make.
    pub(crate) fn new(
        device: &wgpu::Device,
        pipelines: &Pipelines,
        recording: &Recording,
        callers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        buffers: &BufferSet,
        keys_per_dispatch: u32,
    ) -> Result<Self, Error> {
        if recording.steps.is_empty() {
            return Ok(Self {
                dispatches: Vec::new(),
                submissions: Vec::new(),
            });
        }
        let kernels = pipelines.of_steps(device, recording)?;
        let parameters = Parameters::new(device, recording)?;

        // Steps that use one kernel on the same buffers share a bind group.
        let mut bind_groups: HashMap<_, wgpu::BindGroup> = HashMap::new();
        let mut dispatches = Vec::with_capacity(recording.steps.len());
        let steps = recording.steps.iter().zip(kernels).zip(&parameters.offsets);
        for ((step, compiled), &offset) in steps {
            let specialised = recording.specialised(step);
            let bind_group = match bind_groups.entry((specialised, &step.bindings)) {
                Entry::Occupied(found) => found.get().clone(),
                Entry::Vacant(vacant) => {
                    let resource = |binding: &Binding| match step.buffer(&binding.name) {
                        None | Some(Buffer::Parameters) => parameters.binding(step, binding),
                        Some(role) => {
                            callers
                                .get(&role)
                                .cloned()
                                .unwrap_or_else(|| wgpu::BufferBinding {
                                    buffer: &buffers[&role],
                                    offset: 0,
                                    size: wgpu::BufferSize::new(recording.buffers[&role]),
                                })
                        }
                    };
                    let entries: Vec<_> = compiled
                        .bindings
                        .iter()
                        .map(|binding| wgpu::BindGroupEntry {
                            binding: binding.binding,
                            resource: wgpu::BindingResource::Buffer(resource(binding)),
                        })
                        .collect();
                    let made = scoped(device, 0, || {
                        device.create_bind_group(&wgpu::BindGroupDescriptor {
                            label: Some(&format!("bcfsort.{}", step.kernel.name())),
                            layout: &compiled.layout,
                            entries: &entries,
                        })
                    })?;
                    vacant.insert(made).clone()
                }
            };
            dispatches.push(Dispatch {
                compiled,
                bind_group,
                offset,
                workgroups: step.workgroups,
                phase: step.phase,
                round: step.round,
            });
        }
        Ok(Self {
            dispatches,
            submissions: cut_into_submissions(recording, keys_per_dispatch),
        })
    }

    /// Submissions into which the recording is cut, so that none runs long.
    pub(crate) fn submissions(&self) -> usize {
        self.submissions.len()
    }

    /// Encodes one of the [`submissions`](Self::submissions).
    pub(crate) fn encode(&self, encoder: &mut wgpu::CommandEncoder, submission: usize) {
        let dispatches = &self.dispatches[self.submissions[submission].clone()];
        encode_pass(encoder, "bcfsort", dispatches, None);
    }

    /// Encodes all of it into a pass that there is.
    pub(crate) fn encode_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        for dispatch in &self.dispatches {
            dispatch.encode(pass);
        }
    }

    /// Encodes all of it, each phase in a compute pass of its own with two timestamps.
    pub(crate) fn encode_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        queries: &wgpu::QuerySet,
        first: u32,
    ) {
        for (number, (_, range)) in self.phase_passes().iter().enumerate() {
            // (Numbers that there are not, wgpu refuses.)
            let at = first.saturating_add(2 * number as u32);
            let writes = wgpu::ComputePassTimestampWrites {
                query_set: queries,
                beginning_of_pass_write_index: Some(at),
                end_of_pass_write_index: Some(at.saturating_add(1)),
            };
            self.encode_phase(encoder, range, Some(writes));
        }
    }

    /// The phases of those passes.
    pub(crate) fn timed_phases(&self) -> impl Iterator<Item = Phase> {
        let passes = self.phase_passes().into_iter();
        passes.map(|(_, range)| self.dispatches[range.start].phase)
    }

    /// Encodes dispatches of one phase, timed.
    fn encode_phase(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        range: &Range<usize>,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let dispatches = &self.dispatches[range.clone()];
        let label = format!("bcfsort.{}", dispatches[0].phase);
        encode_pass(encoder, &label, dispatches, timestamp_writes);
    }

    /// Runs of dispatches of one phase within one submission, each a compute pass of its own when
    /// timed.
    fn phase_passes(&self) -> Vec<(usize, Range<usize>)> {
        let mut passes = Vec::new();
        for (submission, range) in self.submissions.iter().enumerate() {
            let mut start = range.start;
            for i in range.clone() {
                if i + 1 == range.end
                    || self.dispatches[i + 1].phase != self.dispatches[start].phase
                {
                    passes.push((submission, start..i + 1));
                    start = i + 1;
                }
            }
        }
        passes
    }
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Each phase, in a compute pass of its own.
    Phases,
    /// All, in one compute pass a submission, as it runs untimed.
    Whole,
}

/// Where the times of a [`Profile`] come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// Timestamps written by the GPU.
    Timestamps,
    /// The host's clock around each phase, submission and wait included: the device has no
    /// timestamps.
    WallClock,
}

/// How long a phase took.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseTime {
    /// The phase.
    pub phase: &'static str,
    /// Its rounds.
    pub rounds: u32,
    /// Its dispatches.
    pub dispatches: u32,
    /// Its time.
    pub time: Duration,
}

/// Where the time of a sort went, on the GPU and around it. What did not happen has taken no time:
/// a sort of buffers has no transfers.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Options, Order, Sorter};
/// let sorter = Sorter::open(Options::default())?;
/// let profile = sorter.sort_profiled(&mut [3_u32, 1, 2], Order::Ascending)?;
/// for phase in &profile.phases {
///     println!("{}: {:?} in {} dispatches", phase.phase, phase.time, phase.dispatches);
/// }
/// println!("{:?} of {:?}", profile.total, profile.upload + profile.total + profile.download);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Where the times come from.
    pub clock: Clock,
    /// Time on the GPU, from the beginning of the first dispatch to the end of the last. Without
    /// transfers.
    pub total: Duration,
    /// Time to move the keys to the device.
    pub upload: Duration,
    /// Time to move the keys back.
    pub download: Duration,
    /// Time to merge chunks on the host, where the keys did not fit the device at once.
    pub merge: Duration,
    /// Time of each phase on the GPU, in order.
    pub phases: Vec<PhaseTime>,
}

impl Profile {
    pub(crate) const fn new(clock: Clock) -> Self {
        Self {
            clock,
            total: Duration::ZERO,
            upload: Duration::ZERO,
            download: Duration::ZERO,
            merge: Duration::ZERO,
            phases: Vec::new(),
        }
    }

    /// Adds the times of another sort, phase by phase: those of a name are one. Of two clocks the
    /// worse is named.
    pub fn add(&mut self, other: &Self) {
        // Of a sum, the worse clock is told.
        if other.clock == Clock::WallClock {
            self.clock = Clock::WallClock;
        }
        self.total += other.total;
        self.upload += other.upload;
        self.download += other.download;
        self.merge += other.merge;
        for phase in &other.phases {
            match self.phases.iter_mut().find(|p| p.phase == phase.phase) {
                Some(found) => {
                    found.rounds += phase.rounds;
                    found.dispatches += phase.dispatches;
                    found.time += phase.time;
                }
                None => self.phases.push(phase.clone()),
            }
        }
    }
}

/// Submits everything and waits, with the time of each phase.
pub(crate) async fn run_profiled(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    prepared: &Prepared,
    detail: Detail,
    waiting: Waiting,
) -> Result<Profile, Error> {
    let started = std::time::Instant::now();
    let passes = match detail {
        Detail::Phases => prepared.phase_passes(),
        Detail::Whole => prepared.submissions.iter().cloned().enumerate().collect(),
    };
    let timestamps = device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
        && passes.len() * 2 <= wgpu::QUERY_SET_MAX_QUERIES as usize;
    let measured = if timestamps {
        run_with_timestamps(device, queue, prepared, &passes, waiting).await?
    } else {
        None
    };
    let (clock, spans) = match measured {
        Some(spans) => (Clock::Timestamps, spans),
        None if timestamps => {
            // The sort is done, and only the phases' times are missing: a driver that writes zeros
            // (some Metal versions do, gfx-rs/wgpu#9414) must not cost the result.
            let mut profile = Profile::new(Clock::WallClock);
            profile.total = started.elapsed();
            return Ok(profile);
        }
        None => (
            Clock::WallClock,
            run_with_wall_clock(device, queue, prepared, &passes, waiting).await?,
        ),
    };
    let mut profile = Profile::new(clock);
    let begin = spans.iter().map(|s| s.0).min().unwrap_or_default();
    profile.total = spans
        .iter()
        .map(|s| s.1)
        .max()
        .unwrap_or_default()
        .saturating_sub(begin);
    if detail == Detail::Whole {
        return Ok(profile);
    }
    for ((_, range), span) in passes.iter().zip(&spans) {
        let dispatches = &prepared.dispatches[range.clone()];
        let phase = dispatches[0].phase.name();
        let index = profile.phases.iter().position(|p| p.phase == phase);
        let index = index.unwrap_or_else(|| {
            profile.phases.push(PhaseTime {
                phase,
                rounds: 0,
                dispatches: 0,
                time: Duration::ZERO,
            });
            profile.phases.len() - 1
        });
        // A phase may be spread over several submissions.
        let time = &mut profile.phases[index];
        let rounds = dispatches.iter().map(|d| d.round + 1).max();
        time.rounds = time.rounds.max(rounds.unwrap_or_default());
        time.dispatches += dispatches.len() as u32;
        time.time += span.1.saturating_sub(span.0);
    }
    Ok(profile)
}

type Span = (Duration, Duration);

async fn run_with_wall_clock(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    prepared: &Prepared,
    passes: &[(usize, Range<usize>)],
    waiting: Waiting,
) -> Result<Vec<Span>, Error> {
    let begin = std::time::Instant::now();
    let mut spans = Vec::new();
    for (_, range) in passes {
        let start = begin.elapsed();
        submit(device, queue, |encoder| {
            prepared.encode_phase(encoder, range, None);
        })?;
        waiting.done(device, queue).await?;
        spans.push((start, begin.elapsed()));
    }
    // Nothing was read, and a lost device is done at once.
    check_not_lost(device)?;
    Ok(spans)
}

fn encode_pass(
    encoder: &mut wgpu::CommandEncoder,
    label: &str,
    dispatches: &[Dispatch],
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) {
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some(label),
        timestamp_writes,
    });
    for dispatch in dispatches {
        dispatch.encode(&mut pass);
    }
}

/// `None` if the timestamps make no sense.
async fn run_with_timestamps(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    prepared: &Prepared,
    passes: &[(usize, Range<usize>)],
    waiting: Waiting,
) -> Result<Option<Vec<Span>>, Error> {
    if passes.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let count = passes.len() as u32 * 2;
    let bytes = u64::from(count) * 8;
    let (queries, resolved, staging) = scoped(device, bytes * 2, || {
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("bcfsort.timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        let buffer = |label, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: bytes,
                usage,
                mapped_at_creation: false,
            })
        };
        (
            queries,
            buffer(
                "bcfsort.timestamps.resolved",
                wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            ),
            buffer(
                "bcfsort.timestamps.staging",
                wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            ),
        )
    })?;
    let mut at = 0;
    for submission in 0..prepared.submissions() {
        submit(device, queue, |encoder| {
            while let Some((_, range)) = passes.get(at).filter(|(of, _)| *of == submission) {
                let writes = wgpu::ComputePassTimestampWrites {
                    query_set: &queries,
                    beginning_of_pass_write_index: Some(at as u32 * 2),
                    end_of_pass_write_index: Some(at as u32 * 2 + 1),
                };
                prepared.encode_phase(encoder, range, Some(writes));
                at += 1;
            }
            if submission + 1 == prepared.submissions() {
                encoder.resolve_query_set(&queries, 0..count, &resolved, 0);
                encoder.copy_buffer_to_buffer(&resolved, 0, &staging, 0, bytes);
            }
        })?;
    }
    let mut words = vec![0u64; count as usize];
    super::transfer::read_mapped(
        device,
        &staging,
        bytemuck::cast_slice_mut(&mut words),
        waiting,
    )
    .await?;
    let tick = f64::from(queue.get_timestamp_period()) * 1e-9;
    let origin = words[0];
    let time = |word: u64| Duration::from_secs_f64(word.saturating_sub(origin) as f64 * tick);
    if words
        .chunks_exact(2)
        .any(|pair| pair[0] == 0 || pair[1] < pair[0])
    {
        log::warn!("the driver's timestamps make no sense: no phase times");
        return Ok(None);
    }
    Ok(Some(
        words
            .chunks_exact(2)
            .map(|pair| (time(pair[0]), time(pair[1])))
            .collect(),
    ))
}

/// Encodes and submits, with wgpu's objections as an error. Of a lost device it says nothing: who
/// reads no result has to [look](check_not_lost).
pub(crate) fn submit(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    encode: impl FnOnce(&mut wgpu::CommandEncoder),
) -> Result<(), Error> {
    scoped(device, 0, || {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("bcfsort"),
        });
        encode(&mut encoder);
        queue.submit([encoder.finish()]);
    })
}
