//! A recording with all its GPU objects, ready to be encoded or run.

use super::calls::submit;
use super::faults::{check_not_lost, scoped};
use super::pipelines::{Compiled, Pipelines};
use super::transfer::{fill, staging};
use crate::error::Error;
use crate::recording::{Buffer, ParameterBlocks, Phase, Recording, Step};
use crate::shader::{Access, Binding, PARAMETER_BLOCK};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The buffers that a recording owns, by role. The user's buffers are not among them.
pub(crate) type BufferSet = BTreeMap<Buffer, wgpu::Buffer>;

/// Creates the buffers of a recording, reusing those in `pool` that are large enough.
fn make_buffers(
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

/// A recording with its device and all its GPU objects: the inside of a prepared sort. Encoding
/// creates no object.
pub(crate) struct Prepared {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(crate) recording: Recording,
    /// The owned buffers, which the bind groups use.
    pub(crate) buffers: BufferSet,
    pub(super) dispatches: Vec<Dispatch>,
    /// The dispatches of each submission.
    pub(super) submissions: Vec<Range<usize>>,
}

impl Prepared {
    /// Creates all GPU objects. Reuses the buffers of `pool` that are large enough.
    ///
    /// `user_buffers`: the bindings of all buffers that the recording does not own.
    pub(crate) fn new(
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        pipelines: &Pipelines,
        recording: Recording,
        user_buffers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        pool: BufferSet,
        keys_per_dispatch: u32,
    ) -> Result<Self, Error> {
        let buffers = make_buffers(device, &recording, pool)?;
        let dispatches = dispatches(device, pipelines, &recording, user_buffers, &buffers)?;
        Ok(Self {
            device: device.clone(),
            queue: queue.clone(),
            submissions: recording.submissions(keys_per_dispatch),
            recording,
            buffers,
            dispatches,
        })
    }

    /// Encodes all submissions into one encoder.
    pub(crate) fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        for submission in 0..self.submissions() {
            self.encode(encoder, submission);
        }
    }

    /// Submits everything without waiting. Fails if the device is lost.
    pub(crate) fn run(&self) -> Result<(), Error> {
        self.submit()?;
        check_not_lost(&self.device)
    }

    /// Submits everything without waiting. Reading the result is what shows a lost device.
    pub(crate) fn submit(&self) -> Result<(), Error> {
        (0..self.submissions()).try_for_each(|submission| {
            submit(&self.device, &self.queue, |encoder| {
                self.encode(encoder, submission);
            })
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
    pub(super) fn encode_phase(
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
    pub(super) fn phase_passes(&self) -> Vec<(usize, Range<usize>)> {
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

    pub(crate) fn fields(&self, f: &mut std::fmt::Formatter<'_>, name: &str) -> std::fmt::Result {
        f.debug_struct(name)
            .field("len", &self.recording.len)
            .field("key", &self.recording.key)
            .field("order", &self.recording.order)
            .field("dispatches", &self.recording.steps.len())
            .field("chunks", &self.submissions())
            .finish_non_exhaustive()
    }
}

/// Makes pipelines, parameters and bind groups.
fn dispatches(
    device: &wgpu::Device,
    pipelines: &Pipelines,
    recording: &Recording,
    user_buffers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
    buffers: &BufferSet,
) -> Result<Vec<Dispatch>, Error> {
    if recording.steps.is_empty() {
        return Ok(Vec::new());
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
                let resource =
                    |binding: &Binding| match step.buffer(&binding.name) {
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
    Ok(dispatches)
}

pub(super) struct Dispatch {
    compiled: Arc<Compiled>,
    bind_group: wgpu::BindGroup,
    offset: u32,
    workgroups: [u32; 2],
    pub(super) phase: Phase,
    pub(super) round: u32,
}

impl Dispatch {
    fn encode(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.compiled.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[self.offset]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

/// Creates a buffer with these bytes, a multiple of 4. Submits nothing.
pub(crate) fn constant(
    device: &wgpu::Device,
    label: &str,
    bytes: &[u8],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let size = bytes.len() as u64;
    // wgpu allocates a staging buffer of the same size, and treats the device as lost if that fails
    // (see `Transfers::upload`). So try the allocation first. Staging of our own would cost each
    // sort one more submission.
    drop(scoped(device, size, || staging(device, size))?);
    let buffer = scoped(device, size, || {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: true,
        })
    })?;
    fill(device, &buffer, bytes)?;
    Ok(buffer)
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
        let make = |blocks: &[u8], usage| constant(device, "bcfsort.parameters", blocks, usage);
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
