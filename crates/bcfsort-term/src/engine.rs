//! The sorters of a command: a GPU engine on an adapter, or the CPU.

use crate::args::{Choice, Gpu, Seed};
use crate::fault::Fault;
use crate::kernel_cache::{Cache, KernelCache};
use crate::notice;
use crate::timings::Timings;
use std::time::Instant;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{Engine, Error, KeyType, Order, SortKey, Sorter, adapters, wgpu};

/// If set to 1, a missing adapter is an error even where the CPU could do the work.
const REQUIRE_ADAPTER: &str = "WGPU_BCFSORT_REQUIRE_ADAPTER";

/// A GPU engine or the CPU sort.
pub struct Contender {
    /// Its name on the command line.
    pub engine: &'static str,
    /// The adapter's name, backend and driver, or `none` for the CPU.
    pub adapter: String,
    sorter: Option<Sorter>,
    /// Saves new compiled kernels when dropped.
    _kernels: Option<KernelCache>,
}

impl Contender {
    pub fn cpu() -> Self {
        Self {
            engine: Choice::Cpu.name(),
            adapter: "none".to_owned(),
            sorter: None,
            _kernels: None,
        }
    }

    pub fn gpu(
        engine: Engine,
        gpu: &Gpu,
        seed: &Seed,
        cache: &Cache,
        adapter: &wgpu::Adapter,
    ) -> Result<Self, Fault> {
        let mut sorter = Sorter::on_adapter(adapter, seed.apply(gpu.options(engine)))?;
        let kernels = KernelCache::open(sorter.device(), cache.directory());
        if let Some(kernels) = &kernels {
            sorter = sorter.with_pipeline_cache(kernels.cache());
        }
        Ok(Self {
            _kernels: kernels,
            ..Self::new(engine, sorter)
        })
    }

    /// Another engine on the same device.
    pub fn beside(sorter: &Sorter, engine: Engine, gpu: &Gpu) -> Result<Self, Fault> {
        let sorter = sorter.with_options(gpu.options(engine))?;
        Ok(Self::new(engine, sorter))
    }

    fn new(engine: Engine, sorter: Sorter) -> Self {
        Self {
            engine: engine.name(),
            adapter: describe(&sorter.device().adapter_info()),
            sorter: Some(sorter),
            _kernels: None,
        }
    }

    /// Opens the chosen engine.
    pub fn open(
        choice: Choice,
        gpu: &Gpu,
        seed: &Seed,
        cache: &Cache,
        quiet: bool,
    ) -> Result<Self, Fault> {
        // Invalid parameters are an error even if the CPU sorts.
        gpu.options(Engine::default()).validate()?;
        let engine = match choice {
            Choice::Cpu => {
                gpu.refuse_for_cpu()?;
                return Ok(Self::cpu());
            }
            Choice::Auto => {
                gpu.refuse_for_others(&[Engine::default()])?;
                let Some(adapter) = adapter_or_cpu(gpu, quiet)? else {
                    return Ok(Self::cpu());
                };
                gpu.warn_of_another_adapter(&adapter.get_info(), quiet);
                return Self::gpu(Engine::default(), gpu, seed, cache, &adapter);
            }
            Choice::Gpu(engine) => engine,
        };
        gpu.refuse_for_others(&[engine])?;
        let adapter = adapter(gpu)?;
        gpu.warn_of_another_adapter(&adapter.get_info(), quiet);
        Self::gpu(engine, gpu, seed, cache, &adapter)
    }

    /// The engine for `count` keys: `auto` selects it by their number.
    pub fn engine_for(&self, count: u64, key: KeyType) -> &'static str {
        match &self.sorter {
            Some(sorter) => sorter.engine(count, key).name(),
            None => self.engine,
        }
    }

    pub const fn sorter(&self) -> Option<&Sorter> {
        self.sorter.as_ref()
    }

    /// Maximum number of keys in one sort.
    pub fn max_len(&self, key: KeyType) -> u64 {
        self.sorter
            .as_ref()
            .map_or(u64::MAX, |sorter| sorter.max_len(key))
    }

    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Fault> {
        match &self.sorter {
            Some(sorter) => sorter.sort(keys, order)?,
            None => sort_on_cpu(keys, order),
        }
        Ok(())
    }

    /// Sorts, and returns the times of the sort and its phases.
    pub fn sort_timed<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<Timings, Fault> {
        let started = Instant::now();
        let Some(sorter) = &self.sorter else {
            sort_on_cpu(keys, order);
            return Ok(Timings::of_cpu(started.elapsed()));
        };
        let profile = sorter.sort_profiled(keys, order)?;
        Ok(Timings::of_gpu(profile, started.elapsed()))
    }
}

/// The requested adapter, or the best. Returns `None`, with a warning, if the CPU is to do the
/// work.
pub fn adapter_or_cpu(gpu: &Gpu, quiet: bool) -> Result<Option<wgpu::Adapter>, Fault> {
    chosen_or_cpu(gpu.adapter.adapter.as_deref(), quiet, "sorting")
}

/// The same for an optional index or name. `work` is the subject of the warning.
pub fn chosen_or_cpu(
    wanted: Option<&str>,
    quiet: bool,
    work: &str,
) -> Result<Option<wgpu::Adapter>, Fault> {
    let required = std::env::var_os(REQUIRE_ADAPTER).is_some_and(|value| value == "1");
    if wanted.is_some() || required {
        return adapter_named(wanted).map(Some);
    }
    let best = adapters().into_iter().next();
    if best.is_none() && !quiet {
        notice::say(&format!("{work} on the CPU: {}", Error::NoAdapter));
    }
    Ok(best)
}

/// The requested adapter, or the best.
pub fn adapter(gpu: &Gpu) -> Result<wgpu::Adapter, Fault> {
    adapter_named(gpu.adapter.adapter.as_deref())
}

/// The adapter with this index or a matching name, or the best.
pub fn adapter_named(wanted: Option<&str>) -> Result<wgpu::Adapter, Fault> {
    let mut all = adapters();
    if all.is_empty() {
        return Err(Error::NoAdapter.into());
    }
    let Some(wanted) = wanted else {
        return Ok(all.swap_remove(0));
    };
    let name = wanted.to_lowercase();
    let by_name = |adapter: &wgpu::Adapter| adapter.get_info().name.to_lowercase().contains(&name);
    // A number is an index if an adapter has it; otherwise, as in "4090", a part of a name.
    let by_index = wanted
        .parse()
        .ok()
        .filter(|&index: &usize| index < all.len());
    let found = by_index.or_else(|| all.iter().position(by_name).filter(|_| !name.is_empty()));
    match found {
        Some(index) => Ok(all.swap_remove(index)),
        None => Err(Fault::Usage(format!(
            "no adapter matches '{wanted}': 'wgpu-bcfsort devices' lists all adapters"
        ))),
    }
}

/// Describes an adapter in one line.
pub fn describe(info: &wgpu::AdapterInfo) -> String {
    let driver = [info.driver.as_str(), info.driver_info.as_str()];
    let driver: Vec<&str> = driver.into_iter().filter(|part| !part.is_empty()).collect();
    if driver.is_empty() {
        format!("{} ({})", info.name, info.backend)
    } else {
        format!("{} ({}, {})", info.name, info.backend, driver.join(" "))
    }
}
