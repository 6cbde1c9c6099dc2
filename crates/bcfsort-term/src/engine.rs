//! The sorters of a command: a GPU engine on an adapter, or the CPU.

use crate::args::{Choice, Gpu, Seed};
use crate::fault::Fault;
use crate::kernel_cache::{Cache, KernelCache};
use crate::notice;
use crate::timings::Timings;
use rayon::prelude::*;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use wgpu_bcfsort::{Engine, Error, KeyType, Options, Order, SortKey, Sorter, adapters, wgpu};

/// If set to 1, a missing adapter is an error even where the CPU could do the work.
const REQUIRE_ADAPTER: &str = "WGPU_BCFSORT_REQUIRE_ADAPTER";

/// Why `auto` sorts on the CPU where no adapter is found.
const NO_ADAPTER: &str = "no GPU adapter found";

/// A GPU engine or the CPU sort.
pub struct Contender {
    /// Its name on the command line.
    pub engine: &'static str,
    /// The adapter's name, backend and driver, or `none` for the CPU.
    pub adapter: String,
    /// Why `auto` chose the CPU.
    reason: Option<String>,
    sorter: Option<Sorter>,
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
            sorter: None,
            fallback: None,
            _kernels: None,
        }
    }

    /// The CPU, which `auto` chose for this reason.
    fn cpu_since(reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
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

    fn new(engine: Engine, sorter: Sorter) -> Self {
        Self {
            engine: engine.name(),
            adapter: describe(&sorter.device().adapter_info()),
            reason: None,
            sorter: Some(sorter),
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
        let engine = match choice {
            Choice::Cpu => {
                gpu.refuse_for_cpu()?;
                return Ok(Some(Self::cpu()));
            }
            // The CPU may sort: no option is for a GPU.
            Choice::Auto if gpu.refuse_for_cpu().is_ok() && !adapter_required() => return Ok(None),
            Choice::Auto => Engine::default(),
            Choice::Gpu(engine) => engine,
        };
        gpu.refuse_for_others(&[engine])?;
        let adapter = if choice == Choice::Auto {
            match adapter_or_cpu(gpu, quiet)? {
                Some(adapter) => adapter,
                None => return Ok(Some(Self::cpu_since(NO_ADAPTER))),
            }
        } else {
            adapter(gpu)?
        };
        gpu.warn_of_another_adapter(&adapter.get_info(), quiet);
        let options = seed.apply(gpu.options(engine));
        Ok(Some(Self::gpu(options, cache.directory(), &adapter)?))
    }

    /// Opens the engine that takes the least time for `count` keys, the start of a GPU included.
    ///
    /// Adapters are listed only if a GPU would be faster.
    pub fn fastest(count: u64, key: KeyType, cache: &Cache, quiet: bool) -> Self {
        let threads = rayon::current_num_threads();
        if !gpu_pays(count, key, threads) {
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
        if info.device_type == wgpu::DeviceType::Cpu {
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
        match &self.sorter {
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

    pub const fn sorter(&self) -> Option<&Sorter> {
        self.sorter.as_ref()
    }

    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Fault> {
        match &self.sorter {
            Some(sorter) => sorter.sort(keys, order)?,
            None => sort_in_parallel(keys, order),
        }
        Ok(())
    }

    /// Returns the indices that sort the keys, stably.
    ///
    /// If a GPU that `auto` chose fails, the CPU sorts instead, with a warning.
    pub fn argsort(&self, keys: &[u64]) -> Result<Vec<u32>, Fault> {
        if let Some(sorter) = self.sorter.as_ref().filter(|_| !self.has_failed()) {
            match sorter.argsort(keys, Order::Ascending) {
                Ok(indices) => return Ok(indices),
                Err(error) if self.fallback.is_some() => self.fall_back(&error),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(argsort_in_parallel(keys))
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
        if let Some(sorter) = self.sorter.as_ref().filter(|_| !self.has_failed()) {
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
                Err(Failure::Sort(error)) if self.fallback.is_some() => self.fall_back(&error),
                Err(Failure::Sort(error)) => return Err(error.into()),
                Err(Failure::Take(fault)) => return Err(fault),
            }
        }
        let started = Instant::now();
        sort_in_parallel(keys, order);
        let timings = Timings::of_cpu(started.elapsed());
        // Both engines give the same bytes, so what was taken from the GPU need not be repeated.
        take(&keys[taken..])?;
        Ok(timings)
    }

    fn has_failed(&self) -> bool {
        let failed = |fallback: &Fallback| fallback.used.load(Relaxed);
        self.fallback.as_ref().is_some_and(failed)
    }

    /// Leaves all that is left to the CPU, since the GPU failed.
    fn fall_back(&self, error: &Error) {
        if let Some(fallback) = &self.fallback {
            fallback.used.store(true, Relaxed);
            let why = format!("{}: {error}", self.adapter);
            warn_of_cpu("sorting", &why, fallback.quiet);
        }
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
    if wanted.is_some() || adapter_required() {
        return adapter_named(wanted).map(Some);
    }
    let best = adapters().into_iter().next();
    if best.is_none() {
        warn_of_cpu(work, &Error::NoAdapter, quiet);
    }
    Ok(best)
}

fn adapter_required() -> bool {
    std::env::var_os(REQUIRE_ADAPTER).is_some_and(|value| value == "1")
}

fn warn_of_cpu(work: &str, why: &dyn Display, quiet: bool) {
    if !quiet {
        notice::say(&format!("{work} on the CPU: {why}"));
    }
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

/// Returns true if a GPU, which is not open yet, sorts `count` keys sooner than the CPU.
///
/// Both times are estimates. Reading and writing files takes the same time with both.
///
/// On a host with an H200 and 16 cores, from file to file: 2^26 u32 take 0.41 s with the GPU and
/// 0.32 s with the CPU, 2^27 take 0.55 and 0.67 s, 2^28 take 0.82 and 1.2 s. The start of the GPU
/// is 0.25 s, of which 0.1 s pass while the file is read. Of the rest, the sort on the GPU is the
/// smallest part, 8 ms for 2^28: a slower GPU changes little.
fn gpu_pays(count: u64, key: KeyType, threads: usize) -> bool {
    /// Opens the device and loads compiled kernels, beside the reading of the file.
    const GPU_START: f64 = 0.15;
    /// Uploads, sorts and downloads one byte.
    const GPU_BYTE: f64 = 0.2e-9;
    /// Partitions one key once in `par_sort_unstable`.
    const CPU_PARTITION: f64 = 0.66e-9;

    let (keys, threads) = (count as f64, threads as f64);
    let bytes = keys * key.bytes() as f64;
    // One thread partitions all keys, then two threads half of them each, and so on: this takes
    // the time of 1 + 1/2 + 1/4 + ... < 2 partitions, until each thread has its own part to sort.
    let shared = 2.0 * (1.0 - 1.0 / threads);
    let own = (keys / threads).max(1.0).log2() / threads;
    keys * (shared + own) * CPU_PARTITION > GPU_START + bytes * GPU_BYTE
}

/// Sorts on one thread.
fn sort_on_cpu<T: SortKey>(keys: &mut [T], order: Order) {
    match order {
        Order::Ascending => keys.sort_unstable_by(T::total_order),
        Order::Descending => keys.sort_unstable_by(|a, b| b.total_order(a)),
    }
}

/// Sorts on all cores. The result is the same bytes as that of [`sort_on_cpu`], since equal keys
/// are identical.
fn sort_in_parallel<T: SortKey>(keys: &mut [T], order: Order) {
    /// Fewer keys take less than about 1 ms on one thread.
    const WORTH_THREADS: usize = 1 << 16;

    // On one thread, the sort of the standard library is faster than rayon's.
    if keys.len() < WORTH_THREADS || rayon::current_num_threads() == 1 {
        return sort_on_cpu(keys, order);
    }
    // Floats as integers in the same order: 1.23 to 1.25 times as fast as with `total_cmp`, which
    // makes the same integers in every comparison. The mapping is its own inverse.
    match T::KEY_TYPE {
        KeyType::F32 => sort_mapped(bytemuck::cast_slice_mut::<T, i32>(keys), order, |bits| {
            bits ^ ((bits >> 31) & i32::MAX)
        }),
        KeyType::F64 => sort_mapped(bytemuck::cast_slice_mut::<T, i64>(keys), order, |bits| {
            bits ^ ((bits >> 63) & i64::MAX)
        }),
        _ => sort_by_total_order(keys, order),
    }
}

fn argsort_in_parallel(keys: &[u64]) -> Vec<u32> {
    // Sorting the keys beside their indices is faster than looking a key up in each comparison.
    let indices = 0..keys.len() as u32;
    let mut pairs: Vec<(u64, u32)> = keys.par_iter().copied().zip(indices).collect();
    if rayon::current_num_threads() == 1 {
        pairs.sort_unstable();
    } else {
        pairs.par_sort_unstable();
    }
    pairs.into_par_iter().map(|(_, index)| index).collect()
}

fn sort_mapped<B: SortKey>(keys: &mut [B], order: Order, map: impl Fn(B) -> B + Sync) {
    let map_all = |keys: &mut [B]| keys.par_iter_mut().for_each(|key| *key = map(*key));
    map_all(keys);
    sort_by_total_order(keys, order);
    map_all(keys);
}

fn sort_by_total_order<T: SortKey>(keys: &mut [T], order: Order) {
    match order {
        Order::Ascending => keys.par_sort_unstable_by(T::total_order),
        Order::Descending => keys.par_sort_unstable_by(|a, b| b.total_order(a)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [KeyType; 2] = [KeyType::U32, KeyType::F64];

    #[test]
    fn the_cpu_sorts_few_keys_and_the_gpu_many() {
        for key in KEYS {
            for threads in [1, 2, 16, 1024] {
                assert!(!gpu_pays(0, key, threads) && !gpu_pays(1 << 16, key, threads));
            }
            assert!(gpu_pays(1 << 27, key, 1) && gpu_pays(u64::MAX, key, 1));
        }
    }

    #[test]
    fn the_gpu_pays_for_more_keys_or_fewer_threads() {
        for key in KEYS {
            for threads in 1..200 {
                let pays = |shift: u32| gpu_pays(1 << shift, key, threads);
                for shift in 0..60 {
                    assert!(!pays(shift) || pays(shift + 1), "2^{shift}, {threads}");
                    let fewer = gpu_pays(1 << shift, key, threads.div_ceil(2));
                    assert!(!pays(shift) || fewer, "2^{shift}, {threads}");
                }
            }
        }
    }

    #[test]
    fn software_and_missing_adapters_leave_the_sort_to_the_cpu() {
        let none = Contender::gpu_or_cpu(None, None, true);
        assert_eq!(
            none.explain(9, KeyType::U32),
            "cpu (auto: no GPU adapter found)"
        );
        let is_software =
            |adapter: &&wgpu::Adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        for adapter in adapters().iter().filter(is_software) {
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
            assert!(contender.has_failed());
            assert_eq!(contender.argsort(&[3, 1, 2, 1]).unwrap(), [1, 3, 2, 0]);
        }
    }

    #[test]
    fn the_parallel_sort_gives_the_bytes_of_the_sequential_one() {
        fn compare<T: SortKey>() {
            let mut state = 1_u64;
            let keys: Vec<T> = (0..200_000)
                .map(|index| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    // Duplicates, zeros of both signs and NaNs too.
                    let low = [0, 1 << 31, 1 << 63, u64::MAX][index % 4];
                    T::from_bits64(if index % 3 == 0 {
                        low
                    } else {
                        state.rotate_left(32)
                    })
                })
                .collect();
            for order in [Order::Ascending, Order::Descending] {
                let (mut parallel, mut expected) = (keys.clone(), keys.clone());
                sort_in_parallel(&mut parallel, order);
                sort_on_cpu(&mut expected, order);
                let bits = |keys: Vec<T>| -> Vec<u64> {
                    keys.into_iter().map(SortKey::to_bits64).collect()
                };
                assert!(
                    bits(parallel) == bits(expected),
                    "{} {}",
                    T::KEY_TYPE,
                    order.name()
                );
            }
        }
        compare::<u32>();
        compare::<i32>();
        compare::<f32>();
        compare::<u64>();
        compare::<i64>();
        compare::<f64>();
    }
}
