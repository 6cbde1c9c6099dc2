//! A sort that is ready to be recorded.

use crate::Error;
use crate::gpu::executor::{Detail, Profile};
use crate::gpu::ready::Ready;
use crate::gpu::waiting::Waiting;
use crate::recording::{Buffer, Phase, Recording};

/// A sort whose every GPU object is made: recording it cannot fail, makes no object, submits
/// nothing and waits for nothing.
///
/// Made by [`Sorter::prepare`](crate::Sorter::prepare), or as a check by
/// [`Sorter::prepare_is_sorted`](crate::Sorter::prepare_is_sorted). Record or run it any number of
/// times, also twice in one submission. It keeps the user's buffers and its scratch memory alive,
/// which is its own or [shared](crate::Scratch), and 256 bytes for each dispatch.
///
/// # Examples
///
/// Recorded into an encoder of the program's own, each frame:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let (device, queue) = (sorter.device(), sorter.queue());
/// let keys = sorter.upload(&[3_u32, 1, 2])?;
/// // Once:
/// let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 3))?;
/// // Each frame:
/// let mut encoder = device.create_command_encoder(&Default::default());
/// sort.record(&mut encoder);
/// queue.submit([encoder.finish()]);
/// # assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
/// # Ok(()) }
/// ```
pub struct PreparedSort(pub(super) Ready);

impl std::fmt::Debug for PreparedSort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fields(f, "PreparedSort")
    }
}

impl PreparedSort {
    /// Records the sort into a command encoder.
    ///
    /// All of it runs in the submission that the encoder is part of. A driver's watchdog ends
    /// submissions of some seconds: where there are several [`chunks`](Self::chunks), record them
    /// one by one. By default that is, of 32-bit keys with the sample sort, beyond 2^27 keys on
    /// GPUs with memory of their own, and beyond 2^24 on others.
    ///
    /// # Examples
    ///
    /// See [`PreparedSort`].
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        self.0.record(encoder);
    }

    /// Records the sort into a compute pass, between other dispatches. It leaves the pass with
    /// another pipeline and another bind group 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let (device, queue) = (sorter.device(), sorter.queue());
    /// # let keys = sorter.upload(&[3_u32, 1, 2])?;
    /// let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 3))?;
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// // Dispatches that write the keys, and then:
    /// sort.record_in_pass(&mut pass);
    /// // Dispatches that read them.
    /// drop(pass);
    /// queue.submit([encoder.finish()]);
    /// # assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn record_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.0.prepared.encode_in_pass(pass);
    }

    /// Records the sort with timestamps: each of its [phases](Self::timed_phases) is a compute pass
    /// that writes its beginning and its end to two queries, from query `first` on.
    ///
    /// Resolve the queries when you like: nothing is waited for, as
    /// [`run_profiled`](Self::run_profiled) does. Small sorts take longer in several passes. The
    /// device needs [`wgpu::Features::TIMESTAMP_QUERY`], and the query set two queries for each
    /// phase; wgpu checks that when the encoder is finished.
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
    /// let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 5000))?;
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
    /// // Phase i took the ticks between numbers 2 i and 2 i + 1.
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
        self.0.prepared.encode_timed(encoder, queries, first);
    }

    /// The phases that [`record_timed`](Self::record_timed) times, in order. One may come again. A
    /// sort of one key has none.
    #[must_use]
    pub fn timed_phases(&self) -> Vec<Phase> {
        self.0.prepared.timed_phases().collect()
    }

    /// The number of parts into which a long sort can be cut, so that no submission runs long: see
    /// [`record_chunk`](Self::record_chunk). 0 if there is nothing to do.
    ///
    /// Each chunk moves up to 4 times [`Options::keys_per_dispatch`](crate::Options) keys: by
    /// default 2^30 on GPUs with memory of their own, and 2^27 on others. A sort moves its keys
    /// several times.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.0.prepared.submissions()
    }

    /// Records one of the [`chunks`](Self::chunks), numbered from 0.
    ///
    /// Submit all of them in order; together they are the sort. Between two of them nothing else
    /// may use the sort's buffers or its scratch memory. Other work that is submitted in between
    /// runs there: a frame waits for a chunk, and not for the sort.
    ///
    /// # Panics
    ///
    /// If there is no such chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let keys = sorter.upload(&[3_u32, 1, 2])?;
    /// let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 3))?;
    /// for chunk in 0..sort.chunks() {
    ///     let mut encoder = sorter.device().create_command_encoder(&Default::default());
    ///     sort.record_chunk(&mut encoder, chunk);
    ///     sorter.queue().submit([encoder.finish()]);
    /// }
    /// # assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn record_chunk(&self, encoder: &mut wgpu::CommandEncoder, chunk: usize) {
        self.0.prepared.encode(encoder, chunk);
    }

    /// Submits the sort to the queue, in as many submissions as it has [`chunks`](Self::chunks),
    /// and does not wait. Whatever is submitted next sees the result.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`]; [`Error::Device`] if wgpu refuses the submission, as for a buffer
    /// that is mapped or destroyed.
    ///
    /// # Examples
    ///
    /// See [`SortJob::new`](crate::SortJob::new).
    pub fn run(&self) -> Result<(), Error> {
        self.0.run()
    }

    /// Submits the sort, waits, and returns the time that it took on the GPU as a whole: all
    /// dispatches in one compute pass, as [`record`](Self::record) has them. The profile has no
    /// phases.
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
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let keys = sorter.upload(&[7_u32; 5000])?;
    /// let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 5000))?;
    /// println!("5000 keys: {:?}", sort.run_timed()?.total);
    /// # Ok(()) }
    /// ```
    pub fn run_timed(&self) -> Result<Profile, Error> {
        pollster::block_on(self.0.measure(Detail::Whole, Waiting::Block))
    }

    /// Submits the sort, waits, and returns the time that each phase took on the GPU, each in a
    /// compute pass of its own: small sorts take longer so.
    ///
    /// # Errors
    ///
    /// Those of [`run_timed`](Self::run_timed).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// # use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let keys = sorter.upload(&[7_u32; 5000])?;
    /// let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 5000))?;
    /// for phase in sort.run_profiled()?.phases {
    ///     println!("{}: {:?}", phase.phase, phase.time);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn run_profiled(&self) -> Result<Profile, Error> {
        pollster::block_on(self.0.measure(Detail::Phases, Waiting::Block))
    }

    /// A buffer of the sort's scratch memory, to look into after it ran; `None` if the sort has
    /// none of this role.
    pub(crate) fn scratch(&self, buffer: Buffer) -> Option<&wgpu::Buffer> {
        let needed = self.0.recording.buffers.contains_key(&buffer);
        self.0.buffers.get(&buffer).filter(|_| needed)
    }

    /// The dispatches.
    pub(crate) const fn recorded(&self) -> &Recording {
        &self.0.recording
    }
}
