//! Prepared sorts: recording, running and timing.

use crate::error::Error;
use crate::gpu::faults::call;
use crate::gpu::prepared::Prepared;
use crate::gpu::profile::{Detail, Profile};
use crate::gpu::waiting::Waiting;
use crate::recording::{Buffer, Phase, Recording};

/// A prepared sort with all its GPU objects. Recording it cannot fail, creates no object, submits
/// nothing and does not block.
///
/// Made by [`SortJob::prepare`](crate::SortJob::prepare); for a check by
/// [`Sorter::prepare_is_sorted`](crate::Sorter::prepare_is_sorted); and of what is no sort by
/// [`CompactJob::prepare`](crate::CompactJob::prepare),
/// [`HistogramJob::prepare`](crate::HistogramJob::prepare),
/// [`TopKJob::prepare`](crate::TopKJob::prepare), [`MergeJob::prepare`](crate::MergeJob::prepare)
/// and [`ScanJob::prepare`](crate::ScanJob::prepare). Record or run it any number of times, also
/// twice in one submission. It keeps alive the user's buffers, its scratch memory (its
/// own or [shared](crate::Scratch)), and parameters of 256 bytes per dispatch.
///
/// # Examples
///
/// A sort that is recorded into the program's encoder in each frame:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let (device, queue) = (sorter.device(), sorter.queue());
/// let keys = sorter.upload(&[3_u32, 1, 2])?;
/// // Once:
/// let sort = SortJob::new(Keys::new(&keys, KeyType::U32), 3).prepare(&sorter)?;
/// // Each frame:
/// let mut encoder = device.create_command_encoder(&Default::default());
/// sort.record(&mut encoder);
/// queue.submit([encoder.finish()]);
/// # assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
/// # Ok(()) }
/// ```
pub struct PreparedSort(pub(super) Prepared);

impl std::fmt::Debug for PreparedSort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fields(f, "PreparedSort")
    }
}

impl PreparedSort {
    /// Records the sort into a command encoder.
    ///
    /// The whole sort runs in one submission of that encoder. A driver's watchdog may stop
    /// submissions of some seconds. So if the sort has several [`chunks`](Self::chunks), record
    /// them into separate submissions. By default a sample sort of 32-bit keys has several chunks
    /// beyond 2^28 keys on discrete GPUs, and beyond 2^24 keys on other GPUs.
    ///
    /// # Examples
    ///
    /// See [`PreparedSort`].
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        self.0.record(encoder);
    }

    /// Records the sort into a compute pass, between other dispatches. It changes the pass's
    /// pipeline and bind group 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device(), sorter.queue());
    /// # let keys = sorter.upload(&[3_u32, 1, 2])?;
    /// let sort = SortJob::new(Keys::new(&keys, KeyType::U32), 3).prepare(&sorter)?;
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// // Dispatches that write the keys.
    /// sort.record_in_pass(&mut pass);
    /// // Dispatches that read the sorted keys.
    /// drop(pass);
    /// queue.submit([encoder.finish()]);
    /// # assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn record_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.0.encode_in_pass(pass);
    }

    /// Records the sort with timestamps. Each of its [phases](Self::timed_phases) is a compute pass
    /// that writes its beginning and its end to two queries. The queries begin at index `first`.
    ///
    /// Unlike [`profile`](Self::profile) it does not wait: resolve the queries at any
    /// time later. Small sorts take longer in several passes. The device needs
    /// [`wgpu::Features::TIMESTAMP_QUERY`], and the query set needs two queries per phase. wgpu
    /// checks both when the encoder is finished. As [`record`](Self::record) does, it records the
    /// whole sort for one submission. So the number of phases does not depend on that of
    /// [`chunks`](Self::chunks), and their queries fit a query set, of 4096 queries in wgpu.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device(), sorter.queue());
    /// # let keys = sorter.upload(&[7_u32; 5000])?;
    /// # if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) { return Ok(()); }
    /// let sort = SortJob::new(Keys::new(&keys, KeyType::U32), 5000).prepare(&sorter)?;
    /// let count = 2 * sort.timed_phases().len() as u32;
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
    /// sort.record_timed(&mut encoder, &queries, 0);
    /// encoder.resolve_query_set(&queries, 0..count, &times, 0);
    /// queue.submit([encoder.finish()]);
    /// // The time of phase i is the difference of ticks 2 i and 2 i + 1.
    /// let ticks = sorter.download::<u64>(&times)?;
    /// assert!(ticks.is_sorted());
    /// # Ok(()) }
    /// ```
    pub fn record_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        queries: &wgpu::QuerySet,
        first: u32,
    ) {
        self.0.encode_timed(encoder, queries, first);
    }

    /// Returns the phases that [`record_timed`](Self::record_timed) measures, in order. A phase may
    /// occur several times. A sort of one key has no phase.
    #[must_use]
    pub fn timed_phases(&self) -> Vec<Phase> {
        self.0.timed_phases().collect()
    }

    /// Returns the number of chunks into which the sort is cut, so that each submission is short:
    /// see [`record_chunk`](Self::record_chunk). 0 if there is nothing to do.
    ///
    /// Each chunk moves up to 4 times [`Options::keys_per_dispatch`](crate::Options) keys: by
    /// default 2^31 on discrete GPUs, and 2^27 on other GPUs. A sort moves its keys several times.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.0.submissions()
    }

    /// Records one of the [`chunks`](Self::chunks) of the sort, numbered from 0.
    ///
    /// Submit all chunks in order. Between two chunks nothing else may use the sort's buffers or
    /// its scratch memory: otherwise the order and the contents of the output are unspecified, and
    /// the sort may take long. It still accesses its own buffers only. Other work can be submitted
    /// between chunks: a frame then waits for one chunk and not for the whole sort.
    ///
    /// # Panics
    ///
    /// If `chunk` is not below [`chunks`](Self::chunks).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let keys = sorter.upload(&[3_u32, 1, 2])?;
    /// let sort = SortJob::new(Keys::new(&keys, KeyType::U32), 3).prepare(&sorter)?;
    /// for chunk in 0..sort.chunks() {
    ///     let mut encoder = sorter.device().create_command_encoder(&Default::default());
    ///     sort.record_chunk(&mut encoder, chunk);
    ///     sorter.queue().submit([encoder.finish()]);
    /// }
    /// # assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn record_chunk(&self, encoder: &mut wgpu::CommandEncoder, chunk: usize) {
        self.0.encode(encoder, chunk);
    }

    /// Submits the sort to the queue, one submission per [chunk](Self::chunks), without waiting.
    /// Later submissions see the result.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`]; [`Error::Device`] if wgpu refuses a submission, e.g. because a buffer
    /// is mapped or destroyed.
    ///
    /// # Examples
    ///
    /// See [`SortJob::new`](crate::SortJob::new).
    pub fn run(&self) -> Result<(), Error> {
        self.0.run()
    }

    /// Runs the sort, waits, and returns its GPU time; with [`Detail::Phases`], that of each phase,
    /// too.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), and [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// use wgpu_bcfsort::Detail;
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let keys = sorter.upload(&[7_u32; 5000])?;
    /// let sort = SortJob::new(Keys::new(&keys, KeyType::U32), 5000).prepare(&sorter)?;
    /// println!("5000 keys: {:?}", sort.profile(Detail::Whole)?.total);
    /// for phase in sort.profile(Detail::Phases)?.phases {
    ///     println!("{}: {:?}", phase.phase, phase.time);
    /// }
    /// # Ok(()) }
    /// ```
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

    /// A scratch buffer of the sort by its role, to inspect after a run. `None` if the sort has
    /// none.
    pub(crate) fn scratch(&self, buffer: Buffer) -> Option<&wgpu::Buffer> {
        let needed = self.0.recording.buffers.contains_key(&buffer);
        self.0.buffers.get(&buffer).filter(|_| needed)
    }

    /// The recorded dispatches.
    pub(crate) const fn recorded(&self) -> &Recording {
        &self.0.recording
    }
}
