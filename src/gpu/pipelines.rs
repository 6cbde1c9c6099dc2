//! Pipelines: each kernel is compiled once a key type and order, when it is first needed.

use super::faults::scoped;
use crate::kernel::{Access, Assembled, Specialised};
use crate::{Comparator, Error};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) assembled: Assembled,
}

/// A kernel, and what compares rows in it.
type AskedFor = (Specialised, Option<Comparator>);

/// The kernels compiled so far.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    /// The caller's, in which the driver keeps what it makes of them.
    cache: Option<wgpu::PipelineCache>,
    compiled: Mutex<HashMap<AskedFor, Arc<Compiled>>>,
}

impl Pipelines {
    /// None yet, all of them to be compiled through a cache.
    pub(crate) fn through(cache: wgpu::PipelineCache) -> Self {
        Self {
            cache: Some(cache),
            compiled: Mutex::default(),
        }
    }

    /// The kernel's pipeline, compiled now if it is needed for the first time.
    pub(crate) fn get(
        &self,
        device: &wgpu::Device,
        kernel: Specialised,
        comparator: Option<&Comparator>,
    ) -> Result<Arc<Compiled>, Error> {
        // (Others are the same whatever compares.)
        let comparator = comparator.filter(|_| kernel.compares_rows());
        let asked_for = (kernel, comparator.cloned());
        // Held while compiling, so that two threads do not compile the same kernel.
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled.get(&asked_for) {
            return Ok(found.clone());
        }
        let made = Arc::new(compile(device, kernel, comparator, self.cache.as_ref())?);
        compiled.insert(asked_for, made.clone());
        Ok(made)
    }
}

fn compile(
    device: &wgpu::Device,
    kernel: Specialised,
    comparator: Option<&Comparator>,
    cache: Option<&wgpu::PipelineCache>,
) -> Result<Compiled, Error> {
    let assembled = kernel.assemble_comparing(comparator)?;
    let label = kernel.label();
    log::debug!("compiling {label}");
    let entries: Vec<_> = assembled
        .bindings
        .iter()
        .map(|binding| wgpu::BindGroupLayoutEntry {
            binding: binding.binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match binding.access {
                    Access::Uniform => wgpu::BufferBindingType::Uniform,
                    Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                    Access::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                },
                has_dynamic_offset: binding.access == Access::Uniform,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    let (pipeline, layout) = scoped(device, 0, || {
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(&label),
            source: wgpu::ShaderSource::Wgsl(assembled.wgsl.as_str().into()),
        };
        let mut checks = wgpu::ShaderRuntimeChecks::unchecked();
        if kernel.compares_rows() {
            checks = wgpu::ShaderRuntimeChecks::checked();
            // A counter in each loop keeps compilers from unrolling those over a lane's records: twice the time.
            checks.force_loop_bounding = false;
        }
        // SAFETY: where rows are compared, with all of wgpu's checks but that of loops, as the
        // caller's text is in it, of whose loops `Comparator` makes sure that they count to an end.
        // Otherwise the text is this crate's own, and no keys lead it out of bounds. Its loops
        // count to an end whatever the keys are, and whatever is said of two of them, even if
        // another submission overwrites them in the middle of a sort. Keys are only ever compared
        // and moved. Indices into key buffers are compared with the ends of runs, which the plan
        // takes from the buffer's length; in the final merge, with separators, which
        // `bucket_offsets` adds up from ranks, each of which a binary search confined to its run.
        // Ranks of one run ascend whatever it holds, since the splitters do and each probe of the
        // searches decides alike for a greater one; so no part is negative. `progress` has room for
        // every pair. In prefix sums, indices into the caller's buffers are compared with the end
        // of a tile, which is at most the length; a color is used as an index where it is below
        // `colors`, which is at most 16, for which the lanes' sums have room in either layout, as
        // the tiles' sums have for each tile of each color. Loops run to a constant, a parameter,
        // or a difference of such ends. Workgroup memory is indexed by lane and loop counter, and
        // by such a color, alone. Where tiles are merged at once, a search ends with no more than
        // its tile's records, so that a place is less than the length. The sample sort's tables
        // hold counts, never keys: of a tile that has been sorted in workgroup memory, or by
        // searches in a run as above, whose splitters ascend, sorted as they are in workgroup
        // memory, too. So counts of one tile ascend and add up to its length, whatever the keys are
        // by the time they are moved, and addresses made of them stay in the bucket. Where no order
        // is wanted they are parts of a length, which ascend, too. A label's place is masked, and
        // compared with the tile's length. A tile is found among as many as the lengths have room
        // for, and a group of children ends behind where it begins. Before and after a sort of
        // words, a count is compared with the room that there is when it is read, before all else;
        // an index by which a row is gathered, with the count; a segment's number is written as a
        // word of a key, and nothing is addressed by it. A search among offsets of segments reads
        // those that there are. A packed key has no more bits than its histogram has bins for, and
        // a lane that writes packed keys owns words between the first and the last record's. Tables
        // are those of one run: its submissions come in their order, and no other run that shares
        // its memory between them, as `Sorter::record_slice` and `BufferSort::scratch` say.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(&label),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&label),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Every cell is written before it is read.
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache,
        });
        (pipeline, layout)
    })?;
    Ok(Compiled {
        pipeline,
        layout,
        assembled,
    })
}
