//! The public sorter: job -> plan -> recording -> executor. This file sorts GPU buffers, and `host`
//! slices in host memory.

mod compact;
mod histogram;
mod host;
mod is_sorted;
mod job;
mod kept;
#[cfg(not(target_arch = "wasm32"))]
mod multi;
mod prepared;
mod ranges;
mod top_k;
mod transfers;
mod warm_up;

pub use compact::CompactJob;
pub use histogram::HistogramJob;
pub use job::{Keys, Payload, Runs, Scratch, SortJob};
#[cfg(not(target_arch = "wasm32"))]
pub use multi::MultiSorter;
pub use prepared::PreparedSort;
pub use top_k::TopKJob;

use crate::engine::Engine;
use crate::error::Error;
use crate::gpu::adapter::{adapters_async, planner};
use crate::gpu::binding::{self, BufferRange};
use crate::gpu::calls;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::prepared::{BufferSet, Prepared};
use crate::gpu::transfer::Staging;
use crate::job::BufferSort;
use crate::key::KeyType;
use crate::options::Options;
use crate::planner::Planner;
use crate::recording::{Buffer, Recording};
use crate::samplesort::Tuning;
use kept::Kept;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sorts host slices and GPU buffers on one device. Make a sorter once and keep it: it holds the
/// compiled kernels and scratch memory.
///
/// One call sorts a host slice ([`sort`](Self::sort), [`argsort`](Self::argsort),
/// [`sort_by_key`](Self::sort_by_key), [`sort_by`](Self::sort_by)). For GPU buffers describe the
/// sort by a [`SortJob`], [prepare](SortJob::prepare) it once, and record or run it any number of
/// times.
///
/// Threads can share a sorter. Each sort has its own scratch memory. The sorter keeps the buffers
/// of the last host slice for the next one, and frees them when it is dropped: GPU memory, as much
/// host memory as the longest slice that was sorted in place, and up to 208 MiB of pinned host
/// memory for transfers.
///
/// The first sort that needs a kernel takes longer, because it compiles it, on several threads.
/// [`warm_up`](Self::warm_up) compiles in advance, and
/// [`with_pipeline_cache`](Self::with_pipeline_cache) keeps compiled kernels for the next run of
/// the program. All key types of one width share kernels, in both orders.
///
/// # Examples
///
/// Keys in host memory, on the best adapter:
///
/// ```
/// use wgpu_bcfsort::{Options, Order, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let mut keys = [3.5_f32, -1.0, f32::INFINITY, 0.25];
/// sorter.sort(&mut keys, Order::Ascending)?;
/// assert_eq!(keys, [-1.0, 0.25, 3.5, f32::INFINITY]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Sorter {
    device: wgpu::Device,
    queue: wgpu::Queue,
    planner: Planner,
    /// Shared by the sorters that [`with_options`](Self::with_options) makes.
    pipelines: Arc<Pipelines>,
    /// What the sorts of earlier host slices leave to the next one.
    kept: Kept,
    /// The staging buffers of earlier transfers, for later ones.
    staging: Staging,
}

impl Sorter {
    /// Makes a sorter on your device. Compiles nothing yet and allocates no GPU memory.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`] if a limit of the device is below what the kernels need: request
    /// [`requirements`](crate::requirements). [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu_bcfsort::{Options, Sorter, adapters, requirements};
    /// let adapter = adapters().into_iter().next().ok_or("no adapter")?;
    /// let needs = requirements(&adapter)?;
    /// let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
    ///     required_features: needs.features,
    ///     required_limits: needs.limits,
    ///     ..Default::default()
    /// }))?;
    /// let sorter = Sorter::new(&device, &queue, Options::default())?;
    /// # Ok(()) }
    /// ```
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: Options,
    ) -> Result<Self, Error> {
        Ok(Self {
            planner: planner(device, options)?,
            device: device.clone(),
            queue: queue.clone(),
            pipelines: Arc::default(),
            kept: Kept::default(),
            staging: Staging::default(),
        })
    }

    /// Opens a device with the [`requirements`](crate::requirements), and makes a sorter on it.
    /// Opening takes longer than most sorts, so keep the sorter.
    ///
    /// The adapter is [`Options::adapter`]: by default the best, the first of
    /// [`adapters`](crate::adapters). All devices on these adapters belong to
    /// [one `wgpu::Instance`](crate::adapters#what-is-process-wide), the only process-wide state.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`], [`Error::AdapterTooSmall`], [`Error::RequestDevice`],
    /// [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{Engine, Options, Sorter};
    /// let sorter = Sorter::open(Options::default().engine(Engine::BcfMergesort))?;
    /// println!("sorting on {}", sorter.device().adapter_info().name);
    /// # Ok(()) }
    /// ```
    pub fn open(options: Options) -> Result<Self, Error> {
        pollster::block_on(Self::open_async(options))
    }

    /// The async version of [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    ///
    /// # Examples
    ///
    /// See [`sort_async`](Self::sort_async).
    pub async fn open_async(mut options: Options) -> Result<Self, Error> {
        let mut adapter = options.adapter.take();
        if adapter.is_none() {
            adapter = adapters_async().await.into_iter().next();
        }
        let (device, queue) = calls::open(&adapter.ok_or(Error::NoAdapter)?).await?;
        Self::new(&device, &queue, options)
    }

    /// Makes a sorter with other options on the same device. Both sorters share compiled kernels.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{Engine, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let plain = sorter.with_options(Options::default().engine(Engine::BcfMergesort))?;
    /// # Ok(()) }
    /// ```
    pub fn with_options(&self, options: Options) -> Result<Self, Error> {
        let mut sorter = Self::new(&self.device, &self.queue, options)?;
        sorter.pipelines = self.pipelines.clone();
        Ok(sorter)
    }

    /// Compiles kernels through your pipeline cache, so that a program can store compiled kernels
    /// in a file and load them in its next run.
    ///
    /// The cache stores all kernels that this sorter, and every sorter made from it by
    /// [`with_options`](Self::with_options), compiles from now on. Several sorters of one device
    /// may share a cache.
    ///
    /// wgpu has pipeline caches on Vulkan, with [`wgpu::Features::PIPELINE_CACHE`]. A device that
    /// this crate opens has the feature if the adapter has it. For your own device,
    /// [`requirements`](crate::requirements) includes it. Many drivers also keep their own cache;
    /// with these there is little to gain.
    ///
    /// Your program must
    ///
    /// - create the cache by [`wgpu::Device::create_pipeline_cache`]. That is unsafe, because
    ///   drivers trust the data. Pass only data that [`wgpu::PipelineCache::get_data`] returned,
    ///   and store it where nobody else can write.
    /// - store the data of each adapter separately, under its [`wgpu::util::pipeline_cache_key`].
    ///   wgpu refuses data of another adapter. With `fallback` it ignores data of another driver
    ///   version.
    /// - get the data, by [`wgpu::PipelineCache::get_data`], after all sorts that the program needs
    ///   have been prepared or have run. Kernels depend on the width of the keys, the length, the
    ///   payload, the comparator and its order, and the tuning.
    ///
    /// With a cache of another device, every call that compiles a kernel fails with
    /// [`Error::Device`]. wgpu does not detect a cache of another [`wgpu::Instance`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::path::Path;
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    ///
    /// /// A sorter that keeps what it compiles in a directory to which this program alone writes.
    /// fn open(directory: &Path) -> Result<Sorter, Box<dyn std::error::Error>> {
    ///     let sorter = Sorter::open(Options::default())?;
    ///     let device = sorter.device();
    ///     if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
    ///         return Ok(sorter);
    ///     }
    ///     let key = wgpu::util::pipeline_cache_key(&device.adapter_info()).ok_or("no key")?;
    ///     let file = directory.join(key);
    ///     let data = std::fs::read(&file).ok();
    ///     // SAFETY: nobody else writes to the directory, and this program writes to the file,
    ///     // below, only what `get_data` returned, and all of it.
    ///     let cache = unsafe {
    ///         device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
    ///             label: Some("sorter"),
    ///             data: data.as_deref(),
    ///             fallback: true,
    ///         })
    ///     };
    ///     let sorter = sorter.with_pipeline_cache(&cache);
    ///     // Run each sort of the program once: here, of a few words.
    ///     sorter.sort(&mut [2_u32, 1], Order::Ascending)?;
    ///     if let Some(data) = cache.get_data() {
    ///         // Write to a file of this process only, and rename it when it is complete.
    ///         let whole = file.with_extension(std::process::id().to_string());
    ///         std::fs::write(&whole, data)?;
    ///         std::fs::rename(&whole, &file)?;
    ///     }
    ///     Ok(sorter)
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # // Made here, so nobody else has written to it. The second time there is a file.
    /// # let name = format!("bcfsort-cache-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// # std::fs::create_dir(&directory)?;
    /// # for _ in 0..2 {
    /// let mut keys = [8_u32, 6, 6, 5, 3, 0, 9];
    /// open(&directory)?.sort(&mut keys, Order::Ascending)?;
    /// assert_eq!(keys, [0, 3, 5, 6, 6, 8, 9]);
    /// # }
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_pipeline_cache(mut self, cache: &wgpu::PipelineCache) -> Self {
        self.pipelines = Arc::new(Pipelines::through(cache.clone()));
        // Its kernels did not come through the cache.
        self.kept = Kept::default();
        self
    }

    /// Returns the device of this sorter.
    #[must_use]
    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Returns the queue of this sorter.
    #[must_use]
    pub const fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Returns the maximum number of keys of a type in one sort of GPU buffers. Host slices may be
    /// longer.
    ///
    /// The keys must fit one buffer and one binding of the device, and their number is at most
    /// 2^32 - 16384. Packed keys count as 4 bytes each, their size in scratch memory. Payload and
    /// structs must fit one binding, too.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{KeyType, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let limits = sorter.device().limits();
    /// let most = sorter.max_len(KeyType::F64);
    /// assert!(most * 8 <= limits.max_storage_buffer_binding_size);
    /// assert!(most <= sorter.max_len(KeyType::F32));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub const fn max_len(&self, key: KeyType) -> u64 {
        self.planner.max_len(key)
    }

    /// Prepares a recording, with its own or shared scratch memory.
    pub(crate) fn prepare_recording(
        &self,
        recording: Recording,
        user_buffers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        scratch: Option<&Scratch>,
    ) -> Result<PreparedSort, Error> {
        let Some(scratch) = scratch else {
            return self.ready(recording, user_buffers, BufferSet::new());
        };
        let mut shared = scratch.buffers();
        let sort = self.ready(recording, user_buffers, shared.clone())?;
        shared.clone_from(&sort.0.buffers);
        Ok(sort)
    }

    /// Prepares a sort. Reuses the scratch buffers of `pool` that are large enough.
    fn prepare_with(
        &self,
        job: &BufferSort<BufferRange<'_>>,
        pool: BufferSet,
    ) -> Result<PreparedSort, Error> {
        let recording = self.planner.record(job)?;
        self.ready(recording, &binding::bind_all(job)?, pool)
    }

    fn ready(
        &self,
        recording: Recording,
        user_buffers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        pool: BufferSet,
    ) -> Result<PreparedSort, Error> {
        let keys = self.planner.limits.keys_per_dispatch;
        let device = (&self.device, &self.queue);
        Prepared::new(device, &self.pipelines, recording, user_buffers, pool, keys)
            .map(PreparedSort)
    }

    /// Returns the tile sizes of the sample sort: [`Options::tuning`], or the defaults for this
    /// device.
    ///
    /// # Examples
    ///
    /// A sorter with another tile size, to compare the speed:
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{Engine, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut tuning = sorter.tuning();
    /// tuning.tile = 2048;
    /// let options = Options::default().engine(Engine::SampleSort).tuning(tuning);
    /// let other = sorter.with_options(options)?;
    /// assert_eq!(other.tuning().tile, 2048);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn tuning(&self) -> Tuning {
        self.planner.tuning()
    }

    /// What plans on this device.
    pub(crate) const fn planner(&self) -> &Planner {
        &self.planner
    }

    /// The state that prefix sums share with the sorter.
    pub(crate) fn shared(&self) -> (Planner, Arc<Pipelines>) {
        (self.planner.clone(), self.pipelines.clone())
    }

    /// Returns the engine that sorts `len` keys alone in ascending order: [`Options::engine`], or
    /// the engine that [`Engine::Auto`] chooses by the device, the length and the key type.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{Engine, KeyType, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// assert_ne!(sorter.engine(1000, KeyType::U32), Engine::Auto);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn engine(&self, len: u64, key: KeyType) -> Engine {
        self.planner.engine(len, key)
    }
}
