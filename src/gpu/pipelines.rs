//! The cache of pipelines: each kernel is compiled once, when it is first needed.
//!
//! Each kernel has a cell with its own lock, which is held during compilation. So threads compile
//! different kernels in parallel, and a thread that needs a kernel which another one compiles waits
//! for it. A failure leaves the cell empty, and the next request compiles again.

use super::faults::{check_not_lost, scoped};
use crate::at_once::{for_each_at_once, lock};
use crate::error::Error;
use crate::recording::Recording;
use crate::row_function::RowFunction;
use crate::shader::Kernel;
use crate::shader::{Access, Assembled, Binding};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) bindings: Vec<Binding>,
}

/// A kernel and its custom function, if it has one.
type PipelineKey = (Kernel, Option<RowFunction>);

/// The pipeline of one kernel, `None` until it is compiled.
type Cell = Arc<Mutex<Option<Arc<Compiled>>>>;

/// The kernels compiled so far.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    /// The user's pipeline cache, if there is one.
    cache: Option<wgpu::PipelineCache>,
    cells: Mutex<HashMap<PipelineKey, Cell>>,
}

impl Pipelines {
    /// An empty set of pipelines, which are compiled through the user's cache.
    pub(crate) fn through(cache: wgpu::PipelineCache) -> Self {
        Self {
            cache: Some(cache),
            cells: Mutex::default(),
        }
    }

    /// The pipeline of each step of a recording. Missing kernels are compiled now, on several
    /// threads.
    ///
    /// The error is that of the first kernel that failed. No compilation starts after it, and all
    /// kernels that compiled are kept.
    pub(crate) fn of_steps(
        &self,
        device: &wgpu::Device,
        recording: &Recording,
    ) -> Result<Vec<Arc<Compiled>>, Error> {
        let kernels: Vec<_> = recording.steps.iter().map(|step| &step.kernel).collect();
        self.get_all(device, &kernels, recording.custom.as_ref())
    }

    fn get_all(
        &self,
        device: &wgpu::Device,
        kernels: &[&Kernel],
        custom: Option<&RowFunction>,
    ) -> Result<Vec<Arc<Compiled>>, Error> {
        // Many steps share few kernels.
        let mut distinct: Vec<&Kernel> = Vec::new();
        let mut number = |kernel| {
            let found = distinct.iter().position(|&other| other == kernel);
            found.unwrap_or_else(|| {
                distinct.push(kernel);
                distinct.len() - 1
            })
        };
        let numbers: Vec<usize> = kernels.iter().copied().map(&mut number).collect();
        // `tests/gpu/device.rs` notes which test prepares which kernel.
        for kernel in &distinct {
            log::trace!("preparing {}", kernel.label());
        }
        let wanted: Vec<_> = {
            let mut cells = lock(&self.cells);
            let keys = distinct.iter().map(|&kernel| {
                // All other kernels are independent of the custom function.
                let custom = custom.filter(|_| kernel.role().is_some());
                (kernel.clone(), custom.cloned())
            });
            keys.map(|key| {
                let cell = cells.entry(key.clone()).or_default();
                (key, cell.clone())
            })
            .collect()
        };
        let missing: Vec<_> = wanted
            .iter()
            .filter(|(_, cell)| !is_compiled(cell))
            .collect();
        for_each_at_once(&missing, |(key, cell)| {
            self.get(device, key, cell).map(drop)
        })?;
        let compiled = wanted
            .iter()
            .map(|(key, cell)| self.get(device, key, cell))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(numbers.into_iter().map(|i| compiled[i].clone()).collect())
    }

    /// The pipeline in a cell. Compiles it if the cell is empty.
    fn get(
        &self,
        device: &wgpu::Device,
        (kernel, custom): &PipelineKey,
        cell: &Cell,
    ) -> Result<Arc<Compiled>, Error> {
        let mut cell = lock(cell);
        if let Some(found) = &*cell {
            return Ok(found.clone());
        }
        let made = compile(device, kernel, custom.as_ref(), self.cache.as_ref())?;
        Ok(cell.insert(Arc::new(made)).clone())
    }
}

/// True if the pipeline is ready, false also while another thread compiles it.
fn is_compiled(cell: &Cell) -> bool {
    cell.try_lock().is_ok_and(|cell| cell.is_some())
}

/// Fails if a kernel needs more workgroup memory or lanes than the device has. wgpu 30 does not
/// check the memory, and a driver may hang if a kernel exceeds it.
fn check_fits(kernel: &Kernel, assembled: &Assembled, limits: &wgpu::Limits) -> Result<(), Error> {
    let (needed, limit) = (
        assembled.workgroup_bytes,
        limits.max_compute_workgroup_storage_size,
    );
    if needed > limit {
        return Err(Error::WorkgroupMemory {
            kernel: kernel.label().to_owned(),
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
            kernel: kernel.label().to_owned(),
            needed,
            limit,
        });
    }
    Ok(())
}

/// The layout of a kernel's bind group. wgpu's automatic layout would omit unused bindings.
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
    kernel: &Kernel,
    custom: Option<&RowFunction>,
    cache: Option<&wgpu::PipelineCache>,
) -> Result<Compiled, Error> {
    let (assembled, module) = kernel.parse(custom)?;
    check_fits(kernel, &assembled, &device.limits())?;
    let label = kernel.label();
    log::debug!("compiling {label}");
    let entries = layout_entries(&assembled);
    // Pass the parsed module: parsing is the slowest step besides the driver. Browsers need text.
    let source = if cfg!(target_arch = "wasm32") {
        wgpu::ShaderSource::Wgsl(assembled.wgsl.into())
    } else {
        wgpu::ShaderSource::Naga(std::borrow::Cow::Owned(module))
    };
    let (pipeline, layout) = scoped(device, 0, || {
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source,
        };
        let mut checks = wgpu::ShaderRuntimeChecks::unchecked();
        if kernel.role().is_some() {
            checks = wgpu::ShaderRuntimeChecks::checked();
            // Loop counters keep compilers from unrolling the loops over a lane's records, which
            // doubles the time.
            checks.force_loop_bounding = custom.is_some_and(RowFunction::has_loops);
        }
        // SAFETY: if the text has a user's function, all of wgpu's checks are on, except the loop
        // check if the function has no loop, or only that of `Comparator::wide`. Its calls then
        // end, since WGSL has no recursion. The loops around them are this crate's, and end
        // whatever the function returns. Otherwise all of the text is this crate's. No index in
        // it leaves its array or buffer, and every loop ends, whatever the storage buffers hold at
        // the beginning of a dispatch and during it. So it does not matter what ran since the last
        // dispatch: a submission that overwrites keys, another sort in the same scratch memory, or
        // a chunk of this sort that is out of order. The lock-step executor runs every kernel,
        // also on buffers of garbage, and detects violations.
        //
        // Parameters are all that is trusted. Their buffers belong to one prepared sort, and only
        // this crate writes them. A kernel writes one of them, the number of records: `set_count`
        // limits it to the capacity.
        //
        // Keys are compared and moved, and never used as an index. The counting sort is the
        // exception: its packed keys have no more bits than its table has words for. Its sums are
        // only compared with ranks. In the radix sort, a digit of 8 bits is an index of 256 counts;
        // a record's place in its tile depends on counts of what was read of that tile, and its
        // index in the target is clamped. In the top k, the bin of a key is limited to 256 counts.
        //
        // Mergesorts: indices into key buffers are compared with the ends of runs. These are
        // parameters, or they are read from a table and clamped, to the length and to one another.
        // Binary searches are confined to a run. `progress` has an entry for every pair. It only
        // chooses pages, and the keys of a page outside of its run are not loaded.
        //
        // Sample sort: segments, tiles and items are read from tables, and clamped to the records.
        // The numbers of tiles and of items are clamped to the entries of their tables, where these
        // are read and where they are written. A record's position in its tile depends on counts of
        // that tile alone. Its position in the target is clamped to the segment. The sort of a tile
        // is oblivious: its indices are those of lanes and registers. Where few tiles are merged, a
        // search ends with at most the records of its tile, so a position is below the length.
        //
        // After a sort: rows are gathered by the values of sorted records, which `layout/move.wgsl`
        // clamps. Offsets of segments only determine the segment of a record.
        //
        // Histograms: the bin of a key is compared with the number of bins, and a search has as
        // many steps as the number of bounds allows.
        //
        // Top k: a segment is clamped to the records, and to 2^20 of them. Places in workgroup
        // memory are compared with its cells, and there are at most four rounds for each word of a
        // record. Merges: counts are clamped to the capacities, splits to the counts, and what a
        // tile takes of each input to its own size.
        //
        // Prefix sums: indices into the user's buffers are compared with the end of a tile, which
        // is at most the length. A color is an index only if it is below `colors`, which is at most
        // 16. The sums of lanes have room for 16 colors in either layout, and the sums of tiles for
        // every tile and color.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(label),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(label),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
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
    use crate::key::KeyType;
    use crate::mergesort::BaseCase;

    #[test]
    fn kernels_beyond_the_device_limits_are_refused_with_the_numbers() {
        let kernel = &crate::mergesort::kernels::base_case(BaseCase::Bitonic, 8, KeyType::U64);
        let (assembled, _) = kernel.parse(None).unwrap();
        // Eight tiles of 1024 keys, each row of 32 padded by one cell, and 32 lanes per tile.
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
