//! The public sorter: keys -> plan -> recording -> executor. Here on buffers of the GPU, and in
//! `host` on slices.

mod buffer_sort;
mod engine;
mod host;
mod warm_up;

pub use buffer_sort::{BufferSort, PackedKey, Scratch};

use buffer_sort::check_bound;
use engine::{Records, choose};

use crate::gpu::adapter::{DeviceKind, adapters_async, check_limits, device_limits};
use crate::gpu::calls;
use crate::gpu::executor::{BufferSet, Detail, Prepared, Profile, make_buffers, run_profiled};
use crate::gpu::faults::check_not_lost;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::transfer::download;
use crate::gpu::waiting::Waiting;
use crate::layout::{self, Arrangement, Carried, Strategy};
use crate::plan::DeviceLimits;
use crate::recording::{Buffer, Phase, Recording};
use crate::{BufferRole, Engine, Error, KeyType, Options, Order, Payload, Tuning, phases, plan};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Sorts keys on one device. Make it once and keep it: it holds pipelines and scratch memory.
///
/// A sorter can be shared between threads; each sort has scratch memory of its own. It keeps the
/// buffers of the last sort for the next one, and frees them when it is dropped.
///
/// The first sort of a kind takes longer, as its kernels are compiled, several at a time:
/// [`warm_up`](Self::warm_up) does so in advance, and
/// [`with_pipeline_cache`](Self::with_pipeline_cache) keeps them for the next run of the program.
/// The same kernels sort keys of all types of a width, in either order. The sample sort's take long
/// to compile on lavapipe, and on [DX12 without DXC](BufferSort#on-dx12).
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
    /// Shared by the sorters that [`with_options`](Self::with_options) makes, and by no others: it
    /// tells what was prepared for this device.
    pipelines: Arc<Pipelines>,
    /// Scratch buffers of the last sort, for the next one.
    pool: Mutex<BufferSet>,
    /// The buffer of the last host slice, for the next one.
    host_keys: Mutex<Option<wgpu::Buffer>>,
    /// That of its indices.
    host_indices: Mutex<Option<wgpu::Buffer>>,
}

/// A sort whose every GPU object is made: recording it makes none.
///
/// It holds on to the caller's buffers and to scratch memory, its own or [shared](Scratch), of
/// [`Sorter::scratch_size_of`] bytes, and to 256 bytes for each dispatch. It may be recorded any
/// number of times, also twice in one submission. Made by [`Sorter::prepare`] and its siblings, for
/// one sorter and those that are made of it by [`Sorter::with_options`].
///
/// # Examples
///
/// What a sort of a million keys consists of:
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// # use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
/// # let sorter = Sorter::open(Options::default())?;
/// # let keys = sorter.device().create_buffer(&wgpu::BufferDescriptor {
/// #     label: None,
/// #     size: 4_000_000,
/// #     usage: wgpu::BufferUsages::STORAGE,
/// #     mapped_at_creation: false,
/// # });
/// let sort = sorter.prepare(&keys, 1_000_000, KeyType::U32, Order::Ascending)?;
/// println!("{} submissions", sort.submissions());
/// println!("{:?}", sort.timed_phases());
/// # Ok(()) }
/// ```
pub struct PreparedSort {
    prepared: Prepared,
    pipelines: Arc<Pipelines>,
    recording: Recording,
    /// Kept alive for the bind groups' sake, and given back to the pool by the sorter's own calls.
    buffers: BufferSet,
}

impl std::fmt::Debug for PreparedSort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedSort")
            .field("key", &self.recording.key)
            .field("order", &self.recording.order)
            .field("dispatches", &self.recording.steps.len())
            .field("submissions", &self.submissions())
            .finish_non_exhaustive()
    }
}

impl PreparedSort {
    /// Submissions into which [`Sorter::record_slice`] cuts the sort, so that none runs long; 0 if
    /// there is nothing to do, as with one key. Each moves up to 4 times
    /// [`Options::keys_per_dispatch`] keys: by default 2^30 on GPUs with memory of their own, and
    /// 2^27 on others. A sort moves its keys several times.
    #[must_use]
    pub fn submissions(&self) -> usize {
        self.prepared.submissions()
    }

    /// A buffer of the sort's scratch memory, to look into after it ran: where a bucket begins,
    /// say, in [`Buffer::Separators`]. `None` if the sort needs none of this role.
    ///
    /// It has the usages `STORAGE` and `COPY_SRC`, may be larger than
    /// [`Recording::buffers`] says, and is overwritten by the sort.
    #[must_use]
    pub(crate) fn scratch(&self, buffer: Buffer) -> Option<&wgpu::Buffer> {
        let needed = self.recording.buffers.contains_key(&buffer);
        self.buffers.get(&buffer).filter(|_| needed)
    }

    /// The dispatches.
    #[must_use]
    pub(crate) const fn recorded(&self) -> &Recording {
        &self.recording
    }

    /// The phases, in order, that [`Sorter::record_sort_timed`] times: a compute pass each. One may
    /// come again.
    #[must_use]
    pub fn timed_phases(&self) -> Vec<Phase> {
        self.prepared.timed_phases().collect()
    }
}

impl Sorter {
    /// A sorter on a device that the caller has. Nothing is compiled yet, and no memory taken.
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

    /// A sorter on a device of its own on the best adapter: the first of
    /// [`adapters`](crate::adapters). It takes longer than most sorts. All devices that are opened
    /// so are of [one instance](crate::adapters#what-is-process-wide), which is all that is
    /// process-wide.
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

    /// A sorter on a device of its own on an adapter: one of [`adapters`](crate::adapters), or of
    /// an instance of the caller's. The device has what [`requirements`](crate::requirements) says.
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

    /// A sorter with other options on the same device, which shares the compiled kernels.
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

    /// The same sorter, which compiles its kernels through a pipeline cache of the caller's: what
    /// the driver makes of them can be kept in a file, and the next run of the program takes it
    /// from there.
    ///
    /// Nothing is compiled yet, so that the cache gets all that this sorter, and each that
    /// [`with_options`](Self::with_options) makes of it, will compile. What was prepared before
    /// belongs to another sorter. Several sorters of one device may share a cache.
    ///
    /// wgpu has such caches on Vulkan, with [`wgpu::Features::PIPELINE_CACHE`]. Devices that this
    /// crate opens have it where the adapter does; for others [`requirements`](crate::requirements)
    /// asks for it. Many drivers keep a cache of their own as well: there little is gained.
    ///
    /// The caller
    ///
    /// - makes the cache, by [`wgpu::Device::create_pipeline_cache`]. That is unsafe, as drivers
    ///   trust the data: give it none but what [`wgpu::PipelineCache::get_data`] returned, from
    ///   where nobody else can write.
    /// - keeps each adapter's data apart, by [`wgpu::util::pipeline_cache_key`]: that of another
    ///   adapter is refused. With `fallback`, that of another version of the driver is passed over.
    /// - takes the data, by [`wgpu::PipelineCache::get_data`], once the sorts to come have been
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

    /// The most keys of a type that one call on GPU buffers sorts: what one binding and one buffer
    /// hold on this device, and at most 2^32 - 16384. Host slices may be longer. A payload must
    /// fit, too: of rows that are wider than the keys a binding holds fewer.
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

    /// Bytes of scratch memory that a sort of `len` keys takes in either order: at most 1.15 times
    /// the keys' bytes and 16 MiB. (The parameters of the dispatches, 256 bytes each, come on top:
    /// a page or two, unless [`keys_per_dispatch`](Options::keys_per_dispatch) cuts the sort very
    /// fine.)
    ///
    /// It plans the sort, and does nothing on the device.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`]; [`Error::WorkgroupMemory`] for a [base case](Options::base_case) or a
    /// [tuning](Options::tuning) that the device has no room for.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{KeyType, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let million = sorter.scratch_size(1_000_000, KeyType::U64)?;
    /// assert!(million <= 9_200_000 + (16 << 20));
    /// # Ok(()) }
    /// ```
    pub fn scratch_size(&self, len: u64, key: KeyType) -> Result<u64, Error> {
        self.scratch_size_carrying(len, key, Payload::None)
    }

    /// [`scratch_size`](Self::scratch_size) of keys with a payload: at most 1.15 times the bytes of
    /// both, and 16 MiB. For [`prepare_pairs`](Self::prepare_pairs) and
    /// [`prepare_indices`](Self::prepare_indices).
    ///
    /// # Errors
    ///
    /// Those of [`scratch_size`](Self::scratch_size).
    ///
    /// # Examples
    ///
    /// See [`Payload`].
    pub fn scratch_size_carrying(
        &self,
        len: u64,
        key: KeyType,
        payload: Payload,
    ) -> Result<u64, Error> {
        let len = calls::check_len(&self.device, &self.limits, len, key)?;
        let arrangement = Arrangement {
            carried: match payload {
                Payload::None => Carried::Nothing,
                Payload::Values => Carried::Values,
                Payload::Indices => Carried::Indices,
            },
            ..Arrangement::default()
        };
        // (Of unsigned keys, those in ascending order need no map.)
        let job = self.job(len, key, Order::Descending, &arrangement);
        Ok(self.record_job(job)?.scratch_bytes())
    }

    /// Bytes of scratch memory of a sort of buffers, all of it: see
    /// [`BufferSort`](BufferSort#scratch-memory). The buffers themselves are not looked at, and may
    /// be too small.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::RowsTooLarge`], [`Error::BindingTooLarge`],
    /// [`Error::WorkgroupMemory`], [`Error::InvalidOption`], [`Error::NotTogether`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = || sorter.device().create_buffer(&wgpu::BufferDescriptor {
    /// #     label: None,
    /// #     size: 4,
    /// #     usage: wgpu::BufferUsages::STORAGE,
    /// #     mapped_at_creation: false,
    /// # });
    /// # let (keys, values) = (buffer(), buffer());
    /// let len = 10_000_000;
    /// let sort = BufferSort::new(&keys, len, KeyType::U32).values(&values).stable();
    /// let size = sorter.scratch_size_of(&sort)?;
    /// // 2.5 times the bytes of a key and its index, and a value that is moved there and back.
    /// assert!(size <= len * 8 * 5 / 2 + len * 4 + (16 << 20));
    /// # Ok(()) }
    /// ```
    pub fn scratch_size_of(&self, sort: &BufferSort<'_>) -> Result<u64, Error> {
        Ok(self.record_buffers(sort)?.scratch_bytes())
    }

    /// What is to be done around a sort, if the device binds as many records.
    fn arrangement(&self, sort: &BufferSort<'_>) -> Result<Arrangement, Error> {
        // Some of what is before the first is bound, too.
        calls::check_len(&self.device, &self.limits, sort.bound(), sort.key)?;
        let limits = self.device.limits();
        let most_bound = limits.max_storage_buffer_binding_size;
        let arrangement = sort.arrangement(most_bound.min(limits.max_buffer_size))?;
        // (As many records as are bound, a buffer may have: only the first can be too far behind.)
        sort.check_first(limits.max_buffer_size)?;
        Ok(arrangement)
    }

    fn record_buffers(&self, sort: &BufferSort<'_>) -> Result<Recording, Error> {
        let arrangement = self.arrangement(sort)?;
        let ranks = sort.selected()?;
        let len = calls::check_len(&self.device, &self.limits, sort.len, sort.key)?;
        let job = layout::Job {
            ranks,
            ..self.job(len, sort.key, sort.order, &arrangement)
        };
        if let Some(comparator) = &sort.comparator {
            return self.fitting(layout::record_compared(&job, comparator, &self.tuning()));
        }
        if job.strategy() != Strategy::Direct {
            // Composed records may be larger than the keys, and their words have numbers of 32
            // bits.
            let words = arrangement.composed_words(sort.key).max(sort.key.words());
            check_bound(sort.bound(), words, self.limits.buffer_bytes)?;
        }
        self.record_job(job)
    }

    const fn job<'a>(
        &'a self,
        len: u32,
        key: KeyType,
        order: Order,
        arrangement: &'a Arrangement,
    ) -> layout::Job<'a> {
        layout::Job {
            len,
            key,
            order,
            arrangement,
            ranks: None,
            maps_keys: true,
            counting: None,
            limits: &self.limits,
        }
    }

    /// Records a sort by the engine that is chosen for it.
    fn record_job(&self, job: layout::Job<'_>) -> Result<Recording, Error> {
        let arrangement = job.arrangement;
        let engine = self.choice(Records {
            len: job.len,
            payload: arrangement.payload(),
            mapped: !job.key.map(job.order).is_identity(),
            segmented: arrangement.segments.is_some(),
            counted: arrangement.count_at.is_some(),
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

    /// The sizes that [`Engine::SampleSort`] sorts with: those of [`Options::tuning`], or the
    /// default ones of the device, a GPU or a CPU.
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

    /// Makes everything a sort of the first `len` keys of `buffer` needs: pipelines, bind groups,
    /// parameters, scratch memory of [`scratch_size`](Self::scratch_size) bytes. The keys may be
    /// written later, and what is behind them in the buffer is left as it is.
    ///
    /// Most of its time is the compiling of kernels that no sort has needed before, on several
    /// threads at once: [`warm_up`](Self::warm_up) does that beforehand. The sort itself takes
    /// O(n log n).
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::BufferTooSmall`], [`Error::BufferUsage`] (the buffer needs
    /// `STORAGE`), [`Error::WorkgroupMemory`], [`Error::OutOfMemory`], [`Error::DeviceLost`],
    /// [`Error::Device`] for a buffer of another device of the same [`wgpu::Instance`]. (wgpu
    /// cannot tell a buffer of another instance.)
    ///
    /// # Examples
    ///
    /// See [`record_sort`](Self::record_sort), and [`PreparedSort`].
    pub fn prepare(
        &self,
        buffer: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        order: Order,
    ) -> Result<PreparedSort, Error> {
        self.prepare_sort(BufferSort::new(buffer, len, key).order(order))
    }

    /// [`prepare`](Self::prepare) with all that a sort of buffers may have: see [`BufferSort`].
    ///
    /// With a payload, a comparator, many arrays, or a number of records that is in a buffer, the
    /// engine is [`Engine::SampleSort`], whatever [`Options::engine`] says. Packed keys alone are
    /// counted, if they are many: in O(n) time. All else takes O(n log n).
    ///
    /// # Errors
    ///
    /// Those of [`prepare`](Self::prepare), of each buffer; [`Error::SameBuffer`] if two are one;
    /// [`Error::RowsTooLarge`], [`Error::BindingTooLarge`]; [`Error::WorkgroupMemory`] for a
    /// [tuning](Options::tuning) that the device has no room for; [`Error::InvalidOption`] for rows
    /// that are none, or whose key is not one of their words; [`Error::NotTogether`] for what
    /// cannot be had together, with what to do instead.
    ///
    /// # Examples
    ///
    /// See [`BufferSort`]; each of its methods has one.
    pub fn prepare_sort(&self, sort: BufferSort<'_>) -> Result<PreparedSort, Error> {
        let recording = self.record_buffers(&sort)?;
        let callers = sort.bindings()?;
        let Some(scratch) = sort.scratch else {
            return self.prepare_recording(recording, &callers, BufferSet::new());
        };
        let pool = scratch.buffers.clone();
        let prepared = self.prepare_recording(recording, &callers, pool)?;
        scratch.buffers.clone_from(&prepared.buffers);
        Ok(prepared)
    }

    /// [`prepare`](Self::prepare) for keys that have a 32-bit value each, in another buffer: both
    /// are sorted by the keys.
    ///
    /// Values of equal keys come in no order to rely on, but in the same one on every device. The
    /// engine is [`Engine::SampleSort`], whatever [`Options::engine`] says. It takes O(n log n)
    /// time, and scratch memory of at most 1.15 times the bytes of both and 16 MiB.
    /// [`BufferSort::stable`] keeps the values of equal keys in order.
    ///
    /// # Errors
    ///
    /// Those of [`prepare`](Self::prepare), of either buffer; [`Error::SameBuffer`] if they are
    /// one.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::DeviceExt;
    /// use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let buffer = |contents: &[u32]| {
    ///     sorter.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
    ///         label: None,
    ///         contents: bytemuck::cast_slice(contents),
    ///         usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    ///     })
    /// };
    /// let (keys, values) = (buffer(&[8, 6, 5, 3, 0, 9]), buffer(&[0, 1, 2, 3, 4, 5]));
    /// let sort = sorter.prepare_pairs(&keys, &values, 6, KeyType::U32, Order::Ascending)?;
    /// let profile = sorter.run_profiled(&sort)?;
    /// // keys: [0, 3, 5, 6, 8, 9], values: [4, 3, 2, 1, 0, 5]
    /// # Ok(()) }
    /// ```
    pub fn prepare_pairs(
        &self,
        keys: &wgpu::Buffer,
        values: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        order: Order,
    ) -> Result<PreparedSort, Error> {
        let sort = BufferSort::new(keys, len, key).order(order);
        self.prepare_sort(sort.values(values))
    }

    /// [`prepare_pairs`](Self::prepare_pairs) with each key's index in the input for a value: it
    /// sorts the keys, and writes to `indices` where each was. Equal keys come in the order of
    /// their indices, descending or not: the sort is stable. It takes about the same memory and
    /// time. [`BufferSort::keep_keys`] leaves the keys where they are.
    ///
    /// # Errors
    ///
    /// Those of [`prepare_pairs`](Self::prepare_pairs).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |contents: &[f32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(contents),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let (keys, indices) = (buffer(&[2.5, 0.5, 2.5, 9.0]), buffer(&[0.0; 4]));
    /// let sort = sorter.prepare_indices(&keys, &indices, 4, KeyType::F32, Order::Descending)?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [9.0, 2.5, 2.5, 0.5], indices: [3, 0, 2, 1], of 32 bits each
    /// # Ok(()) }
    /// ```
    pub fn prepare_indices(
        &self,
        keys: &wgpu::Buffer,
        indices: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        order: Order,
    ) -> Result<PreparedSort, Error> {
        let sort = BufferSort::new(keys, len, key).order(order);
        self.prepare_sort(sort.indices(indices))
    }

    fn prepare_recording(
        &self,
        recording: Recording,
        callers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        pool: BufferSet,
    ) -> Result<PreparedSort, Error> {
        let buffers = make_buffers(&self.device, &recording, pool)?;
        let prepared = Prepared::new(
            &self.device,
            &self.pipelines,
            &recording,
            callers,
            &buffers,
            self.limits.keys_per_dispatch,
        )?;
        Ok(PreparedSort {
            prepared,
            pipelines: self.pipelines.clone(),
            recording,
            buffers,
        })
    }

    /// Records a prepared sort into the caller's encoder. Makes no GPU object, writes nothing,
    /// submits nothing and waits for nothing.
    ///
    /// The whole sort runs in the submission that the caller makes. A driver's watchdog ends
    /// submissions of some seconds: where [`PreparedSort::submissions`] is more than 1, consider
    /// [`record_slice`](Self::record_slice). By default that is, of 32-bit keys with the sample
    /// sort, beyond 2^27 keys on GPUs with memory of their own, and beyond 2^24 on others.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`] if the sort was prepared by another sorter, unless one is the other's
    /// [`with_options`](Self::with_options).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device().clone(), sorter.queue().clone());
    /// let keys = device.create_buffer(&wgpu::BufferDescriptor {
    ///     label: Some("keys"),
    ///     size: 4 * 100_000,
    ///     usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
    ///     mapped_at_creation: false,
    /// });
    /// // Once:
    /// let sort = sorter.prepare(&keys, 100_000, KeyType::U32, Order::Ascending)?;
    /// // Each frame:
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// sorter.record_sort(&mut encoder, &sort)?;
    /// queue.submit([encoder.finish()]);
    /// # Ok(()) }
    /// ```
    pub fn record_sort(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        sort: &PreparedSort,
    ) -> Result<(), Error> {
        (0..sort.submissions()).try_for_each(|slice| self.record_slice(encoder, sort, slice))
    }

    /// [`record_sort`](Self::record_sort) with timestamps: each of the sort's
    /// [phases](PreparedSort::timed_phases) is in a compute pass of its own, of which the beginning
    /// and the end are written to two queries of the caller's, from number `first` on. Resolve them
    /// when and where you like: nothing is waited for, as [`run_profiled`](Self::run_profiled)
    /// does. Small sorts take longer in several passes.
    ///
    /// The device needs [`wgpu::Features::TIMESTAMP_QUERY`], and the query set two queries a phase:
    /// that there are as many wgpu says when the encoder is finished. A sort of one key has no
    /// phase.
    ///
    /// # Errors
    ///
    /// Those of [`record_sort`](Self::record_sort).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device().clone(), sorter.queue().clone());
    /// # let keys = device.create_buffer(&wgpu::BufferDescriptor {
    /// #     label: None,
    /// #     size: 4 * 5000,
    /// #     usage: wgpu::BufferUsages::STORAGE,
    /// #     mapped_at_creation: false,
    /// # });
    /// # if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) { return Ok(()); }
    /// let sort = sorter.prepare(&keys, 5000, KeyType::U32, Order::Ascending)?;
    /// let phases = sort.timed_phases();
    /// let count = 2 * phases.len() as u32;
    /// let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
    ///     label: None,
    ///     ty: wgpu::QueryType::Timestamp,
    ///     count,
    /// });
    /// let times = device.create_buffer(&wgpu::BufferDescriptor {
    ///     label: None,
    ///     size: 8 * u64::from(count),
    ///     usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
    ///     mapped_at_creation: false,
    /// });
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// sorter.record_sort_timed(&mut encoder, &sort, &queries, 0)?;
    /// encoder.resolve_query_set(&queries, 0..count, &times, 0);
    /// queue.submit([encoder.finish()]);
    /// // The i-th phase took the ticks between words 2 i and 2 i + 1 of `times`, of 64 bits each.
    /// # Ok(()) }
    /// ```
    pub fn record_sort_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        sort: &PreparedSort,
        queries: &wgpu::QuerySet,
        first: u32,
    ) -> Result<(), Error> {
        self.check_own(sort)?;
        sort.prepared.encode_timed(encoder, queries, first);
        Ok(())
    }

    /// [`record_sort`](Self::record_sort) in a compute pass of the caller's, between other
    /// dispatches. It leaves the pass with another pipeline and another bind group 0.
    ///
    /// # Errors
    ///
    /// Those of [`record_sort`](Self::record_sort).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device().clone(), sorter.queue().clone());
    /// # let keys = device.create_buffer(&wgpu::BufferDescriptor {
    /// #     label: None,
    /// #     size: 4 * 5000,
    /// #     usage: wgpu::BufferUsages::STORAGE,
    /// #     mapped_at_creation: false,
    /// # });
    /// let sort = sorter.prepare(&keys, 5000, KeyType::U32, Order::Ascending)?;
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// // Dispatches that write the keys, and then:
    /// sorter.record_sort_in_pass(&mut pass, &sort)?;
    /// // Dispatches that read them.
    /// drop(pass);
    /// queue.submit([encoder.finish()]);
    /// # Ok(()) }
    /// ```
    pub fn record_sort_in_pass(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        sort: &PreparedSort,
    ) -> Result<(), Error> {
        self.check_own(sort)?;
        sort.prepared.encode_in_pass(pass);
        Ok(())
    }

    /// That a prepared sort is one of this device and its pipelines.
    fn check_own(&self, sort: &PreparedSort) -> Result<(), Error> {
        if Arc::ptr_eq(&sort.pipelines, &self.pipelines) {
            Ok(())
        } else {
            Err(Error::Foreign("prepared sort"))
        }
    }

    /// Records one of the [`submissions`](PreparedSort::submissions) of a prepared sort: all of
    /// them, numbered from 0 on, make the sort. They must be submitted in order, and between two of
    /// them nothing else may use the sort's buffers or its scratch memory. What else is submitted
    /// in between runs there: a frame waits for a slice, and not for a sort.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`] if the sort was prepared by another sorter; [`Error::InvalidOption`] if
    /// there is no such slice.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device().clone(), sorter.queue().clone());
    /// # let keys = device.create_buffer(&wgpu::BufferDescriptor {
    /// #     label: None,
    /// #     size: 4 * 5000,
    /// #     usage: wgpu::BufferUsages::STORAGE,
    /// #     mapped_at_creation: false,
    /// # });
    /// let sort = sorter.prepare(&keys, 5000, KeyType::U32, Order::Ascending)?;
    /// for slice in 0..sort.submissions() {
    ///     let mut encoder = device.create_command_encoder(&Default::default());
    ///     sorter.record_slice(&mut encoder, &sort, slice)?;
    ///     queue.submit([encoder.finish()]);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn record_slice(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        sort: &PreparedSort,
        slice: usize,
    ) -> Result<(), Error> {
        self.check_own(sort)?;
        if slice >= sort.submissions() {
            return Err(Error::InvalidOption {
                name: "slice",
                value: slice as u64,
                allowed: "less than PreparedSort::submissions",
            });
        }
        sort.prepared.encode(encoder, slice);
        Ok(())
    }

    /// Sorts the first `len` keys of a buffer: submits, and does not wait.
    ///
    /// The keys are in `buffer` for whatever is submitted next on the queue. O(n log n) time;
    /// scratch memory of [`scratch_size`](Self::scratch_size) bytes is kept for the next sort. Not
    /// stable, which with keys alone makes no difference: the result is the same on every device.
    ///
    /// # Errors
    ///
    /// Those of [`prepare`](Self::prepare), and [`Error::DeviceLost`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::DeviceExt;
    /// use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
    ///     label: Some("keys"),
    ///     contents: bytemuck::cast_slice(&[8_u32, 6, 6, 5, 3, 0, 9]),
    ///     usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    /// });
    /// sorter.sort_buffer(&keys, 7, KeyType::U32, Order::Ascending)?;
    /// // keys: [0, 3, 5, 6, 6, 8, 9]
    /// # Ok(()) }
    /// ```
    pub fn sort_buffer(
        &self,
        buffer: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        order: Order,
    ) -> Result<(), Error> {
        let sort = self.prepare_pooled(BufferSort::new(buffer, len, key).order(order))?;
        calls::submit_all(&self.device, &self.queue, &sort.prepared)?;
        check_not_lost(&self.device)?;
        // The queue runs submissions in order, so the next sort may use the same scratch memory.
        self.give_back(sort.buffers);
        Ok(())
    }

    /// [`sort_buffer`](Self::sort_buffer), blocking, with the time that each phase took on the GPU.
    /// See [`Profile`].
    ///
    /// # Errors
    ///
    /// Those of [`sort_buffer`](Self::sort_buffer).
    pub fn sort_buffer_profiled(
        &self,
        buffer: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        order: Order,
    ) -> Result<Profile, Error> {
        let sort = self.prepare_pooled(BufferSort::new(buffer, len, key).order(order))?;
        let profile = self.run_profiled(&sort)?;
        self.give_back(sort.buffers);
        Ok(profile)
    }

    /// The first record whose key comes before its predecessor's, or `None` if keys are sorted as a
    /// sort would leave them: its number among those that the sort is of. Blocking; one pass over
    /// the keys, O(n). [`prepare_order_check`](Self::prepare_order_check) leaves the answer on the
    /// GPU.
    ///
    /// Of the sort only counts where keys are, [packed](BufferSort::of_packed) or [fields of
    /// rows](BufferSort::of_rows), too, from which [first](BufferSort::first) record on, and their
    /// [order](BufferSort::order).
    ///
    /// # Errors
    ///
    /// Those of [`prepare_sort`](Self::prepare_sort) for the keys; [`Error::NotTogether`] for rows
    /// that are [compared](BufferSort::compared), and where [arrays](BufferSort::segments), some
    /// [ranks](BufferSort::ranks) or a [count](BufferSort::count) are asked for.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::DeviceExt;
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
    ///     label: None,
    ///     contents: bytemuck::cast_slice(&[1.0_f32, 5.0, 4.0, 6.0]),
    ///     usage: wgpu::BufferUsages::STORAGE,
    /// });
    /// let all = || BufferSort::new(&keys, 4, KeyType::F32);
    /// assert_eq!(sorter.first_out_of_order(&all())?, Some(2));
    /// let prepared = sorter.prepare_sort(all())?;
    /// sorter.run_profiled(&prepared)?;
    /// assert!(sorter.first_out_of_order(&all())?.is_none());
    /// # Ok(()) }
    /// ```
    pub fn first_out_of_order(&self, sort: &BufferSort<'_>) -> Result<Option<u64>, Error> {
        let check = self.prepare_check(sort, None)?;
        calls::submit_all(&self.device, &self.queue, &check.prepared)?;
        let mut left = 0_u32;
        let read = bytemuck::bytes_of_mut(&mut left);
        let found = &check.buffers[&Buffer::OutOfOrder];
        let downloaded = download(&self.device, &self.queue, found, read, Waiting::Block);
        pollster::block_on(downloaded)?;
        Ok((left > 0).then(|| sort.len - u64::from(left)))
    }

    /// Makes everything that a look at keys needs, whether they are in order: it is recorded as a
    /// sort is, by [`record_sort`](Self::record_sort), and leaves the answer in the first word of
    /// `found`, for dispatches behind it. One pass over the keys, O(n), and no scratch memory.
    ///
    /// The word is 0 as it was if they are in order; if not, at least the number of keys from the
    /// first on that comes before its predecessor. It never becomes less: clear it before, by
    /// [`wgpu::CommandEncoder::clear_buffer`], or let several looks share it, and it says whether
    /// any of them found something.
    ///
    /// # Errors
    ///
    /// Those of [`first_out_of_order`](Self::first_out_of_order), and of [`prepare`](Self::prepare)
    /// for the other buffer; [`Error::SameBuffer`] if they are one.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device().clone(), sorter.queue().clone());
    /// # let buffer = |words: u64| device.create_buffer(&wgpu::BufferDescriptor {
    /// #     label: None,
    /// #     size: 4 * words,
    /// #     usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
    /// #     mapped_at_creation: false,
    /// # });
    /// # let (keys, found) = (buffer(5000), buffer(1));
    /// // Once:
    /// let sort = BufferSort::new(&keys, 5000, KeyType::F32);
    /// let check = sorter.prepare_order_check(&sort, &found)?;
    /// // Each frame:
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// encoder.clear_buffer(&found, 0, Some(4));
    /// sorter.record_sort(&mut encoder, &check)?;
    /// // Dispatches that read `found`.
    /// queue.submit([encoder.finish()]);
    /// # Ok(()) }
    /// ```
    pub fn prepare_order_check(
        &self,
        sort: &BufferSort<'_>,
        found: &wgpu::Buffer,
    ) -> Result<PreparedSort, Error> {
        self.prepare_check(sort, Some(found))
    }

    /// With a word of its own where the caller has none.
    fn prepare_check(
        &self,
        sort: &BufferSort<'_>,
        found: Option<&wgpu::Buffer>,
    ) -> Result<PreparedSort, Error> {
        let arrangement = self.arrangement(sort)?;
        sort.check_only_keys()?;
        // (Checked.)
        let job = self.job(sort.len as u32, sort.key, sort.order, &arrangement);
        let mut recording = layout::record_order_check(&job);
        let mut callers = sort.bindings()?;
        if let Some(found) = found {
            if found == sort.keys {
                return Err(Error::SameBuffer);
            }
            let binding = calls::bind(BufferRole::OutOfOrder, found, 1, 32)?;
            callers.insert(Buffer::OutOfOrder, binding);
            recording.buffers.remove(&Buffer::OutOfOrder);
        }
        self.prepare_recording(recording, &callers, BufferSet::new())
    }

    /// Runs a prepared sort, blocking, and says what time each phase took on the GPU. It is in as
    /// many submissions as [`PreparedSort::submissions`] says.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`] if the sort was prepared by another sorter; [`Error::DeviceLost`],
    /// [`Error::Device`], [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// See [`prepare_pairs`](Self::prepare_pairs), and [`Profile`].
    pub fn run_profiled(&self, sort: &PreparedSort) -> Result<Profile, Error> {
        self.run_measured(sort, Detail::Phases)
    }

    /// Runs a prepared sort, blocking, and says what time it took on the GPU as a whole: with all
    /// dispatches in one compute pass, as [`record_sort`](Self::record_sort) has them. The profile
    /// has no phases; those of [`run_profiled`](Self::run_profiled) are in passes of their own,
    /// which small sorts take longer for.
    ///
    /// # Errors
    ///
    /// Those of [`run_profiled`](Self::run_profiled).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let keys = sorter.device().create_buffer(&wgpu::BufferDescriptor {
    /// #     label: None,
    /// #     size: 4 * 5000,
    /// #     usage: wgpu::BufferUsages::STORAGE,
    /// #     mapped_at_creation: false,
    /// # });
    /// let sort = sorter.prepare(&keys, 5000, KeyType::U32, Order::Ascending)?;
    /// let whole = sorter.run_timed(&sort)?;
    /// println!("5000 keys: {:?}", whole.total);
    /// assert!(whole.phases.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn run_timed(&self, sort: &PreparedSort) -> Result<Profile, Error> {
        self.run_measured(sort, Detail::Whole)
    }

    fn run_measured(&self, sort: &PreparedSort, detail: Detail) -> Result<Profile, Error> {
        self.check_own(sort)?;
        pollster::block_on(run_profiled(
            &self.device,
            &self.queue,
            &sort.prepared,
            detail,
            Waiting::Block,
        ))
    }

    /// With the scratch memory that the last sort gave back.
    fn prepare_pooled(&self, sort: BufferSort<'_>) -> Result<PreparedSort, Error> {
        let mut pool = Scratch {
            buffers: std::mem::take(&mut *self.pool.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        self.prepare_sort(sort.scratch(&mut pool))
    }

    fn give_back(&self, buffers: BufferSet) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = buffers;
    }
}
