//! The public prefix sums: values and colors -> recording -> executor.

mod host;

pub use host::{Summand, prefix_sums_on_cpu};

use crate::gpu::adapter::{adapters_async, check_limits, device_limits};
use crate::gpu::calls;
use crate::gpu::executor::{BufferSet, Clock, Prepared, Profile, make_buffers};
use crate::gpu::faults::check_not_lost;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::transfer::{download, upload};
use crate::gpu::waiting::Waiting;
use crate::kernel::Kernel;
use crate::options::PrefixSumsOptions;
use crate::plan::DeviceLimits;
use crate::recording::{Buffer, Recording};
use crate::{BufferRole, Error, KeyType, Options, phases};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Colored prefix sums on one device: for values that each have one of d colors, d independent
/// prefix sums, each among the values of one color. Make it once and keep it: it holds the
/// pipelines, which are compiled when they are first needed, and scratch memory.
///
/// ```text
/// values  [1, 10, 2, 20, 3]
/// colors  [0,  1, 0,  1, 0]
/// sums    [1, 10, 3, 30, 6]      inclusive
///         [0,  0, 1, 10, 3]      exclusive
/// ```
///
/// O(n) time: three phases, in which each value and color is read twice and each value written
/// once. Scratch memory of at most 16 x 16,384 words, [`scratch_size`](Self::scratch_size). It can
/// be shared between threads; each call works on scratch memory of its own.
///
/// # Rounding
///
/// Integers wrap round. Sums of `f32` begin with +0 (so no sum is -0) and are rounded in an order
/// that is fixed by the number of values and of tiles ([`PrefixSumsOptions::tiles`]) alone, so they
/// are the same on every run, on every device that rounds as IEEE 754 says, and by
/// [`prefix_sums_on_cpu`]. Inexact sums are not those of adding from left to right. WGSL allows a
/// device to take subnormal numbers for 0, and to assume that there are no infinities and NaNs;
/// devices that do neither (those that this crate was tested on) let infinities and NaNs propagate,
/// the bits of NaNs being theirs.
///
/// # Current implementation
///
/// Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On GPUs", introduction and
/// Appendix A: the sums of contiguous tiles, prefix sums of these, and the prefix sums of each tile
/// from there on. The paper shows by it what bank conflicts cost; both of its methods are here
/// ([`PrefixSumsMethod`](crate::PrefixSumsMethod)), with the same results.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{PrefixSums, PrefixSumsOptions};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sums = PrefixSums::open()?;
/// let mut values = [1_u32, 10, 2, 20, 3];
/// sums.run(&mut values, &[0, 1, 0, 1, 0], &PrefixSumsOptions::default().colors(2))?;
/// assert_eq!(values, [1, 10, 3, 30, 6]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PrefixSums {
    device: wgpu::Device,
    queue: wgpu::Queue,
    limits: DeviceLimits,
    /// No other has the same: it tells what was prepared by this one.
    pipelines: Arc<Pipelines>,
    /// Scratch buffers of the last call, for the next one.
    pool: Mutex<BufferSet>,
    /// The buffers of the last host slices, for the next ones.
    host_values: Mutex<Option<wgpu::Buffer>>,
    host_colors: Mutex<Option<wgpu::Buffer>>,
}

/// Prefix sums whose every GPU object is made: recording them makes none.
///
/// They hold on to both buffers and to scratch memory of their own, and may be recorded any number
/// of times. Made by [`PrefixSums::prepare`].
pub struct PreparedPrefixSums {
    prepared: Prepared,
    pipelines: Arc<Pipelines>,
    recording: Recording,
    /// Kept alive for the bind groups' sake, and given back to the pool by the calls that wait for
    /// nothing of the caller's.
    buffers: BufferSet,
}

impl std::fmt::Debug for PreparedPrefixSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedPrefixSums")
            .field("len", &self.recording.len)
            .field("key", &self.recording.key)
            .field("dispatches", &self.recording.steps.len())
            .field("submissions", &self.submissions())
            .finish_non_exhaustive()
    }
}

impl PreparedPrefixSums {
    /// Submissions into which the calls that submit by themselves cut them, so that none runs long.
    #[must_use]
    pub fn submissions(&self) -> usize {
        self.prepared.submissions()
    }

    /// The dispatches.
    #[must_use]
    pub(crate) const fn recorded(&self) -> &Recording {
        &self.recording
    }
}

impl PrefixSums {
    /// Prefix sums on a device that the caller has. Nothing is compiled yet, and no memory taken.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`] if the device's limits are below what the kernels need (ask for
    /// [`requirements`](crate::requirements)).
    ///
    /// # Examples
    ///
    /// See [`Sorter::new`](crate::Sorter::new), whose device may be this one.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Self, Error> {
        check_limits(&device.limits())?;
        Ok(Self {
            limits: device_limits(device, &Options::default()),
            device: device.clone(),
            queue: queue.clone(),
            pipelines: Arc::default(),
            pool: Mutex::default(),
            host_values: Mutex::default(),
            host_colors: Mutex::default(),
        })
    }

    /// Prefix sums on a device of their own on the best adapter: the first of
    /// [`adapters`](crate::adapters). It takes longer than most sums. All devices that are opened
    /// so are of [one instance](crate::adapters#what-is-process-wide).
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`], [`Error::RequestDevice`].
    pub fn open() -> Result<Self, Error> {
        let adapters = pollster::block_on(adapters_async());
        Self::on_adapter(adapters.first().ok_or(Error::NoAdapter)?)
    }

    /// Prefix sums on a device of their own on an adapter.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`], [`Error::RequestDevice`].
    pub fn on_adapter(adapter: &wgpu::Adapter) -> Result<Self, Error> {
        let (device, queue) = pollster::block_on(calls::open(adapter))?;
        Self::new(&device, &queue)
    }

    /// The same prefix sums, which compile their kernels through a pipeline cache of the caller's:
    /// see [`Sorter::with_pipeline_cache`](crate::Sorter::with_pipeline_cache). Nothing is compiled
    /// yet, and what was prepared before belongs to others.
    #[must_use]
    pub fn with_pipeline_cache(mut self, cache: &wgpu::PipelineCache) -> Self {
        self.pipelines = Arc::new(Pipelines::through(cache.clone()));
        self
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue that is submitted to.
    #[must_use]
    pub const fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The most values of one call: what one binding and one buffer hold on this device, and at
    /// most 2^32 - 16384. Slices are not cut into chunks, either.
    #[must_use]
    pub const fn max_len(&self) -> u64 {
        self.limits.max_len(KeyType::U32)
    }

    /// Bytes of scratch memory that the prefix sums of `len` values take: a word for each color and
    /// tile, with the number of tiles rounded up to a multiple of 32.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{PrefixSums, PrefixSumsOptions};
    /// let options = PrefixSumsOptions::default().colors(16).tiles(1000);
    /// assert_eq!(PrefixSums::open()?.scratch_size(1_024_000, &options)?, 16 * 1024 * 4);
    /// # Ok(()) }
    /// ```
    pub fn scratch_size(&self, len: u64, options: &PrefixSumsOptions) -> Result<u64, Error> {
        Ok(self.recording(len, KeyType::U32, options)?.scratch_bytes())
    }

    fn recording(
        &self,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
    ) -> Result<Recording, Error> {
        options.validate()?;
        if !Kernel::TileOffsets.takes(key) {
            return Err(Error::NoSums(key));
        }
        let len = calls::check_len(&self.device, &self.limits, len, key)?;
        Ok(phases::record_prefix_sums(len, key, options, &self.limits))
    }

    /// Makes everything that the prefix sums of the first `len` values of a buffer need: pipelines,
    /// bind groups, parameters, scratch memory of [`scratch_size`](Self::scratch_size) bytes.
    /// Values, of type `key`, and colors, which are `u32`, may be written later; the sums take the
    /// values' place.
    ///
    /// A value whose color is not below [`PrefixSumsOptions::colors`] has no color: it is left as
    /// it is, and in no sum.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`], [`Error::NoSums`] for types of 64 bits, [`Error::TooLarge`],
    /// [`Error::SameBuffer`], [`Error::BufferTooSmall`] and [`Error::BufferUsage`] for either
    /// buffer (both need `STORAGE`), [`Error::OutOfMemory`], [`Error::Device`] for a buffer of
    /// another device of the same [`wgpu::Instance`]. (wgpu cannot tell a buffer of another
    /// instance.)
    ///
    /// # Examples
    ///
    /// See [`record`](Self::record).
    pub fn prepare(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
    ) -> Result<PreparedPrefixSums, Error> {
        self.prepare_with(values, colors, len, key, options, BufferSet::new())
    }

    fn prepare_with(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
        pool: BufferSet,
    ) -> Result<PreparedPrefixSums, Error> {
        let recording = self.recording(len, key, options)?;
        if values == colors {
            return Err(Error::SameBuffer);
        }
        let callers = BTreeMap::from([
            (
                Buffer::Keys,
                calls::bind(BufferRole::Values, values, len, 32)?,
            ),
            (
                Buffer::Colors,
                calls::bind(BufferRole::Colors, colors, len, 32)?,
            ),
        ]);
        let buffers = make_buffers(&self.device, &recording, pool)?;
        let prepared = Prepared::new(
            &self.device,
            &self.pipelines,
            &recording,
            &callers,
            &buffers,
            self.limits.keys_per_dispatch,
        )?;
        Ok(PreparedPrefixSums {
            prepared,
            pipelines: self.pipelines.clone(),
            recording,
            buffers,
        })
    }

    fn prepare_pooled(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
    ) -> Result<PreparedPrefixSums, Error> {
        let pool = std::mem::take(&mut *self.pool.lock().unwrap_or_else(PoisonError::into_inner));
        self.prepare_with(values, colors, len, key, options, pool)
    }

    fn give_back(&self, buffers: BufferSet) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = buffers;
    }

    /// Records prepared prefix sums into the caller's encoder. Makes no GPU object, writes nothing,
    /// submits nothing and waits for nothing.
    ///
    /// All of it runs in the submission that the caller makes. A driver's watchdog ends submissions
    /// of some seconds: where [`PreparedPrefixSums::submissions`] is more than 1, by default from
    /// about 2^26 values on a GPU, [`run_buffers`](Self::run_buffers) makes several.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`] if they were prepared by another [`PrefixSums`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu_bcfsort::{KeyType, PrefixSums, PrefixSumsOptions};
    /// # let sums = PrefixSums::open()?;
    /// # let (device, queue) = (sums.device().clone(), sums.queue().clone());
    /// let buffer = |label| {
    ///     device.create_buffer(&wgpu::BufferDescriptor {
    ///         label: Some(label),
    ///         size: 4 * 100_000,
    ///         usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
    ///         mapped_at_creation: false,
    ///     })
    /// };
    /// let (values, colors) = (buffer("values"), buffer("colors"));
    /// // Once:
    /// let options = PrefixSumsOptions::default().colors(4);
    /// let prepared = sums.prepare(&values, &colors, 100_000, KeyType::F32, &options)?;
    /// // Each frame:
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// sums.record(&mut encoder, &prepared)?;
    /// queue.submit([encoder.finish()]);
    /// # Ok(()) }
    /// ```
    pub fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        prepared: &PreparedPrefixSums,
    ) -> Result<(), Error> {
        if !Arc::ptr_eq(&prepared.pipelines, &self.pipelines) {
            return Err(Error::Foreign("prepared prefix sums"));
        }
        for submission in 0..prepared.submissions() {
            prepared.prepared.encode(encoder, submission);
        }
        Ok(())
    }

    /// Replaces each of the first `len` values of a buffer by its prefix sum: submits, and does not
    /// wait.
    ///
    /// As for [`prepare`](Self::prepare), values of no color are left as they are. The sums are in
    /// `values` for whatever is submitted next on the queue. O(n) time; scratch memory of
    /// [`scratch_size`](Self::scratch_size) bytes is kept for the next call.
    ///
    /// # Errors
    ///
    /// Those of [`prepare`](Self::prepare), and [`Error::DeviceLost`].
    ///
    /// # Examples
    ///
    /// See [`run_buffers_profiled`](Self::run_buffers_profiled).
    pub fn run_buffers(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
    ) -> Result<(), Error> {
        self.run_on(values, colors, len, key, options, false)
            .map(|_| ())
    }

    /// [`run_buffers`](Self::run_buffers), blocking, with the time that each phase took on the GPU:
    /// `tile sums`, `tile offsets`, `prefix sums`.
    ///
    /// # Errors
    ///
    /// Those of [`run_buffers`](Self::run_buffers).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::DeviceExt;
    /// use wgpu_bcfsort::{KeyType, PrefixSums, PrefixSumsOptions};
    /// let sums = PrefixSums::open()?;
    /// let buffer = |words: &[u32]| {
    ///     sums.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
    ///         label: None,
    ///         contents: bytemuck::cast_slice(words),
    ///         usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    ///     })
    /// };
    /// let (values, colors) = (buffer(&[1, 10, 2, 20, 3]), buffer(&[0, 1, 0, 1, 7]));
    /// let options = PrefixSumsOptions::default().colors(2);
    /// let profile = sums.run_buffers_profiled(&values, &colors, 5, KeyType::U32, &options)?;
    /// // values: [1, 10, 3, 30, 3], since 7 is no color
    /// for phase in &profile.phases {
    ///     println!("{}: {:?}", phase.phase, phase.time);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn run_buffers_profiled(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
    ) -> Result<Profile, Error> {
        self.run_on(values, colors, len, key, options, true)
            .map(|profile| profile.unwrap_or_else(|| Profile::new(Clock::WallClock)))
    }

    fn run_on(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
        profiled: bool,
    ) -> Result<Option<Profile>, Error> {
        let prepared = self.prepare_pooled(values, colors, len, key, options)?;
        let profile = pollster::block_on(calls::run(
            &self.device,
            &self.queue,
            &prepared.prepared,
            Waiting::Block,
            profiled,
        ))?;
        check_not_lost(&self.device)?;
        // The queue runs submissions in order, so the next call may use the same scratch memory.
        self.give_back(prepared.buffers);
        Ok(profile)
    }

    /// Replaces each value of a slice of host memory by its prefix sum: uploads, adds up,
    /// downloads, blocking. O(n) time. Of the device's memory it takes the bytes of values and
    /// colors and the [`scratch_size`](Self::scratch_size), which are kept for the next call, and
    /// while the sums come back as much again as the values.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`], [`Error::LengthsDiffer`], [`Error::ColorOutOfRange`],
    /// [`Error::TooLarge`] beyond [`max_len`](Self::max_len), [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`]; the values are then as they were.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{Error, PrefixSums, PrefixSumsOptions, Scan};
    /// let sums = PrefixSums::open()?;
    /// let options = PrefixSumsOptions::default().colors(3).scan(Scan::Exclusive);
    /// let mut values = [0.5_f32, 1.0, 2.0, 4.0];
    /// sums.run(&mut values, &[2, 2, 0, 2], &options)?;
    /// assert_eq!(values, [0.0, 0.5, 0.0, 1.5]);
    ///
    /// let error = sums.run(&mut values, &[0, 1, 2, 3], &options).unwrap_err();
    /// assert!(matches!(error, Error::ColorOutOfRange { index: 3, color: 3, colors: 3 }));
    /// # Ok(()) }
    /// ```
    pub fn run<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
    ) -> Result<(), Error> {
        self.run_host(values, colors, options, false).map(|_| ())
    }

    /// [`run`](Self::run), with the time that each phase took on the GPU (`tile sums`, `tile
    /// offsets`, `prefix sums`), and that of the transfers.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn run_profiled<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
    ) -> Result<Profile, Error> {
        self.run_host(values, colors, options, true)
            .map(|profile| profile.unwrap_or_else(|| Profile::new(Clock::WallClock)))
    }

    fn run_host<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
        profiled: bool,
    ) -> Result<Option<Profile>, Error> {
        host::check(values.len(), colors, options)?;
        let len = values.len() as u64;
        // Before a buffer is made that the device could not have.
        self.recording(len, T::KEY_TYPE, options)?;
        if values.is_empty() {
            return Ok(None);
        }
        let Self { device, queue, .. } = self;
        let bytes = size_of_val(values) as u64;
        let value_buffer = calls::host_buffer(device, "bcfsort.values", bytes, &self.host_values)?;
        let color_buffer = calls::host_buffer(device, "bcfsort.colors", bytes, &self.host_colors)?;
        let prepared =
            self.prepare_pooled(&value_buffer, &color_buffer, len, T::KEY_TYPE, options)?;
        let profile = pollster::block_on(async {
            let waiting = Waiting::Block;
            let begin = Instant::now();
            let bytes = bytemuck::cast_slice(values);
            upload(device, queue, bytes, &value_buffer, waiting).await?;
            let bytes = bytemuck::cast_slice(colors);
            upload(device, queue, bytes, &color_buffer, waiting).await?;
            if profiled {
                waiting.done(device, queue).await?;
            }
            let uploaded = begin.elapsed();
            let ran = calls::run(device, queue, &prepared.prepared, waiting, profiled).await?;
            let begin = Instant::now();
            let bytes = bytemuck::cast_slice_mut(values);
            download(device, queue, &value_buffer, bytes, waiting).await?;
            Ok::<_, Error>(ran.map(|mut profile| {
                profile.upload = uploaded;
                profile.download = begin.elapsed();
                profile
            }))
        })?;
        self.give_back(prepared.buffers);
        calls::keep_host_buffer(&self.host_values, value_buffer);
        calls::keep_host_buffer(&self.host_colors, color_buffer);
        Ok(profile)
    }
}
