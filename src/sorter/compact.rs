//! Stream compaction: the records that are flagged, or that a predicate keeps.

use super::{Keys, Payload, PreparedSort, Runs, Scratch, SortJob, Sorter};
use crate::error::{BufferRole, Error};
use crate::gpu::binding::ToBinding;
use crate::job::Field;
use crate::key::KeyType;
use crate::layout::Heads;
use crate::row_function::Predicate;

/// Keeps the records whose flag is not 0, or that a [`Predicate`] keeps, in their order, and counts
/// them: stream compaction.
///
/// A flag is a number of any [`KeyType`](crate::KeyType), of which any bit is set. One of 8 bits
/// for each record is the fastest to read; a [field](Keys::strided) of structs can be one, too.
/// Flags and records are read-only.
///
/// | what comes out | method |
/// |---|---|
/// | the number of records that are kept | [`new`](Self::new), [`by`](Self::by) |
/// | the index of each | [`indices`](Self::indices) |
/// | a row of each | [`rows`](Self::rows) |
///
/// It is recorded as a sort is, creates no object in a frame, and may take the number of records
/// [from a GPU buffer](Self::len_from). The number that it writes can be that of a sort or of
/// another compaction. The result is the same on every device, with a predicate if the numbers that
/// it computes are.
///
/// O(n) time: three dispatches, and two for each buffer of rows. Scratch memory is a bit per record
/// and a KiB for 2^20; with rows but no indices, 4 bytes more per record.
///
/// # Examples
///
/// Particles that are alive:
///
/// ```
/// use wgpu_bcfsort::{CompactJob, KeyType, Keys, Options, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let is_alive = sorter.upload(&[1_u8, 0, 0, 1, 1])?;
/// let positions = sorter.upload(&[[0.0_f32, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5], [4.0, 4.5]])?;
/// let kept = sorter.upload(&[[0.0_f32; 2]; 5])?;
/// let count = sorter.upload(&[0_u32])?;
/// let alive = CompactJob::new(Keys::new(&is_alive, KeyType::U8), 5, &count)
///     .rows(&positions, 8, &kept)
///     .prepare(&sorter)?;
/// alive.run()?;
/// assert_eq!(sorter.download::<u32>(&count)?, [3]);
/// let kept = sorter.download::<[f32; 2]>(&kept)?;
/// assert_eq!(kept[..3], [[0.0, 0.5], [3.0, 3.5], [4.0, 4.5]]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "CompactJob::prepare makes it ready"]
pub struct CompactJob<'a>(SortJob<'a>);

impl<'a> CompactJob<'a> {
    /// Reads the first `len` flags, and writes the number of those that are not 0, a u32, to the
    /// beginning of `count`.
    ///
    /// # Examples
    ///
    /// See [`CompactJob`].
    pub fn new(flags: Keys<'a>, len: u64, count: impl ToBinding<'a>) -> Self {
        let mut runs = Runs::new(count);
        runs.0.heads = Heads::OfFlags;
        Self(SortJob::of_sorted(flags, len).runs(runs))
    }

    /// Reads the first `len` rows, and writes the number of those that a predicate keeps, a u32, to
    /// the beginning of `count`.
    ///
    /// The rows begin at a multiple of 256 bytes, and are read-only. To get those that are kept,
    /// name the same range in [`rows`](Self::rows), too. In errors they have the role
    /// [`Flags`](BufferRole::Flags).
    ///
    /// # Examples
    ///
    /// The indices of the numbers from 10 to 99; [`Predicate`] has an example with structs:
    ///
    /// ```
    /// use wgpu_bcfsort::{CompactJob, Options, Predicate, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let has_two_digits = Predicate::new(
    ///     "struct Row { number: u32 }
    ///     fn keeps(row: Row) -> bool { return row.number >= 10u && row.number < 100u; }",
    /// )?;
    /// let sorter = Sorter::open(Options::default())?;
    /// let numbers = sorter.upload(&[7_u32, 10, 812, 99, 100])?;
    /// let (count, indices) = (sorter.upload(&[0_u32])?, sorter.upload(&[0_u32; 5])?);
    /// let job = CompactJob::by(&numbers, &has_two_digits, 5, &count).indices(&indices);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&count)?, [2]);
    /// assert_eq!(sorter.download::<u32>(&indices)?[..2], [1, 3]);
    /// # Ok(()) }
    /// ```
    pub fn by(
        rows: impl ToBinding<'a>,
        predicate: &Predicate,
        len: u64,
        count: impl ToBinding<'a>,
    ) -> Self {
        let field = Field {
            stride: predicate.row_words() * 4,
            offset: 0,
        };
        let mut job = Self::new(Keys::strided(rows, KeyType::U32, field), len, count);
        if let Some(runs) = &mut job.0.job.runs {
            runs.heads = Heads::OfPredicate;
        }
        job.0.job.predicate = Some(predicate.clone());
        job
    }

    /// Writes the index of each record that is kept, a u32, in ascending order. There must be room
    /// for all records.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{CompactJob, KeyType, Keys, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let flags = sorter.upload(&[0_u32, 7, 1, 0])?;
    /// let (count, indices) = (sorter.upload(&[0_u32])?, sorter.upload(&[0_u32; 4])?);
    /// let flags = Keys::new(&flags, KeyType::U32);
    /// CompactJob::new(flags, 4, &count).indices(&indices).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&indices)?[..2], [1, 2]);
    /// # Ok(()) }
    /// ```
    pub fn indices(mut self, indices: impl ToBinding<'a>) -> Self {
        if let Some(runs) = &mut self.0.job.runs {
            runs.starts = Some(indices.to_range());
        }
        self
    }

    /// Writes the row of each record that is kept to `kept`: of `bytes` bytes, a multiple of 4.
    /// There must be room for the rows of all records. Called again, it adds another buffer, up to
    /// 64.
    ///
    /// # Examples
    ///
    /// See [`CompactJob`].
    pub fn rows(mut self, rows: impl ToBinding<'a>, bytes: u32, kept: impl ToBinding<'a>) -> Self {
        self.0 = self.0.payload(Payload::new(rows, bytes).firsts(kept));
        self
    }

    /// Reads the number of records from a GPU buffer: see [`SortJob::len_from`].
    ///
    /// # Examples
    ///
    /// What one compaction keeps has the flags of another:
    ///
    /// ```
    /// use wgpu_bcfsort::{CompactJob, KeyType, Keys, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let flags = sorter.upload(&[3_u32, 0, 2, 5])?;
    /// let [kept, twice] = [(); 2].map(|()| sorter.upload(&[9_u32; 4]));
    /// let [first, second] = [(); 2].map(|()| sorter.upload(&[0_u32]));
    /// let (kept, twice, first, second) = (kept?, twice?, first?, second?);
    /// let levels = sorter.upload(&[0_u32, 9, 1, 0])?;
    /// let all = CompactJob::new(Keys::new(&flags, KeyType::U32), 4, &first);
    /// all.rows(&levels, 4, &kept).prepare(&sorter)?.run()?;
    /// let some = CompactJob::new(Keys::new(&kept, KeyType::U32), 4, &second).len_from(&first);
    /// some.indices(&twice).prepare(&sorter)?.run()?;
    /// // Of records 0, 2 and 3 with levels 0, 1 and 0, the second one.
    /// assert_eq!(sorter.download::<u32>(&second)?, [1]);
    /// assert_eq!(sorter.download::<u32>(&twice)?, [1, 9, 9, 9]);
    /// # Ok(()) }
    /// ```
    pub fn len_from(mut self, count: impl ToBinding<'a>) -> Self {
        self.0 = self.0.len_from(count);
        self
    }

    /// Shares scratch memory with sorts: see [`SortJob::scratch`].
    pub const fn scratch(mut self, scratch: &'a Scratch) -> Self {
        self.0.scratch = Some(scratch);
        self
    }

    /// Makes every GPU object, so that it can be recorded any number of times.
    ///
    /// # Errors
    ///
    /// Those of [`SortJob::prepare`]. In them the flags, or the rows that a predicate reads, have
    /// the role [`Flags`](BufferRole::Flags), and rows that are kept
    /// [`PayloadOutput`](BufferRole::PayloadOutput).
    ///
    /// # Examples
    ///
    /// See [`CompactJob`].
    pub fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        self.0.prepare(sorter).map_err(named)
    }

    /// Bytes of scratch memory: see [`SortJob::scratch_size`].
    ///
    /// # Errors
    ///
    /// Those of [`SortJob::scratch_size`].
    pub fn scratch_size(&self, sorter: &Sorter) -> Result<u64, Error> {
        self.0.scratch_size(sorter).map_err(named)
    }
}

/// The error, with the roles that the buffers have in a compaction.
fn named(error: Error) -> Error {
    error.with_roles(|role| match role {
        BufferRole::Keys => BufferRole::Flags,
        BufferRole::RunStarts => BufferRole::Indices,
        BufferRole::RunCount => BufferRole::Kept,
        BufferRole::RunPayload(number) => BufferRole::PayloadOutput(number),
        role => role,
    })
}
