//! Runs a recording: first creates all its GPU objects, then encodes the dispatches.

use super::Instant;
use super::faults::{check_not_lost, scoped};
use super::pipelines::{Compiled, Pipelines};
use super::transfer::{fill, staging};
use super::waiting::Waiting;
use crate::error::Error;
use crate::recording::{Buffer, ParameterBlocks, Phase, Recording, Step};
use crate::shader::{Access, Binding, PARAMETER_BLOCK};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The buffers that a recording owns, by role. The user's buffers are not among them.
pub(crate) type BufferSet = BTreeMap<Buffer, wgpu::Buffer>;

/// Creates the buffers of a recording, reusing those in `pool` that are large enough.
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
                    // COPY_SRC lets tests and experiments inspect a sort.
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: false,
                })
            })?,
        };
        made.insert(role, buffer);
    }
    // The next recording may need the remaining buffers.
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

/// The parameter blocks of all steps.
struct Parameters {
    /// Blocks that are constant.
    fixed: wgpu::Buffer,
    /// Blocks of steps with an [indirect count](Step::is_counted): [`Buffer::Parameters`].
    indirect: wgpu::Buffer,
    /// The byte offset of each step's block in its buffer.
    offsets: Vec<u32>,
}

impl Parameters {
    fn new(device: &wgpu::Device, recording: &Recording) -> Result<Self, Error> {
        let ParameterBlocks {
            fixed,
            indirect,
            offsets,
        } = recording.parameter_blocks()?;
        let make = |blocks: &[u8], usage| {
            let size = blocks.len() as u64;
            // wgpu allocates a staging buffer of the same size, and treats the device as lost if
            // that fails (see `Transfers::upload`). So try the allocation first. Staging of our own
            // would cost each sort one more submission.
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
        let indirect = match indirect.len() {
            0 => fixed.clone(),
            _ => make(&indirect, written)?,
        };
        Ok(Self {
            fixed,
            indirect,
            offsets,
        })
    }

    /// The binding of a step's parameters: one block at a dynamic offset. A storage binding has all
    /// blocks of indirect counts.
    fn binding(&self, step: &Step, binding: &Binding) -> wgpu::BufferBinding<'_> {
        let is_one = binding.access == Access::Uniform;
        let buffer = if is_one && !step.is_counted() {
            &self.fixed
        } else {
            &self.indirect
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

/// A recording with all its GPU objects. Encoding creates no object.
pub(crate) struct Prepared {
    dispatches: Vec<Dispatch>,
    /// The dispatches of each submission.
    submissions: Vec<Range<usize>>,
}

impl Prepared {
    /// `user_buffers`: the bindings of all buffers that the recording does not own.
    pub(crate) fn new(
        device: &wgpu::Device,
        pipelines: &Pipelines,
        recording: &Recording,
        user_buffers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
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
            let bind_group = match bind_groups.entry((&step.kernel, &step.bindings)) {
                Entry::Occupied(found) => found.get().clone(),
                Entry::Vacant(vacant) => {
                    let resource = |binding: &Binding| match step.buffer(&binding.name) {
                        None | Some(Buffer::Parameters) => parameters.binding(step, binding),
                        Some(role) => user_buffers.get(&role).cloned().unwrap_or_else(|| {
                            wgpu::BufferBinding {
                                buffer: &buffers[&role],
                                offset: 0,
                                size: wgpu::BufferSize::new(recording.buffers[&role]),
                            }
                        }),
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
                            label: Some(step.kernel.label()),
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
            submissions: recording.submissions(keys_per_dispatch),
        })
    }

    /// The number of submissions, each short enough for a driver's watchdog.
    pub(crate) fn submissions(&self) -> usize {
        self.submissions.len()
    }

    /// Encodes one of the [`submissions`](Self::submissions).
    pub(crate) fn encode(&self, encoder: &mut wgpu::CommandEncoder, submission: usize) {
        let dispatches = &self.dispatches[self.submissions[submission].clone()];
        encode_pass(encoder, "bcfsort", dispatches, None);
    }

    /// Encodes all dispatches into a pass that the user began.
    pub(crate) fn encode_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        for dispatch in &self.dispatches {
            dispatch.encode(pass);
        }
    }

    /// Encodes all dispatches. Each phase is a compute pass that writes two timestamps.
    pub(crate) fn encode_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        queries: &wgpu::QuerySet,
        first: u32,
    ) {
        for (number, range) in self.phases(0..self.dispatches.len()).enumerate() {
            // Saturates: wgpu rejects an index beyond the query set.
            let at = first.saturating_add(2 * number as u32);
            let writes = wgpu::ComputePassTimestampWrites {
                query_set: queries,
                beginning_of_pass_write_index: Some(at),
                end_of_pass_write_index: Some(at.saturating_add(1)),
            };
            self.encode_phase(encoder, &range, Some(writes));
        }
    }

    /// The phase of each pass of [`encode_timed`](Self::encode_timed).
    pub(crate) fn timed_phases(&self) -> impl Iterator<Item = Phase> {
        let passes = self.phases(0..self.dispatches.len());
        passes.map(|range| self.dispatches[range.start].phase)
    }

    /// Encodes dispatches of one phase as one compute pass.
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

    /// The submission and the dispatches of each phase of each submission.
    fn phase_passes(&self) -> Vec<(usize, Range<usize>)> {
        let submissions = self.submissions.iter().enumerate();
        let passes = submissions.flat_map(|(submission, range)| {
            let phases = self.phases(range.clone());
            phases.map(move |range| (submission, range))
        });
        passes.collect()
    }

    /// Splits dispatches into consecutive ones of one phase.
    fn phases(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut end = range.start;
        let phases = self.dispatches[range].chunk_by(|a, b| a.phase == b.phase);
        phases.map(move |phase| {
            let start = end;
            end += phase.len();
            start..end
        })
    }
}

/// The resolution of a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The time of each phase, each in its own compute pass.
    Phases,
    /// The total time, with one compute pass per submission as in an untimed run.
    Whole,
}

/// The clock behind the times of a [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// Timestamps written by the GPU.
    Timestamps,
    /// The host's clock, because the device has no usable timestamps. The times include submission
    /// and waiting.
    WallClock,
}

/// The GPU time of one phase of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseTime {
    /// The name of the phase.
    pub phase: &'static str,
    /// The number of rounds.
    pub rounds: u32,
    /// The number of dispatches.
    pub dispatches: u32,
    /// The time of all its dispatches.
    pub time: Duration,
}

/// The times of a sort: phases on the GPU, transfers, and merging on the host. A part that did not
/// run has time zero, e.g. the transfers of a sort of GPU buffers.
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
    /// The clock of all GPU times.
    pub clock: Clock,
    /// Time on the GPU, from the beginning of the first dispatch to the end of the last, without
    /// transfers.
    pub total: Duration,
    /// Time to upload the keys to the device.
    pub upload: Duration,
    /// Time to download the keys.
    pub download: Duration,
    /// Time to merge chunks on the host, if the keys did not fit the device at once.
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

    /// Adds the times of another sort. Phases of the same name are added up. The clock becomes
    /// [`Clock::WallClock`] if either profile has it.
    pub fn add(&mut self, other: &Self) {
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

/// Submits all dispatches, waits, and returns the times.
pub(crate) async fn run_profiled(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    prepared: &Prepared,
    detail: Detail,
    waiting: Waiting,
) -> Result<Profile, Error> {
    let started = Instant::now();
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
            // The sort is done and only the times of the phases are missing. A driver that writes
            // zeros (some Metal versions do, gfx-rs/wgpu#9414) must not fail the sort.
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
        // A phase may span several submissions.
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
    let begin = Instant::now();
    let mut spans = Vec::new();
    for (_, range) in passes {
        let start = begin.elapsed();
        submit(device, queue, |encoder| {
            prepared.encode_phase(encoder, range, None);
        })?;
        waiting.done(device, queue).await?;
        spans.push((start, begin.elapsed()));
    }
    // Waits succeed at once on a lost device, and nothing was read that would show the loss.
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

/// Times the passes by timestamp queries. `None` if the driver's timestamps are invalid.
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
    super::transfer::read_into(
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

/// Encodes and submits. Returns wgpu's validation errors, but does not detect a lost device: a
/// caller that reads no result must call [`check_not_lost`].
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
