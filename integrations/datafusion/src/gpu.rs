//! The GPU that sorts share.

use crate::options::BcfsortOptions;
use bcfsort_auto::model::{Call, Gpu};
use bcfsort_auto::{AutoSorter, Device, Error, NoDevice, Place, device};
use bcfsort_keys::{Argsort, SortKeys};
use datafusion_common::DataFusionError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wgpu_bcfsort::wgpu::Adapter;
use wgpu_bcfsort::{KeyType, Order, SortKey, Sorter};

/// One or several GPUs, on which the sorts of a process take turns. They are opened when the first
/// sort needs them.
///
/// [`GpuSortRule::default`](crate::GpuSortRule) uses the process's pool for the option
/// `bcfsort.device`. Other pools are for programs that have a device of their own.
///
/// A device that is lost is not opened again: all later sorts of its pool are done on the CPU.
///
/// # Examples
///
/// ```
/// use bcfsort_datafusion::{GpuPool, GpuSortRule};
/// use std::sync::Arc;
/// use wgpu_bcfsort::{Options, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let pool = GpuPool::of_sorter(Sorter::open(Options::default())?);
/// let rule = GpuSortRule::with_pool(Arc::new(pool));
/// # let _ = rule;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct GpuPool {
    sorter: AutoSorter,
    /// One sort at a time: two would need twice the memory, and be no faster.
    turns: Arc<Semaphore>,
}

/// The process's pools and their adapters: all names of a GPU share one pool.
static POOLS: Mutex<Vec<(Vec<Adapter>, Arc<GpuPool>)>> = Mutex::new(Vec::new());

impl GpuPool {
    /// A pool of this sorter's device.
    #[must_use]
    pub fn of_sorter(sorter: Sorter) -> Self {
        Self::new(AutoSorter::of_sorter(sorter))
    }

    fn new(sorter: AutoSorter) -> Self {
        let turns = Arc::new(Semaphore::new(1));
        Self { sorter, turns }
    }

    /// Returns the process's pool for a device. For [`Device::Auto`], it has the best adapter.
    ///
    /// # Errors
    ///
    /// The device does not exist. [`Device::Auto`] and [`Device::Cpu`] need no adapter.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_datafusion::{Device, GpuPool};
    /// use std::sync::Arc;
    /// # fn main() -> Result<(), bcfsort_datafusion::NoDevice> {
    /// let best = GpuPool::of_device(&Device::Gpu)?;
    /// let first = GpuPool::of_device(&Device::Named("0".to_owned()))?;
    /// assert!(Arc::ptr_eq(&best, &first));
    /// # Ok(()) }
    /// ```
    pub fn of_device(device: &Device) -> Result<Arc<Self>, NoDevice> {
        let mut adapters = device.among(device::adapters())?;
        if *device == Device::Auto {
            adapters.truncate(1);
        }
        let mut pools = lock(&POOLS);
        if let Some((_, pool)) = pools.iter().find(|(others, _)| *others == adapters) {
            return Ok(pool.clone());
        }
        let pool = Arc::new(Self::new(AutoSorter::of_adapters(adapters.clone())));
        pools.push((adapters, pool.clone()));
        Ok(pool)
    }

    /// The sorter for these options.
    pub(crate) fn sorter(&self, options: &BcfsortOptions) -> AutoSorter {
        let sorter = self.sorter.clone().with_device(options.device());
        sorter.on_error(options.on_error.into())
    }

    /// The reason why even the largest sort stays on the CPU, or None if the GPU does it.
    pub(crate) fn reason(
        &self,
        key: KeyType,
        options: &BcfsortOptions,
    ) -> Result<Option<String>, Error> {
        let sorter = self.sorter(options);
        let choice = sorter.choose(u32::MAX.into(), key, bcfsort_auto::Work::Argsort)?;
        Ok((!choice.on_gpu).then_some(choice.reason))
    }

    /// Waits for this sort's turn.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.turns.clone().acquire_owned().await.ok()
    }
}

/// Whether the CPU sorts this number of rows faster than an open GPU.
pub(crate) fn is_slower_on_gpu(rows: usize, key: KeyType) -> bool {
    let estimate = Call::new(rows as u64, key, bcfsort_auto::Work::Argsort).estimate(Gpu::Open);
    estimate.cpu <= estimate.gpu
}

/// Converts an error of a sort to DataFusion's.
pub(crate) fn failed(error: impl Into<Error>) -> DataFusionError {
    match error.into() {
        Error::NoDevice(error) => {
            DataFusionError::Configuration(format!("bcfsort.device: {error}"))
        }
        error => DataFusionError::External(Box::new(error)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent even after a panic, so a poisoned lock can be used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sorts keys on the device that the sorter chooses, and measures the time.
pub(crate) struct OnGpu {
    sorter: AutoSorter,
    work: Mutex<Work>,
}

/// The keys that were sorted on the GPU and on the CPU, and the time of each.
#[derive(Clone, Default)]
pub(crate) struct Work {
    /// The GPU that sorted, if one did.
    pub(crate) gpu: Option<String>,
    pub(crate) gpu_keys: usize,
    pub(crate) cpu_keys: usize,
    pub(crate) failures: usize,
    pub(crate) on_gpu: Duration,
    pub(crate) on_cpu: Duration,
}

impl OnGpu {
    pub(crate) fn new(sorter: AutoSorter) -> Self {
        let work = Mutex::default();
        Self { sorter, work }
    }

    pub(crate) fn work(&self) -> Work {
        lock(&self.work).clone()
    }

    fn argsort<T: SortKey>(&self, keys: &[T]) -> Result<Vec<u32>, Error> {
        let begin = Instant::now();
        let (indices, place) = self.sorter.argsort_placed(keys, Order::Ascending)?;
        self.add(keys.len(), place, begin.elapsed());
        Ok(indices)
    }

    fn sort<T: SortKey>(&self, keys: &mut [T]) -> Result<(), Error> {
        let begin = Instant::now();
        let place = self.sorter.sort_placed(keys, Order::Ascending)?;
        self.add(keys.len(), place, begin.elapsed());
        Ok(())
    }

    fn add(&self, keys: usize, place: Place, time: Duration) {
        let mut work = lock(&self.work);
        if let Place::Gpu(name) = place {
            work.gpu = Some(name);
            work.gpu_keys += keys;
            work.on_gpu += time;
        } else {
            work.failures += usize::from(place == Place::CpuAfterFailure);
            work.cpu_keys += keys;
            work.on_cpu += time;
        }
    }
}

impl Argsort for OnGpu {
    type Error = Error;

    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Error> {
        self.argsort(keys)
    }

    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Error> {
        self.argsort(keys)
    }

    fn is_on_gpu(&self, len: usize) -> bool {
        let work = bcfsort_auto::Work::Argsort;
        let choice = self.sorter.choose(len as u64, KeyType::U64, work);
        choice.is_ok_and(|choice| choice.on_gpu)
    }
}

impl SortKeys for OnGpu {
    fn sort_u32(&self, keys: &mut [u32]) -> Result<(), Error> {
        self.sort(keys)
    }

    fn sort_u64(&self, keys: &mut [u64]) -> Result<(), Error> {
        self.sort(keys)
    }
}
