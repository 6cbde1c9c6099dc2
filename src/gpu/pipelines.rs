//! Pipelines: each kernel is compiled once, when it is first needed.
//!
//! A kernel has a cell with a lock of its own, which is held while it is compiled. So two threads
//! compile different kernels at the same time, and one that wants a kernel that another compiles
//! waits for it. A failure leaves the cell empty: whoever wants the kernel next tries again.

use super::at_once::for_each_at_once;
use super::faults::{check_not_lost, scoped};
use crate::kernel::{Access, Assembled, Binding, Specialised};
use crate::recording::Recording;
use crate::{Comparator, Error};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) bindings: Vec<Binding>,
}

/// A kernel, and what compares rows in it.
type AskedFor = (Specialised, Option<Comparator>);

/// The position of a kernel, empty until it is compiled.
type Cell = Arc<Mutex<Option<Arc<Compiled>>>>;

/// The kernels compiled so far.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    /// The caller's, in which the driver keeps what it makes of them.
    cache: Option<wgpu::PipelineCache>,
    cells: Mutex<HashMap<AskedFor, Cell>>,
}

impl Pipelines {
    /// None yet, all of them to be compiled through a cache.
    pub(crate) fn through(cache: wgpu::PipelineCache) -> Self {
        Self {
            cache: Some(cache),
            cells: Mutex::default(),
        }
    }

    /// The pipeline of each step of a recording. Kernels that are needed for the first time are
    /// compiled now, on several threads at the same time.
    ///
    /// The error is that of the first kernel that failed; none is begun after it. Those that
    /// compiled beside it are kept.
    pub(crate) fn of_steps(
        &self,
        device: &wgpu::Device,
        recording: &Recording,
    ) -> Result<Vec<Arc<Compiled>>, Error> {
        let steps = recording.steps.iter();
        let kernels: Vec<_> = steps.map(|step| recording.specialised(step)).collect();
        self.get_all(device, &kernels, recording.comparator.as_ref())
    }

    fn get_all(
        &self,
        device: &wgpu::Device,
        kernels: &[Specialised],
        comparator: Option<&Comparator>,
    ) -> Result<Vec<Arc<Compiled>>, Error> {
        // A few kernels, which many steps share.
        let mut distinct: Vec<Specialised> = Vec::new();
        let mut number = |kernel: &Specialised| {
            let found = distinct.iter().position(|other| other == kernel);
            found.unwrap_or_else(|| {
                distinct.push(*kernel);
                distinct.len() - 1
            })
        };
        let numbers: Vec<usize> = kernels.iter().map(&mut number).collect();
        let wanted: Vec<_> = {
            let mut cells = lock(&self.cells);
            let asked_for = distinct.iter().map(|&kernel| {
                // (Others are the same whatever compares.)
                let comparator = comparator.filter(|_| kernel.compares_rows());
                (kernel, comparator.cloned())
            });
            asked_for
                .map(|asked_for| {
                    let cell = cells.entry(asked_for.clone()).or_default();
                    (asked_for, cell.clone())
                })
                .collect()
        };
        let missing: Vec<_> = wanted
            .iter()
            .filter(|(_, cell)| !is_compiled(cell))
            .collect();
        for_each_at_once(&missing, |(asked_for, cell)| {
            self.get(device, asked_for, cell).map(drop)
        })?;
        let compiled = wanted
            .iter()
            .map(|(asked_for, cell)| self.get(device, asked_for, cell))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(numbers.into_iter().map(|i| compiled[i].clone()).collect())
    }

    /// What is in the cell, compiled now if it is empty.
    fn get(
        &self,
        device: &wgpu::Device,
        (kernel, comparator): &AskedFor,
        cell: &Cell,
    ) -> Result<Arc<Compiled>, Error> {
        let mut cell = lock(cell);
        if let Some(found) = &*cell {
            return Ok(found.clone());
        }
        let made = compile(device, *kernel, comparator.as_ref(), self.cache.as_ref())?;
        Ok(cell.insert(Arc::new(made)).clone())
    }
}

/// A panic while it was held leaves nothing half done: a cell is written at the end.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there is nothing to wait for: not while another thread compiles the kernel.
fn is_compiled(cell: &Cell) -> bool {
    cell.try_lock().is_ok_and(|cell| cell.is_some())
}

/// That the device has the workgroup memory and the lanes that a kernel takes. wgpu 30 does not
/// look at the memory, and a driver may hang with more of it than there is.
fn check_fits(
    kernel: Specialised,
    assembled: &Assembled,
    limits: &wgpu::Limits,
) -> Result<(), Error> {
    let (needed, limit) = (
        assembled.workgroup_bytes,
        limits.max_compute_workgroup_storage_size,
    );
    if needed > limit {
        return Err(Error::WorkgroupMemory {
            kernel: kernel.label(),
            key: kernel.key(),
            needed,
            limit,
        });
    }
    let (needed, limit) = (
        assembled.workgroup_size,
        limits.max_compute_invocations_per_workgroup,
    );
    if needed > limit {
        return Err(Error::WorkgroupLanes {
            kernel: kernel.label(),
            needed,
            limit,
        });
    }
    Ok(())
}

/// The layout of a kernel's bind group: one of wgpu's own making would leave out what is not used.
pub(crate) fn layout_entries(assembled: &Assembled) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |binding: &Binding| wgpu::BindGroupLayoutEntry {
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
    };
    assembled.bindings.iter().map(entry).collect()
}

fn compile(
    device: &wgpu::Device,
    kernel: Specialised,
    comparator: Option<&Comparator>,
    cache: Option<&wgpu::PipelineCache>,
) -> Result<Compiled, Error> {
    let (assembled, module) = kernel.parse(comparator)?;
    check_fits(kernel, &assembled, &device.limits())?;
    let label = kernel.label();
    log::debug!("compiling {label}");
    let entries = layout_entries(&assembled);
    // Parsing takes longer than all else but the driver, and once is enough. A browser takes text.
    let source = if cfg!(target_arch = "wasm32") {
        wgpu::ShaderSource::Wgsl(assembled.wgsl.into())
    } else {
        wgpu::ShaderSource::Naga(std::borrow::Cow::Owned(module))
    };
    let (pipeline, layout) = scoped(device, 0, || {
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(&label),
            source,
        };
        let mut checks = wgpu::ShaderRuntimeChecks::unchecked();
        if kernel.compares_rows() {
            checks = wgpu::ShaderRuntimeChecks::checked();
            // A counter in each loop keeps compilers from unrolling those over a lane's records:
            // twice the time.
            checks.force_loop_bounding = comparator.is_some_and(Comparator::has_loops);
        }
        // SAFETY: where a caller's comparator is in the text, all of wgpu's checks are on, but that
        // of loops if the comparator has none, or only that of `Comparator::wide`. Then comparisons
        // end, since WGSL has no recursion, and so do the loops around them, which are this
        // crate's, whatever the comparator answers. Otherwise the text is this crate's own, no
        // index of which leaves its array or buffer, and no loop of which goes on for ever,
        // whatever the buffers hold, even if another submission overwrites keys in the middle of a
        // sort. The lock-step executor runs every kernel and finds what does.
        //
        // Keys are only ever compared and moved; no key is an index. (Of the counting sort a packed
        // key is one: it has no more bits than its table has words for.)
        //
        // Mergesorts: indices into key buffers are compared with the ends of runs, which the plan
        // takes from the buffer's length; in the final merge, with separators, which
        // `bucket_offsets` adds up from ranks, each of which a binary search confined to its run.
        // Ranks of one run ascend whatever it holds, since the splitters do and each probe of the
        // searches decides alike for a greater one; so no part is negative. `progress` has room for
        // every pair.
        //
        // Sample sort: its tables hold counts of records, never keys. Counts of a segment add up to
        // its length, since each record of a tile is counted once, in whichever child the search
        // ends, which is one of as many as there are nodes. So children, and the items that they
        // are packed into, lie in the segment; a record that a partition finds another child for
        // than was counted is moved within the segment all the same. A record's position in its
        // tile comes from counts of that tile alone. The sort of a tile is oblivious: its indices
        // are those of lanes and registers. Where few tiles are merged, a search ends with no more
        // than its tile's records, so that a position is less than the length.
        //
        // Around a sort: a count in a buffer is compared with the room that there is when it is
        // taken, before all else. Indices that rows are gathered by are values of sorted records,
        // each of which was made by this sort and only moved since. Segments' offsets only say
        // which of them a record is of.
        //
        // Prefix sums: indices into the caller's buffers are compared with the end of a tile, which
        // is at most the length; a color is used as an index where it is below `colors`, which is
        // at most 16, for which the lanes' sums have room in either layout, as the tiles' sums have
        // for each tile of each color.
        //
        // Tables are those of one run: its submissions come in their order, and no other run that
        // shares its memory comes between them, as `PreparedSort::record_chunk` and `Scratch`
        // say.
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
    check_not_lost(device)?;
    log::debug!("compiled {label}");
    Ok(Compiled {
        pipeline,
        layout,
        bindings: assembled.bindings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyType;
    use crate::algorithm::BaseCase;
    use crate::kernel::Kernel;

    #[test]
    fn what_exceeds_the_device_is_refused_with_the_numbers() {
        let kernel = Kernel::BaseCase {
            form: BaseCase::Bitonic,
            warps: 8,
        };
        let kernel = kernel.specialise(KeyType::U64);
        let (assembled, _) = kernel.parse(None).unwrap();
        // Eight tiles of 1024 keys, with a cell more in each row of 32, and a row of lanes each.
        let (bytes, lanes) = (8 * 33 * 32 * 8, 8 * 32);
        assert_eq!(
            (assembled.workgroup_bytes, assembled.workgroup_size),
            (bytes, lanes)
        );
        let limits = |bytes, lanes| wgpu::Limits {
            max_compute_workgroup_storage_size: bytes,
            max_compute_invocations_per_workgroup: lanes,
            ..wgpu::Limits::default()
        };
        check_fits(kernel, &assembled, &limits(bytes, lanes)).unwrap();

        let refused = check_fits(kernel, &assembled, &limits(bytes - 1, lanes)).unwrap_err();
        let Error::WorkgroupMemory { needed, limit, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((needed, limit), (bytes, bytes - 1));

        let refused = check_fits(kernel, &assembled, &limits(bytes, lanes - 1)).unwrap_err();
        let text = refused.to_string();
        let Error::WorkgroupLanes { needed, limit, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((needed, limit), (lanes, lanes - 1));
        assert!(
            text.contains("base_case") && text.contains("256") && text.contains("255"),
            "{text}"
        );
    }
}
