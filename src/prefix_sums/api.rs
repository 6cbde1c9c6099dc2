//! The public prefix sums: values and colors -> recording -> executor.

use super::host::{self, Summand};
use super::{PrefixSumsOptions, kernels, record_prefix_sums};
use crate::at_once::lock;
use crate::error::{BufferRole, Error};
use crate::gpu::Instant;
use crate::gpu::binding::{self, ToBinding};
use crate::gpu::calls;
use crate::gpu::faults::call;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::prepared::{BufferSet, Prepared};
use crate::gpu::profile::{Clock, Detail, Profile};
use crate::gpu::transfer::{Staging, Transfers};
use crate::gpu::waiting::Waiting;
use crate::key::KeyType;
use crate::planner::Planner;
use crate::recording::{Buffer, Recording};
use crate::sorter::Sorter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Colored prefix sums on one device: each value has one of d colors, and each color has its own
/// prefix sums. Create it once and keep it: it holds scratch memory and the pipelines, which are
/// compiled when they are first needed.
///
/// ```text
/// values  [1, 10, 2, 20, 3]
/// colors  [0,  1, 0,  1, 0]
/// sums    [1, 10, 3, 30, 6]      inclusive
///         [0,  0, 1, 10, 3]      exclusive
/// ```
///
/// O(n) time, in three phases: each value and color is read twice, each value written once. Scratch
/// memory is at most 16 x 16,384 words, see [`scratch_size`](Self::scratch_size). Threads may share
/// it; each call uses its own scratch memory. It keeps the buffers of the last host slices for the
/// next ones, as a [`Sorter`](crate::Sorter) does.
///
/// # Rounding
///
/// Integers wrap around. Sums of `f32` begin with +0, so no sum is -0. Their order depends only on
/// the number of values and of tiles ([`PrefixSumsOptions::tiles`]). So they are the same in every
/// run, on every device that rounds as IEEE 754 says, and in
/// [`prefix_sums_on_cpu`](crate::paper::prefix_sums_on_cpu). If they are inexact, they may differ
/// from a sum from left to right. WGSL allows a device to flush subnormal numbers to 0, and to
/// assume that there are no infinities and NaNs. Devices that do neither, like all that this crate
/// was tested on, propagate infinities and NaNs; the bits of NaNs depend on the device.
///
/// # Current implementation
///
/// Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On GPUs", introduction and
/// Appendix A: the sums of contiguous tiles, their prefix sums, and from these the prefix sums
/// within each tile. The paper measures the cost of bank conflicts with it. Both of its methods are
/// available ([`PrefixSumsMethod`](crate::paper::PrefixSumsMethod)), with the same results.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions};
/// use wgpu_bcfsort::{Options, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sums = PrefixSums::new(&Sorter::open(Options::default())?);
/// let mut values = [1_u32, 10, 2, 20, 3];
/// sums.run(&mut values, &[0, 1, 0, 1, 0], &PrefixSumsOptions::default().colors(2))?;
/// assert_eq!(values, [1, 10, 3, 30, 6]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PrefixSums {
    device: wgpu::Device,
    queue: wgpu::Queue,
    planner: Planner,
    pipelines: Arc<Pipelines>,
    /// Scratch buffers of an earlier host call, to be reused.
    pool: Mutex<BufferSet>,
    /// Buffers of an earlier host call, to be reused.
    host_values: Mutex<Option<wgpu::Buffer>>,
    host_colors: Mutex<Option<wgpu::Buffer>>,
    /// The staging buffers of earlier transfers, for later ones.
    staging: Staging,
}

/// Prepared prefix sums: recording them cannot fail and makes no GPU object.
///
/// They keep both buffers and their scratch memory alive, and may be recorded any number of times.
/// Made by [`PrefixSums::prepare`].
pub struct PreparedPrefixSums(Prepared);

impl std::fmt::Debug for PreparedPrefixSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fields(f, "PreparedPrefixSums")
    }
}

impl PreparedPrefixSums {
    /// Records the prefix sums into a command encoder: see
    /// [`PreparedSort::record`](crate::PreparedSort::record).
    ///
    /// They all run in the submission of that encoder. From about 2^26 values on a GPU
    /// [`run`](Self::run) makes several submissions, so that no driver's watchdog ends them.
    ///
    /// # Examples
    ///
    /// See [`PrefixSums::prepare`].
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        self.0.record(encoder);
    }

    /// Submits the prefix sums, in several submissions if they are long, and does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`], [`Error::Device`].
    pub fn run(&self) -> Result<(), Error> {
        self.0.run()
    }

    /// Runs the prefix sums, waits, and returns their GPU time; with [`Detail::Phases`], that of
    /// each phase, too.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), and [`Error::OutOfMemory`].
    pub fn profile(&self, detail: Detail) -> Result<Profile, Error> {
        pollster::block_on(self.0.measure(detail, Waiting::Block))
    }

    /// The async version of [`profile`](Self::profile). It does not block while the device works.
    ///
    /// # Errors
    ///
    /// Those of [`profile`](Self::profile).
    pub async fn profile_async(&self, detail: Detail) -> Result<Profile, Error> {
        call(self.0.measure(detail, Waiting::Yield)).await
    }

    /// The dispatches.
    pub(crate) const fn recorded(&self) -> &Recording {
        &self.0.recording
    }
}

impl PrefixSums {
    /// Prefix sums on the device of a sorter, with its compiled kernels and its limits. This
    /// compiles nothing and allocates no memory.
    ///
    /// # Examples
    ///
    /// See [`PrefixSums`].
    #[must_use]
    pub fn new(sorter: &Sorter) -> Self {
        let (planner, pipelines) = sorter.shared();
        Self {
            planner,
            device: sorter.device().clone(),
            queue: sorter.queue().clone(),
            pipelines,
            pool: Mutex::default(),
            host_values: Mutex::default(),
            host_colors: Mutex::default(),
            staging: Staging::default(),
        }
    }

    /// Bytes of scratch memory for the prefix sums of `len` values: a word for each color and tile,
    /// with the number of tiles rounded up to a multiple of 32.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions};
    /// use wgpu_bcfsort::{Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sums = PrefixSums::new(&Sorter::open(Options::default())?);
    /// let options = PrefixSumsOptions::default().colors(16).tiles(1000);
    /// assert_eq!(sums.scratch_size(1_024_000, &options)?, 16 * 1024 * 4);
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
        if !kernels::adds(key) {
            return Err(Error::NoSums(key));
        }
        let len = self.planner.check_len(len, key)?;
        Ok(record_prefix_sums(len, key, options, &self.planner.limits))
    }

    /// Makes every GPU object for the prefix sums of the first `len` values of a buffer: pipelines,
    /// bind groups, parameters, and [`scratch_size`](Self::scratch_size) bytes of scratch memory.
    /// The values, of type `key`, and the colors, of type `u32`, may be written later. The sums
    /// replace the values.
    ///
    /// A value whose color is not below [`PrefixSumsOptions::colors`] stays unchanged, and is not
    /// part of any sum.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`], [`Error::NoSums`] for types of 64 bits, [`Error::TooLarge`],
    /// [`Error::SameBuffer`], [`Error::BufferTooSmall`] and [`Error::BufferUsage`] for either
    /// buffer (both need `STORAGE`), [`Error::OutOfMemory`], [`Error::Device`] for a buffer of
    /// another device of the same [`wgpu::Instance`]; wgpu cannot detect a buffer of another
    /// instance.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions};
    /// use wgpu_bcfsort::{KeyType, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let values = sorter.upload(&[1.0_f32, 10.0, 2.0, 20.0])?;
    /// let colors = sorter.upload(&[0_u32, 1, 0, 1])?;
    /// // Once:
    /// let options = PrefixSumsOptions::default().colors(2);
    /// let sums = PrefixSums::new(&sorter);
    /// let sums = sums.prepare(&values, &colors, 4, KeyType::F32, &options)?;
    /// // Each frame:
    /// let mut encoder = sorter.device().create_command_encoder(&Default::default());
    /// sums.record(&mut encoder);
    /// sorter.queue().submit([encoder.finish()]);
    /// assert_eq!(sorter.download::<f32>(&values)?, [1.0, 10.0, 3.0, 30.0]);
    /// # Ok(()) }
    /// ```
    pub fn prepare(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        len: u64,
        key: KeyType,
        options: &PrefixSumsOptions,
    ) -> Result<PreparedPrefixSums, Error> {
        self.prepare_with(values, colors, (len, key), options, BufferSet::new())
    }

    fn prepare_with(
        &self,
        values: &wgpu::Buffer,
        colors: &wgpu::Buffer,
        (len, key): (u64, KeyType),
        options: &PrefixSumsOptions,
        pool: BufferSet,
    ) -> Result<PreparedPrefixSums, Error> {
        let recording = self.recording(len, key, options)?;
        if values == colors {
            return Err(Error::SameBuffer {
                first: BufferRole::Values,
                second: BufferRole::Colors,
            });
        }
        let bind = |role, buffer| binding::bind(role, &ToBinding::to_range(buffer), len * 4);
        let callers = BTreeMap::from([
            (Buffer::Keys, bind(BufferRole::Values, values)?),
            (Buffer::Colors, bind(BufferRole::Colors, colors)?),
        ]);
        let device = (&self.device, &self.queue);
        let keys = self.planner.limits.keys_per_dispatch;
        let prepared = Prepared::new(device, &self.pipelines, recording, &callers, pool, keys)?;
        Ok(PreparedPrefixSums(prepared))
    }

    /// Replaces each value of a host slice by its prefix sum. Blocking, O(n) time.
    ///
    /// It allocates device memory for values, colors and [`scratch_size`](Self::scratch_size)
    /// bytes, and keeps it for the next call. While the sums are read back, it needs as much again
    /// as the values.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`], [`Error::LengthsDiffer`], [`Error::ColorOutOfRange`],
    /// [`Error::TooLarge`] beyond [`Sorter::max_len`], [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`]. The values are unchanged after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions, Scan};
    /// use wgpu_bcfsort::{Error, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sums = PrefixSums::new(&Sorter::open(Options::default())?);
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
        pollster::block_on(self.run_host(values, colors, options, false, Waiting::Block)).map(drop)
    }

    /// The async version of [`run`](Self::run). It does not block while the device works.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub async fn run_async<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
    ) -> Result<(), Error> {
        let run = self.run_host(values, colors, options, false, Waiting::Yield);
        call(run).await.map(drop)
    }

    /// Like [`run`](Self::run), and returns the GPU time of each phase (`tile sums`, `tile
    /// offsets`, `prefix sums`) and the time of the transfers.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn profile<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
    ) -> Result<Profile, Error> {
        pollster::block_on(self.run_host(values, colors, options, true, Waiting::Block))
            .map(|profile| profile.unwrap_or_else(|| Profile::new(Clock::WallClock)))
    }

    /// The async version of [`profile`](Self::profile). It does not block while the
    /// device works.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub async fn profile_async<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
    ) -> Result<Profile, Error> {
        let run = self.run_host(values, colors, options, true, Waiting::Yield);
        let profile = call(run).await?;
        Ok(profile.unwrap_or_else(|| Profile::new(Clock::WallClock)))
    }

    async fn run_host<T: Summand>(
        &self,
        values: &mut [T],
        colors: &[u32],
        options: &PrefixSumsOptions,
        profiled: bool,
        waiting: Waiting,
    ) -> Result<Option<Profile>, Error> {
        host::check(values.len(), colors, options)?;
        let len = values.len() as u64;
        // Checks the size before a buffer is made that is too large for the device.
        self.recording(len, T::KEY_TYPE, options)?;
        if values.is_empty() {
            return Ok(None);
        }
        let Self { device, queue, .. } = self;
        let bytes = size_of_val(values) as u64;
        let value_buffer = calls::host_buffer(device, "bcfsort.values", bytes, &self.host_values)?;
        let color_buffer = calls::host_buffer(device, "bcfsort.colors", bytes, &self.host_colors)?;
        let pool = std::mem::take(&mut *lock(&self.pool));
        let of = (len, T::KEY_TYPE);
        let prepared = self
            .prepare_with(&value_buffer, &color_buffer, of, options, pool)?
            .0;
        let mut transfers = Transfers::new((device, queue), &self.staging, waiting);
        let begin = Instant::now();
        let bytes = bytemuck::cast_slice(values);
        transfers.upload(bytes, (&value_buffer, 0)).await?;
        let bytes = bytemuck::cast_slice(colors);
        transfers.upload(bytes, (&color_buffer, 0)).await?;
        if profiled {
            transfers.submit()?;
            waiting.done(device, queue).await?;
        }
        let uploaded = begin.elapsed();
        let ran = if profiled {
            Some(prepared.measure(Detail::Phases, waiting).await?)
        } else {
            transfers.run(&prepared)?;
            None
        };
        let begin = Instant::now();
        let bytes = bytemuck::cast_slice_mut(values);
        transfers.download((&value_buffer, 0), bytes).await?;
        let profile = ran.map(|mut profile| {
            profile.upload = uploaded;
            profile.download = begin.elapsed();
            profile
        });
        *lock(&self.pool) = prepared.buffers;
        calls::keep_host_buffer(&self.host_values, value_buffer);
        calls::keep_host_buffer(&self.host_colors, color_buffer);
        Ok(profile)
    }
}
