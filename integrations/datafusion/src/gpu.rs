//! The GPU that sorts share.

use crate::options::{BcfsortOptions, OnError, Switch};
use bcfsort_keys::{Argsort, Cpu};
use log::{info, warn};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wgpu_bcfsort::wgpu::{Adapter, DeviceType};
use wgpu_bcfsort::{Error, Options, Order, Sorter, adapters};

/// A GPU that the sorts of a process take turns on. It is opened when the first sort needs it.
///
/// [`GpuSortRule::default`](crate::GpuSortRule) takes the one of the process. Another one is for
/// programs that have a device of their own, or choose the adapter themselves.
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
pub struct GpuPool {
    state: Mutex<State>,
    /// How it is called, and whether it is a software adapter.
    name: String,
    is_software: bool,
    /// One sort at a time: two would need twice the memory, and be no faster.
    turns: Arc<Semaphore>,
}

enum State {
    Closed(Adapter),
    Open(Arc<Sorter>),
    Failed,
}

impl std::fmt::Debug for GpuPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuPool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The adapters of this machine: asked for once, since some drivers take a second to answer.
static ADAPTERS: LazyLock<Vec<Adapter>> = LazyLock::new(adapters);

/// The process's pools, by the adapter that was asked for.
static POOLS: OnceLock<Mutex<HashMap<String, Option<Arc<GpuPool>>>>> = OnceLock::new();

impl GpuPool {
    /// A pool of this sorter's device.
    #[must_use]
    pub fn of_sorter(sorter: Sorter) -> Self {
        let info = sorter.device().adapter_info();
        Self::new(
            info.name.clone(),
            info.device_type == DeviceType::Cpu,
            State::Open(Arc::new(sorter)),
        )
    }

    fn new(name: String, is_software: bool, state: State) -> Self {
        Self {
            state: Mutex::new(state),
            name,
            is_software,
            turns: Arc::new(Semaphore::new(1)),
        }
    }

    /// The process's pool for these options, or why there is none.
    pub(crate) fn shared(options: &BcfsortOptions) -> Result<Arc<Self>, String> {
        let pools = POOLS.get_or_init(Mutex::default);
        let mut pools = lock(pools);
        let pool = pools.entry(options.adapter.clone()).or_insert_with(|| {
            let adapter = match options.adapter.parse::<usize>() {
                Ok(number) => ADAPTERS.get(number)?,
                Err(_) => {
                    let wanted = options.adapter.to_lowercase();
                    let name = |adapter: &Adapter| adapter.get_info().name.to_lowercase();
                    ADAPTERS.iter().find(|a| name(a).contains(&wanted))?
                }
            };
            let info = adapter.get_info();
            let is_software = info.device_type == DeviceType::Cpu;
            let state = State::Closed(adapter.clone());
            Some(Arc::new(Self::new(info.name, is_software, state)))
        });
        let Some(pool) = pool else {
            if ADAPTERS.is_empty() {
                return Err("there is no GPU adapter".to_owned());
            }
            let name = |(number, adapter): (usize, &Adapter)| {
                format!("{number}: {}", adapter.get_info().name)
            };
            let names: Vec<String> = ADAPTERS.iter().enumerate().map(name).collect();
            let (wanted, names) = (&options.adapter, names.join(", "));
            return Err(format!("no adapter is {wanted:?}: there are {names}"));
        };
        pool.check(options)?;
        Ok(pool.clone())
    }

    /// Whether sorts may use it, or why not.
    pub(crate) fn check(&self, options: &BcfsortOptions) -> Result<(), String> {
        if self.is_software && options.enabled != Switch::Always {
            let name = &self.name;
            return Err(format!(
                "{name} is a software adapter, and bcfsort.enabled is auto"
            ));
        }
        match *lock(&self.state) {
            State::Failed if options.on_error == OnError::Cpu => Err(self.failed_before()),
            _ => Ok(()),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn failed_before(&self) -> String {
        format!("{} failed before", self.name)
    }

    /// Waits for this sort's turn.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.turns.clone().acquire_owned().await.ok()
    }

    /// The open sorter, or why there is none.
    fn sorter(&self) -> Result<Arc<Sorter>, Failure> {
        let mut state = lock(&self.state);
        match &*state {
            State::Open(sorter) => Ok(sorter.clone()),
            State::Failed => Err(Failure::Known),
            State::Closed(adapter) => {
                let begin = Instant::now();
                match Sorter::open(Options::default().adapter(adapter)) {
                    Ok(sorter) => {
                        info!("opened {} in {:?}", self.name, begin.elapsed());
                        let sorter = Arc::new(sorter);
                        *state = State::Open(sorter.clone());
                        Ok(sorter)
                    }
                    Err(error) => {
                        *state = State::Failed;
                        Err(Failure::New(error))
                    }
                }
            }
        }
    }

    fn argsort<T: wgpu_bcfsort::SortKey>(&self, keys: &[T]) -> Result<Vec<u32>, Failure> {
        let sorted = self.sorter()?.argsort(keys, Order::Ascending);
        sorted.map_err(|error| {
            // After any other error the device can be used again.
            if matches!(error, Error::DeviceLost(_)) {
                *lock(&self.state) = State::Failed;
            }
            Failure::New(error)
        })
    }
}

enum Failure {
    New(Error),
    /// It was reported when it happened.
    Known,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What it protects is replaced as a whole: a panic leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sorts on the GPU, or on the CPU where that is faster or the GPU fails.
pub(crate) struct OnGpu<'a> {
    pub(crate) pool: &'a GpuPool,
    pub(crate) options: &'a BcfsortOptions,
    pub(crate) work: Mutex<Work>,
}

/// What the sorts of keys took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) gpu_keys: usize,
    pub(crate) cpu_keys: usize,
    pub(crate) failures: usize,
    pub(crate) on_gpu: Duration,
    pub(crate) on_cpu: Duration,
}

impl OnGpu<'_> {
    pub(crate) fn work(&self) -> Work {
        *lock(&self.work)
    }

    fn sort<T: wgpu_bcfsort::SortKey>(
        &self,
        keys: &[T],
        cpu: impl Fn(&[T]) -> Vec<u32>,
    ) -> Result<Vec<u32>, Error> {
        let begin = Instant::now();
        let mut work = Work::default();
        let sorted = if keys.len() < self.options.min_rows {
            None
        } else {
            match self.pool.argsort(keys) {
                Ok(indices) => Some(indices),
                Err(failure) if self.options.on_error == OnError::Fail => {
                    return Err(match failure {
                        Failure::New(error) => error,
                        Failure::Known => Error::DeviceLost(self.pool.failed_before()),
                    });
                }
                Err(failure) => {
                    work.failures = 1;
                    if let Failure::New(error) = failure {
                        let name = &self.pool.name;
                        warn!(
                            "{name} failed, {} rows are sorted on the CPU: {error}",
                            keys.len()
                        );
                    }
                    None
                }
            }
        };
        let indices = match sorted {
            Some(indices) => {
                work.gpu_keys = keys.len();
                work.on_gpu = begin.elapsed();
                indices
            }
            None => {
                work.on_gpu = begin.elapsed();
                work.cpu_keys = keys.len();
                let indices = cpu(keys);
                work.on_cpu = begin.elapsed() - work.on_gpu;
                indices
            }
        };
        let mut sum = lock(&self.work);
        sum.gpu_keys += work.gpu_keys;
        sum.cpu_keys += work.cpu_keys;
        sum.failures += work.failures;
        sum.on_gpu += work.on_gpu;
        sum.on_cpu += work.on_cpu;
        Ok(indices)
    }
}

impl Argsort for OnGpu<'_> {
    type Error = Error;

    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Error> {
        self.sort(keys, |keys| {
            let Ok(indices) = Cpu.argsort_u32(keys);
            indices
        })
    }

    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Error> {
        self.sort(keys, |keys| {
            let Ok(indices) = Cpu.argsort_u64(keys);
            indices
        })
    }
}
