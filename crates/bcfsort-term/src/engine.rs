//! The sorters of a command: a GPU engine on an adapter, or the CPU.

use crate::args::{Choice, Gpu, Seed};
use crate::fault::Fault;
use crate::kernel_cache::{Cache, KernelCache};
use crate::notice;
use crate::timings::Timings;
pub use bcfsort_auto::device::describe;
use bcfsort_auto::device::{NO_ADAPTER, is_software};
use bcfsort_auto::model::{self, Call, Work};
use bcfsort_auto::{Device, MultiSorter, cpu};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use wgpu_bcfsort::{Engine, Error, KeyType, Options, Order, SortKey, Sorter, adapters, wgpu};

/// A GPU engine or the CPU sort.
pub struct Contender {
    /// Its name on the command line.
    pub engine: &'static str,
    /// The adapter's name, backend and driver, or `none` for the CPU.
    pub adapter: String,
    /// Why `auto` chose the CPU.
    reason: Option<String>,
    /// One GPU, or all together.
    gpus: Option<MultiSorter>,
    /// The CPU in case the GPU fails, if `auto` chose the GPU.
    fallback: Option<Fallback>,
    /// Saves new compiled kernels when dropped.
    _kernels: Option<KernelCache>,
}

struct Fallback {
    used: AtomicBool,
    quiet: bool,
}

/// Why a sort to a closure failed.
enum Failure {
    Sort(Error),
    Take(Fault),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sort(error)
    }
}

impl Contender {
    pub fn cpu() -> Self {
        Self {
            engine: Choice::Cpu.name(),
            adapter: "none".to_owned(),
            reason: None,
            gpus: None,
            fallback: None,
            _kernels: None,
        }
    }

    /// The CPU, which `auto` chose for this reason.
    fn cpu_since(reason: impl Display) -> Self {
        Self {
            reason: Some(reason.to_string()),
            ..Self::cpu()
        }
    }

    fn gpu(
        options: Options,
        kernels: Option<PathBuf>,
        adapter: &wgpu::Adapter,
    ) -> Result<Self, Error> {
        let engine = options.engine;
        let mut sorter = Sorter::open(options.adapter(adapter))?;
        let kernels = KernelCache::open(sorter.device(), kernels);
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

    /// A sorter that is open already, with the engine of its options.
    pub fn of(sorter: Sorter) -> Self {
        Self::new(Engine::Auto, sorter)
    }

    fn new(engine: Engine, sorter: Sorter) -> Self {
        Self {
            engine: engine.name(),
            adapter: describe(&sorter.device().adapter_info()),
            reason: None,
            gpus: Some(MultiSorter::of_sorter(sorter)),
            fallback: None,
            _kernels: None,
        }
    }

    /// Opens the engine that the options name. Returns `None` if the input decides:
    /// see [`Self::fastest`].
    pub fn named(
        choice: Choice,
        gpu: &Gpu,
        seed: &Seed,
        cache: &Cache,
        quiet: bool,
    ) -> Result<Option<Self>, Fault> {
        // Invalid parameters are an error even if the CPU sorts.
        gpu.options(Engine::default()).validate()?;
        let device = match (choice, gpu.device.given()) {
            (Choice::Cpu, None) => Device::Cpu,
            // (An engine is an option, too, and so precedes the environment.)
            (Choice::Gpu(_), None) if gpu.device.wanted() == Device::Cpu => Device::Gpu,
            _ => gpu.device.wanted(),
        };
        let engine = match (choice, &device) {
            (Choice::Cpu, Device::Auto) | (Choice::Cpu | Choice::Auto, Device::Cpu) => {
                gpu.refuse_for_cpu()?;
                return Ok(Some(Self::cpu()));
            }
            // The CPU may sort: no option is for a GPU.
            (Choice::Auto, Device::Auto) if gpu.refuse_for_cpu().is_ok() => return Ok(None),
            (Choice::Auto, _) => Engine::default(),
            (Choice::Gpu(engine), device) if *device != Device::Cpu => engine,
            (choice, device) => {
                let name = choice.name();
                return Err(Fault::Usage(format!(
                    "--engine {name} does not run on the device {device}: leave out one of them"
                )));
            }
        };
        gpu.refuse_for_others(&[engine])?;
        let named = device.among(&adapters())?;
        let first = match named.first() {
            Some(first) => first,
            None if choice == Choice::Auto => {
                warn_of_cpu("sorting", &Error::NoAdapter, quiet);
                return Ok(Some(Self::cpu_since(NO_ADAPTER)));
            }
            None => return Err(Error::NoAdapter.into()),
        };
        gpu.warn_of_another_adapter(&first.get_info(), quiet);
        let options = seed.apply(gpu.options(engine));
        if device == Device::All && named.len() > 1 {
            return Self::all(&named, &options).map(Some);
        }
        Ok(Some(Self::gpu(options, cache.directory(), first)?))
    }

    /// All of these GPUs together.
    fn all(adapters: &[wgpu::Adapter], options: &Options) -> Result<Self, Fault> {
        let engine = match options.engine {
            Engine::Auto => Engine::SampleSort,
            engine => engine,
        };
        let names: Vec<String> = adapters.iter().map(|a| describe(&a.get_info())).collect();
        Ok(Self {
            engine: engine.name(),
            adapter: names.join("; "),
            gpus: Some(MultiSorter::open_with(adapters, options)?),
            ..Self::cpu()
        })
    }

    /// Opens the engine that takes the least time for this work on `count` keys, the start of a GPU
    /// included. A part of that passes while a file is read.
    ///
    /// Adapters are listed only if a GPU would be faster.
    pub fn fastest(work: Work, count: u64, key: KeyType, cache: &Cache, quiet: bool) -> Self {
        let estimate = Call::new(count, key, work).estimate(model::Gpu::ClosedWhileReading);
        if estimate.cpu <= estimate.gpu {
            return Self::cpu_since("too few keys for a GPU");
        }
        Self::gpu_or_cpu(adapters().first(), cache.directory(), quiet)
    }

    /// The GPU, or the CPU if there is none that works. Warns unless the adapter is software.
    fn gpu_or_cpu(best: Option<&wgpu::Adapter>, kernels: Option<PathBuf>, quiet: bool) -> Self {
        let Some(adapter) = best else {
            warn_of_cpu("sorting", &Error::NoAdapter, quiet);
            return Self::cpu_since(NO_ADAPTER);
        };
        let info = adapter.get_info();
        if is_software(&info) {
            return Self::cpu_since(format!("the best adapter, {}, is software", info.name));
        }
        match Self::gpu(Options::default(), kernels, adapter) {
            Ok(gpu) => Self {
                fallback: Some(Fallback {
                    used: AtomicBool::new(false),
                    quiet,
                }),
                ..gpu
            },
            Err(error) => {
                warn_of_cpu("sorting", &format!("{}: {error}", info.name), quiet);
                Self::cpu_since(format!("{} could not be opened", info.name))
            }
        }
    }

    /// The engine for `count` keys: `auto` selects it by their number.
    pub fn engine_for(&self, count: u64, key: KeyType) -> &'static str {
        match self.sorter() {
            Some(sorter) => sorter.engine(count, key).name(),
            None => self.engine,
        }
    }

    /// The engine for `count` keys and, for the CPU, why `auto` chose it.
    pub fn explain(&self, count: u64, key: KeyType) -> String {
        let engine = self.engine_for(count, key);
        match &self.reason {
            Some(reason) => format!("{engine} (auto: {reason})"),
            None => engine.to_owned(),
        }
    }

    /// The GPU, if it is one that sorts.
    pub fn sorter(&self) -> Option<&Sorter> {
        match self.gpus.as_ref()?.sorters() {
            [sorter] => Some(sorter),
            _ => None,
        }
    }

    /// The GPUs, unless they failed and the CPU does what is left.
    fn working(&self) -> Option<&MultiSorter> {
        let failed = |fallback: &Fallback| fallback.used.load(Relaxed);
        let has_failed = self.fallback.as_ref().is_some_and(failed);
        self.gpus.as_ref().filter(|_| !has_failed)
    }

    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Fault> {
        match &self.gpus {
            Some(gpus) => gpus.sort(keys, order)?,
            None => cpu::sort(keys, order),
        }
        Ok(())
    }

    /// Whether [`argsort`](Self::argsort) sorts this number of keys on a GPU in less time than the
    /// CPU would: always if the GPU is named.
    pub fn pays_on_gpu(&self, len: usize) -> bool {
        let call = Call::new(len as u64, KeyType::U64, Work::Argsort);
        let estimate = call.estimate(model::Gpu::Open);
        let is_named = self.fallback.is_none();
        self.working().is_some() && (is_named || estimate.gpu < estimate.cpu)
    }

    /// Returns the indices that sort the keys, stably.
    ///
    /// If a GPU that `auto` chose fails, the CPU sorts instead, with a warning.
    pub fn argsort(&self, keys: &[u64]) -> Result<Vec<u32>, Fault> {
        if let Some(gpus) = self.working() {
            match gpus.argsort(keys, Order::Ascending) {
                Ok(indices) => return Ok(indices),
                Err(error) => self.fall_back(error)?,
            }
        }
        Ok(cpu::argsort(keys, Order::Ascending))
    }

    /// Sorts keys, and passes the result to `take`, in order, in blocks. Returns the times; those
    /// of the phases only if `timed`. Afterwards the slice has the same keys in any order.
    ///
    /// If a GPU that `auto` chose fails, the CPU sorts instead, with a warning.
    pub fn sort_to<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        timed: bool,
        take: &mut dyn FnMut(&[T]) -> Result<(), Fault>,
    ) -> Result<Timings, Fault> {
        let mut taken = 0;
        if let Some([sorter]) = self.working().map(MultiSorter::sorters) {
            let started = Instant::now();
            let count_and_take = |block: &[T]| {
                take(block).map_err(Failure::Take)?;
                taken += block.len();
                Ok(())
            };
            let sorted = if timed {
                let profile = sorter.profile(keys, order, count_and_take);
                profile.map(|profile| Timings::of_gpu(profile, started.elapsed()))
            } else {
                let sorted = sorter.sort_to(keys, order, count_and_take);
                sorted.map(|()| Timings::default())
            };
            match sorted {
                Ok(timings) => return Ok(timings),
                Err(Failure::Sort(error)) => self.fall_back(error)?,
                Err(Failure::Take(fault)) => return Err(fault),
            }
        }
        let started = Instant::now();
        match self.working() {
            Some(gpus) => gpus.sort(keys, order)?,
            None => cpu::sort(keys, order),
        }
        let timings = Timings::of_cpu(started.elapsed());
        // Both engines give the same bytes, so what was taken from the GPU need not be repeated.
        take(&keys[taken..])?;
        Ok(timings)
    }

    /// Leaves all that is left to the CPU, if `auto` chose the GPU, which failed.
    fn fall_back(&self, error: Error) -> Result<(), Fault> {
        let Some(fallback) = &self.fallback else {
            return Err(error.into());
        };
        fallback.used.store(true, Relaxed);
        let why = format!("{}: {error}", self.adapter);
        warn_of_cpu("sorting", &why, fallback.quiet);
        Ok(())
    }
}

/// The adapter that a device names, or the best. Returns `None` if the CPU is to do the `work`,
/// with a warning if it was not told to.
pub fn adapter_or_cpu(
    device: &Device,
    quiet: bool,
    work: &str,
) -> Result<Option<wgpu::Adapter>, Fault> {
    match device {
        Device::Cpu => return Ok(None),
        Device::Auto => {}
        named => return adapter_named(named).map(Some),
    }
    let best = adapters().into_iter().next();
    if best.is_none() {
        warn_of_cpu(work, &Error::NoAdapter, quiet);
    }
    Ok(best)
}

fn warn_of_cpu(work: &str, why: &dyn Display, quiet: bool) {
    if !quiet {
        notice::say(&format!("{work} on the CPU: {why}"));
    }
}

/// The adapter that a device names, or the best.
pub fn adapter_named(device: &Device) -> Result<wgpu::Adapter, Fault> {
    if let Device::Cpu | Device::All = device {
        return Err(Fault::Usage(format!(
            "the device is {device}, but this works on one GPU: 'wgpu-bcfsort devices' lists all"
        )));
    }
    let named = device.among(&adapters())?;
    named.into_iter().next().ok_or(Error::NoAdapter.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_and_missing_adapters_leave_the_sort_to_the_cpu() {
        let none = Contender::gpu_or_cpu(None, None, true);
        assert_eq!(
            none.explain(9, KeyType::U32),
            "cpu (auto: no GPU adapter found)"
        );
        let software = |adapter: &&wgpu::Adapter| is_software(&adapter.get_info());
        for adapter in adapters().iter().filter(software) {
            let contender = Contender::gpu_or_cpu(Some(adapter), None, false);
            assert!(contender.sorter().is_none());
            assert!(
                contender
                    .explain(9, KeyType::U32)
                    .ends_with(" is software)")
            );
        }
    }

    #[test]
    fn the_cpu_sorts_if_a_gpu_that_auto_chose_fails() {
        let Some(adapter) = adapters().into_iter().next() else {
            return;
        };
        let fallback = Fallback {
            used: AtomicBool::new(false),
            quiet: true,
        };
        let contender = Contender {
            fallback: Some(fallback),
            ..Contender::gpu(Options::default(), None, &adapter).unwrap()
        };
        let forced = Contender::gpu(Options::default(), None, &adapter).unwrap();
        assert!(forced.pays_on_gpu(1000) && !contender.pays_on_gpu(1000));
        for contender in [&contender, &forced] {
            contender.sorter().unwrap().device().destroy();
        }
        let sort = |contender: &Contender| {
            let mut sorted = Vec::new();
            let take = &mut |block: &[u32]| {
                sorted.extend_from_slice(block);
                Ok(())
            };
            contender.sort_to(&mut [3, 1, 2, 1], Order::Descending, false, take)?;
            Ok::<_, Fault>(sorted)
        };
        assert!(matches!(sort(&forced), Err(Fault::Device(_))));
        for _ in 0..2 {
            assert_eq!(sort(&contender).unwrap(), [3, 2, 1, 1]);
            assert!(contender.working().is_none() && !contender.pays_on_gpu(1 << 30));
            assert_eq!(contender.argsort(&[3, 1, 2, 1]).unwrap(), [1, 3, 2, 0]);
        }
    }
}
