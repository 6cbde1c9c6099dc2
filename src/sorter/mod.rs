//! The public sorter: keys -> plan -> recording -> executor. Here for GPU buffers; slices of host
//! memory are in `host`.

mod engine;
mod host;
mod is_sorted;
mod job;
mod prepared;
mod transfers;
mod warm_up;

pub use job::{Field, Keys, Payload, Scratch, Segmented, SegmentedSortJob, SortJob, Whole};
pub use prepared::PreparedSort;

use engine::{Records, choose};
use job::Job;

use crate::gpu::adapter::{DeviceKind, adapters_async, check_limits, device_limits};
use crate::gpu::binding::check_bound;
use crate::gpu::calls;
use crate::gpu::executor::BufferSet;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::ready::Ready;
use crate::layout::{self, SortLayout, Strategy};
use crate::plan::DeviceLimits;
use crate::recording::{Buffer, Recording};
use crate::{BufferRole, Engine, Error, KeyType, Options, Order, Tuning, phases, plan};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Sorts host slices and GPU buffers on one device. Make it once and keep it: it holds the compiled
/// kernels and scratch memory.
///
/// Host slices are sorted by one call ([`sort`](Self::sort), [`argsort`](Self::argsort),
/// [`sort_by_key`](Self::sort_by_key), [`sort_by`](Self::sort_by)). GPU buffers are described by a
/// [`SortJob`], [prepared](Self::prepare) once, and then recorded or run any number of times.
///
/// Threads can share a sorter; each sort has scratch memory of its own. It keeps the buffers of the
/// last host slice for the next one, and frees them when it is dropped.
///
/// The first sort of a kind takes longer, as its kernels are compiled, several at a time:
/// [`warm_up`](Self::warm_up) compiles in advance, and
/// [`with_pipeline_cache`](Self::with_pipeline_cache) keeps compiled kernels for the next run of
/// the program. The same kernels sort keys of all types of a width, in either order.
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
    options: Options,
    limits: DeviceLimits,
    kind: DeviceKind,
    /// Shared by the sorters that [`with_options`](Self::with_options) makes.
    pipelines: Arc<Pipelines>,
    /// Scratch buffers of the last sort, for the next one.
    pool: Mutex<BufferSet>,
    /// The buffer of the last host slice, for the next one.
    host_keys: Mutex<Option<wgpu::Buffer>>,
    /// That of its indices.
    host_indices: Mutex<Option<wgpu::Buffer>>,
}

impl Sorter {
    /// Makes a sorter on a device of yours. Nothing is compiled yet, and no memory taken.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`] if the device's limits are below what the kernels need (ask for
    /// [`requirements`](crate::requirements)); [`Error::InvalidOption`].
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
        options.validate()?;
        check_limits(&device.limits())?;
        Ok(Self {
            limits: device_limits(device, &options),
            kind: DeviceKind::of(device),
            device: device.clone(),
            queue: queue.clone(),
            options,
            pipelines: Arc::default(),
            pool: Mutex::default(),
            host_keys: Mutex::default(),
            host_indices: Mutex::default(),
        })
    }

    /// Opens a device on the best adapter, the first of [`adapters`](crate::adapters), and makes a
    /// sorter on it. It takes longer than most sorts: keep the sorter.
    ///
    /// All devices that are opened so belong to
    /// [one instance](crate::adapters#what-is-process-wide), which is all that is process-wide.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`], [`Error::RequestDevice`], [`Error::InvalidOption`].
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

    /// [`open`](Self::open), as a future.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    ///
    /// # Examples
    ///
    /// See [`sort_async`](Self::sort_async).
    pub async fn open_async(options: Options) -> Result<Self, Error> {
        let adapters = adapters_async().await;
        Self::on_adapter_async(adapters.first().ok_or(Error::NoAdapter)?, options).await
    }

    /// Opens a device on an adapter, one of [`adapters`](crate::adapters) or of an instance of
    /// yours, and makes a sorter on it. The device has the
    /// [`requirements`](crate::requirements).
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`], [`Error::RequestDevice`], [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// See [`adapters`](crate::adapters).
    pub fn on_adapter(adapter: &wgpu::Adapter, options: Options) -> Result<Self, Error> {
        pollster::block_on(Self::on_adapter_async(adapter, options))
    }

    /// [`on_adapter`](Self::on_adapter), as a future.
    ///
    /// # Errors
    ///
    /// Those of [`on_adapter`](Self::on_adapter).
    pub async fn on_adapter_async(
        adapter: &wgpu::Adapter,
        options: Options,
    ) -> Result<Self, Error> {
        let (device, queue) = calls::open(adapter).await?;
        Self::new(&device, &queue, options)
    }

    /// Makes a sorter with other options on the same device. Both share the compiled kernels.
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

    /// Compiles kernels through a pipeline cache of yours: what the driver makes of them can be
    /// kept in a file, and the next run of the program takes it from there.
    ///
    /// The cache gets all that this sorter, and each that [`with_options`](Self::with_options)
    /// makes of it, compiles from now on. Several sorters of one device may share a cache.
    ///
    /// wgpu has such caches on Vulkan, with [`wgpu::Features::PIPELINE_CACHE`]. Devices that this
    /// crate opens have it where the adapter does; for others [`requirements`](crate::requirements)
    /// asks for it. Many drivers keep a cache of their own as well: there little is gained.
    ///
    /// You
    ///
    /// - make the cache, by [`wgpu::Device::create_pipeline_cache`]. That is unsafe, as drivers
    ///   trust the data: give it none but what [`wgpu::PipelineCache::get_data`] returned, from
    ///   where nobody else can write.
    /// - keep each adapter's data apart, by [`wgpu::util::pipeline_cache_key`]: that of another
    ///   adapter is refused. With `fallback`, that of another version of the driver is passed over.
    /// - take the data, by [`wgpu::PipelineCache::get_data`], once the sorts to come have been
    ///   prepared or have run: kernels depend on the width of the keys, the length, the payload,
    ///   the comparator and its order, and the tuning.
    ///
    /// A cache of another device is an [`Error::Device`] of whatever compiles a kernel. (wgpu
    /// cannot tell a cache of another [`wgpu::Instance`].)
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
    ///     // Whatever the program sorts, once: here, a few words.
    ///     sorter.sort(&mut [2_u32, 1], Order::Ascending)?;
    ///     if let Some(data) = cache.get_data() {
    ///         // Renamed when it is whole. The name is this process's own: another may be at it.
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
        self
    }

    /// The device it sorts on.
    #[must_use]
    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue it submits to.
    #[must_use]
    pub const fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The most keys of a type that one sort of GPU buffers takes: what one binding and one buffer
    /// hold on this device, and at most 2^32 - 16384. Host slices may be longer.
    ///
    /// Payload and structs must fit one binding, too. Packed keys count as 4 bytes each, which they
    /// take in scratch memory.
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
        self.limits.max_len(key)
    }

    /// Makes a sort of GPU buffers ready to be recorded: compiles its kernels, makes its bind
    /// groups and its scratch memory, and writes its parameters. Nothing is submitted, and the keys
    /// may be written later.
    ///
    /// Most of its time is the compiling of kernels that no sort has needed before, on several
    /// threads at once; [`warm_up`](Self::warm_up) can do that in advance. (lavapipe compiles when
    /// a kernel first runs.) Scratch memory is what [`scratch_size`](Self::scratch_size) says.
    ///
    /// The engine is [`Options::engine`] for keys alone. Payload, segments, a comparator and
    /// [`len_from`](SortJob::len_from) always take the sample sort, and many packed keys alone a
    /// counting sort.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::BindingTooLarge`], [`Error::BufferTooSmall`],
    /// [`Error::BufferUsage`] (buffers need `STORAGE`), [`Error::SameBuffer`], [`Error::Offset`],
    /// [`Error::InvalidOption`], [`Error::WorkgroupMemory`], [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`]; [`Error::Device`] for a buffer of another device of the same
    /// [`wgpu::Instance`]. (wgpu cannot tell a buffer of another instance.)
    ///
    /// # Examples
    ///
    /// A key-value sort, read back:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[8_u32, 6, 5, 3, 0, 9])?;
    /// let values = sorter.upload(&[0_u32, 1, 2, 3, 4, 5])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32), 6).values(&values);
    /// let sort = sorter.prepare(&job)?;
    /// sort.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [0, 3, 5, 6, 8, 9]);
    /// assert_eq!(sorter.download::<u32>(&values)?, [4, 3, 2, 1, 0, 5]);
    /// # Ok(()) }
    /// ```
    pub fn prepare<Kind>(&self, job: &SortJob<'_, Kind>) -> Result<PreparedSort, Error> {
        let job = &job.job;
        let Some(scratch) = job.scratch else {
            return self.prepare_with(job, BufferSet::new());
        };
        let mut shared = scratch.buffers();
        let sort = self.prepare_with(job, shared.clone())?;
        shared.clone_from(&sort.0.buffers);
        Ok(sort)
    }

    /// With the buffers of `pool` that are large enough.
    fn prepare_with(&self, job: &Job<'_>, pool: BufferSet) -> Result<PreparedSort, Error> {
        let recording = self.record(job)?;
        self.ready(recording, &job.bindings()?, pool)
    }

    fn ready(
        &self,
        recording: Recording,
        callers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        pool: BufferSet,
    ) -> Result<PreparedSort, Error> {
        let keys = self.limits.keys_per_dispatch;
        let device = (&self.device, &self.queue);
        Ready::new(device, &self.pipelines, recording, callers, pool, keys).map(PreparedSort)
    }

    /// The scratch memory of a sort in bytes: see [`SortJob`](SortJob#scratch-memory) for the
    /// bounds. It plans the sort, and does nothing on the device.
    ///
    /// The buffers are not looked at and may be too small, so that memory can be planned before
    /// they are made. (Parameters take 256 bytes more for each dispatch.)
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::BindingTooLarge`], [`Error::Offset`],
    /// [`Error::InvalidOption`], [`Error::WorkgroupMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let any = sorter.upload(&[0_u64])?;
    /// let million = SortJob::new(Keys::new(&any, KeyType::U64), 1_000_000);
    /// assert!(sorter.scratch_size(&million)? <= 9_200_000 + (16 << 20));
    /// # Ok(()) }
    /// ```
    pub fn scratch_size<Kind>(&self, job: &SortJob<'_, Kind>) -> Result<u64, Error> {
        Ok(self.record(&job.job)?.scratch_bytes())
    }

    /// Where the records of a job are, if the device can number and bind them.
    fn layout(&self, job: &Job<'_>) -> Result<(u32, SortLayout), Error> {
        let len = calls::check_len(&self.device, &self.limits, job.len, job.keys.key)?;
        let limits = self.device.limits();
        let limit = limits
            .max_storage_buffer_binding_size
            .min(limits.max_buffer_size);
        Ok((len, job.layout(limit)?))
    }

    fn record(&self, job: &Job<'_>) -> Result<Recording, Error> {
        let (len, layout) = self.layout(job)?;
        let key = job.keys.key.widened();
        let planned = layout::Job {
            ranks: job.ranks()?,
            ..self.plan(len, key, job.order, &layout)
        };
        if let Some(comparator) = &job.comparator {
            return self.fitting(layout::record_compared(
                &planned,
                comparator,
                &self.tuning(),
            ));
        }
        if planned.strategy() != Strategy::Direct {
            // Composed records may be larger than the keys.
            let words = layout.composed_words(key).max(key.words());
            let bytes = u128::from(len) * u128::from(words) * 4;
            check_bound(BufferRole::Scratch, bytes, self.limits.buffer_bytes)?;
        }
        self.record_planned(planned)
    }

    const fn plan<'a>(
        &'a self,
        len: u32,
        key: KeyType,
        order: Order,
        layout: &'a SortLayout,
    ) -> layout::Job<'a> {
        layout::Job {
            len,
            key,
            order,
            layout,
            ranks: None,
            maps_keys: true,
            counting: None,
            limits: &self.limits,
        }
    }

    /// Records a sort by the engine that is chosen for it.
    fn record_planned(&self, job: layout::Job<'_>) -> Result<Recording, Error> {
        let layout = job.layout;
        let engine = self.choice(Records {
            len: job.len,
            payload: layout.payload(),
            mapped: !job.key.map(job.order).is_identity(),
            segmented: layout.segments.is_some(),
            counted: layout.count_at.is_some(),
        });
        let tuning = self.tuning();
        let options = match engine {
            Engine::SampleSort => self.options.clone().engine(engine).tuning(tuning),
            _ => self.mergesort_options(job.len, job.key, engine)?,
        };
        let job = layout::Job {
            counting: Some(&tuning),
            maps_keys: phases::maps_keys(&options),
            ..job
        };
        self.fitting(job.record(&|recording, sort| {
            phases::record_sort_of_words(recording, sort, &options, &self.limits);
        }))
    }

    /// The tile sizes of the sample sort: those of [`Options::tuning`], or the defaults for the
    /// device, a GPU or a CPU.
    ///
    /// # Examples
    ///
    /// One of them changed, to see whether it is faster:
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
        let default = || self.kind.default_tuning();
        self.options.tuning.unwrap_or_else(default)
    }

    /// What prefix sums share with the sorter.
    pub(crate) fn shared(&self) -> (DeviceLimits, Arc<Pipelines>) {
        (self.limits, self.pipelines.clone())
    }

    /// Who sorts these records.
    fn choice(&self, records: Records) -> Engine {
        choose(self.kind, &self.options, records)
    }

    /// The options of a sort by one of the mergesorts.
    fn mergesort_options(&self, len: u32, key: KeyType, engine: Engine) -> Result<Options, Error> {
        let mut options = self.options.clone().engine(engine);
        let base_case = phases::base_case_kernel(&options);
        self.check_fits(base_case.name(), key, base_case.workgroup_bytes(key))?;
        let most = self.kind.most_default_buckets();
        options
            .mergesort
            .buckets
            .get_or_insert_with(|| plan::default_buckets(len).min(most));
        Ok(options)
    }

    /// The recording, if workgroup memory has room for its kernels.
    fn fitting(&self, recording: Recording) -> Result<Recording, Error> {
        for step in &recording.steps {
            let needed = recording.specialised(step).workgroup_bytes();
            self.check_fits(step.kernel.name(), recording.key, needed)?;
        }
        Ok(recording)
    }

    fn check_fits(&self, kernel: String, key: KeyType, needed: u32) -> Result<(), Error> {
        let limit = self.limits.workgroup_bytes;
        if needed <= limit {
            return Ok(());
        }
        Err(Error::WorkgroupMemory {
            kernel,
            key,
            needed,
            limit,
        })
    }

    /// The engine that sorts `len` keys alone in ascending order: [`Options::engine`], or the
    /// choice of [`Engine::Auto`], by the device and the length.
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
        let len = len.min(self.max_len(key)) as u32;
        self.choice(Records {
            mapped: !key.map(Order::Ascending).is_identity(),
            ..Records::keys(len)
        })
    }

    /// Prepares a sort with the scratch memory that the last host slice gave back.
    fn prepare_pooled<Kind>(&self, job: &SortJob<'_, Kind>) -> Result<PreparedSort, Error> {
        let pool = std::mem::take(&mut *self.pool.lock().unwrap_or_else(PoisonError::into_inner));
        self.prepare_with(&job.job, pool)
    }

    /// Keeps the scratch memory of a sort for the next host slice: the queue runs submissions in
    /// order.
    fn give_back(&self, sort: PreparedSort) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = sort.0.buffers;
    }
}
