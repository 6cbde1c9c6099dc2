//! What to sort in GPU buffers, and what comes out.

use crate::comparator::Comparator;
use crate::gpu::binding::{BufferRange, ToBinding};
use crate::gpu::prepared::BufferSet;
use crate::job::{self, BufferSort, Destination, Field};
use crate::key::KeyType;
use crate::order::Order;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Describes one sort of GPU buffers: where the keys are, what comes out, and what is limited.
/// [`Sorter::prepare`](crate::Sorter::prepare) checks it and makes it ready to be recorded.
///
/// | which records | constructor |
/// |---|---|
/// | keys, or structs by a field | [`new`](Self::new) |
/// | the same, to get the indices only | [`argsort`](Self::argsort) |
/// | structs by a custom comparator | [`by`](Self::by) |
/// | many segments, each by itself | [`segmented`](SortJob::segmented) |
///
/// | what comes out | method | without it |
/// |---|---|---|
/// | the direction | [`order`](Self::order) | ascending |
/// | sorted keys or structs in another buffer | [`output`](Self::output) | in place |
/// | no sorted keys: they are read-only | [`keep_keys`](Self::keep_keys) | |
/// | a 32-bit value with each key | [`values`](Self::values) | none |
/// | rows of any size with each key, in order of the input where keys are equal | [`payload`](Self::payload) | none |
/// | the index of each record | [`indices`](Self::indices) | none |
/// | only the first k, or some ranks | [`top`](Self::top), [`range`](Self::range) | all |
///
/// | where it runs | method | without it |
/// |---|---|---|
/// | a record count in a GPU buffer | [`len_from`](Self::len_from) | `len` |
/// | scratch memory shared with other sorts | [`scratch`](Self::scratch) | its own |
///
/// All of these combine. What does not, a partial sort or a comparator with segments, has no
/// method.
///
/// A sort takes O(n log n) time, and of packed keys alone O(n). It is stable but for
/// [`values`](Self::values). Every buffer needs the usage `STORAGE`, and must be another one:
/// a buffer cannot be given twice.
///
/// # Scratch memory
///
/// [`Sorter::scratch_size`](crate::Sorter::scratch_size) computes it. It is at most 16 MiB and
///
/// - 1.15 times the bytes of the keys, and of [`values`](Self::values) or
///   [`indices`](Self::indices), where keys of 32 or 64 bits are sorted in place, or keys alone out
///   of place, and all ranges begin at a multiple of 256 bytes;
/// - half a mebibyte for packed keys alone, if they are more than a
///   [few tiles](crate::Tuning::merged);
/// - otherwise 2.5 times the composed records, plus the largest in-place payload buffer.
///   A composed record is a key of 4 or 8 bytes (packed keys: 4), 4 bytes more
///   with segments, and 4 for the index if there is payload. With a comparator it is the index.
///
/// # Current implementation
///
/// Plain keys, and plain keys with one value or index, are sorted in the caller's buffers. All else
/// is encoded to scratch memory, sorted there as words, and decoded: two dispatches more, each one
/// pass over the keys. With payload the keys are sorted with their indices (an argsort), and each
/// payload is gathered by these: one dispatch out of place, two in place. An argsort of segments of
/// 64-bit keys takes two passes.
///
/// # Examples
///
/// The indices of the three highest scores:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, Order, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let scores = sorter.upload(&[0.5_f32, 9.0, 0.25, 7.0, 8.0])?;
/// let owners = sorter.upload(&[0_u32; 5])?;
/// let job = SortJob::argsort(Keys::new(&scores, KeyType::F32), &owners, 5)
///     .order(Order::Descending)
///     .top(3);
/// sorter.prepare(&job)?.run()?;
/// assert_eq!(sorter.download::<u32>(&owners)?[..3], [1, 4, 3]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "Sorter::prepare makes a sort of it"]
pub struct SortJob<'a, Kind = Whole> {
    pub(super) job: BufferSort<BufferRange<'a>>,
    pub(super) scratch: Option<&'a Scratch>,
    kind: PhantomData<Kind>,
}

/// A [`SortJob`] of segments: one range of keys that is many arrays, each sorted by itself. Made by
/// [`SortJob::segmented`].
pub type SegmentedSortJob<'a> = SortJob<'a, Segmented>;

/// Marks a [`SortJob`] that sorts all records together.
#[derive(Clone, Copy, Debug)]
pub struct Whole(());

/// Marks a [`SortJob`] that sorts each segment by itself.
#[derive(Clone, Copy, Debug)]
pub struct Segmented(());

/// Where the keys of a sort are, and of which type they are.
///
/// # Examples
///
/// See [`new`](Self::new) and [`strided`](Self::strided).
#[derive(Clone, Debug)]
pub struct Keys<'a> {
    range: BufferRange<'a>,
    pub(super) key: KeyType,
    field: Option<Field>,
}

impl<'a> Keys<'a> {
    /// Contiguous keys: the first ones of a range of a buffer.
    ///
    /// Keys of 8 and 16 bits are packed. As many bytes as they take are read and written; others of
    /// the last word are left as they are.
    ///
    /// # Examples
    ///
    /// Seven of eight bytes:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let bytes = sorter.upload(b"bcfsort!")?;
    /// sorter.prepare(&SortJob::new(Keys::new(&bytes, KeyType::U8), 7))?.run()?;
    /// assert_eq!(sorter.download::<u8>(&bytes)?, b"bcforst!");
    /// # Ok(()) }
    /// ```
    pub fn new(keys: impl ToBinding<'a>, key: KeyType) -> Self {
        Self {
            range: keys.to_range(),
            key,
            field: None,
        }
    }

    /// Strided keys: a field of the structs in a range of a buffer (array of structs). The structs
    /// are what moves.
    ///
    /// # Examples
    ///
    /// Particles, farthest first:
    ///
    /// ```
    /// use wgpu_bcfsort::{Field, KeyType, Keys, Options, Order, SortJob, Sorter};
    ///
    /// #[repr(C)]
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// struct Particle {
    ///     position: [f32; 3],
    ///     depth: f32,
    /// }
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let particle = |depth| Particle { position: [0.0; 3], depth };
    /// let particles = sorter.upload(&[1.0, 9.0, 3.0].map(particle))?;
    /// let depth = Field {
    ///     stride: size_of::<Particle>() as u32,
    ///     offset: std::mem::offset_of!(Particle, depth) as u32,
    /// };
    /// let keys = Keys::strided(&particles, KeyType::F32, depth);
    /// sorter.prepare(&SortJob::new(keys, 3).order(Order::Descending))?.run()?;
    /// let sorted = sorter.download::<Particle>(&particles)?;
    /// assert_eq!(sorted[0].depth, 9.0);
    /// # Ok(()) }
    /// ```
    pub fn strided(structs: impl ToBinding<'a>, key: KeyType, field: Field) -> Self {
        Self {
            range: structs.to_range(),
            key,
            field: Some(field),
        }
    }
}

/// Data that moves with the keys: a row of some bytes for each key, in a buffer of its own
/// (structure of arrays).
///
/// # Examples
///
/// Rows of 8 and of 4 bytes:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, Payload, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let cells = sorter.upload(&[7_u32, 3])?;
/// let positions = sorter.upload(&[[0.7_f32, 0.1], [0.3, 0.2]])?;
/// let names = sorter.upload(&[700_u32, 300])?;
/// let job = SortJob::new(Keys::new(&cells, KeyType::U32), 2)
///     .payload(Payload::new(&positions, 8))
///     .payload(Payload::new(&names, 4));
/// sorter.prepare(&job)?.run()?;
/// assert_eq!(sorter.download::<[f32; 2]>(&positions)?, [[0.3, 0.2], [0.7, 0.1]]);
/// assert_eq!(sorter.download::<u32>(&names)?, [300, 700]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Payload<'a>(job::Payload<BufferRange<'a>>);

impl<'a> Payload<'a> {
    /// Rows of `bytes` bytes each, a multiple of 4. They move in place, by way of scratch memory.
    pub fn new(rows: impl ToBinding<'a>, bytes: u32) -> Self {
        Self(job::Payload {
            rows: rows.to_range(),
            bytes,
            output: None,
            unstable: false,
        })
    }

    /// Writes the sorted rows to another buffer, out of place: they move once, and take no scratch
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, Payload, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let cells = sorter.upload(&[7_u32, 3, 5])?;
    /// let names = sorter.upload(&[70_u32, 30, 50])?;
    /// let sorted = sorter.upload(&[0_u32; 3])?;
    /// let job = SortJob::new(Keys::new(&cells, KeyType::U32), 3)
    ///     .keep_keys()
    ///     .payload(Payload::new(&names, 4).output(&sorted));
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&cells)?, [7, 3, 5]);
    /// assert_eq!(sorter.download::<u32>(&sorted)?, [30, 50, 70]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn output(mut self, rows: impl ToBinding<'a>) -> Self {
        self.0.output = Some(rows.to_range());
        self
    }
}

impl<'a> SortJob<'a> {
    /// Sorts the first `len` keys, or structs by a field, in ascending order and in place.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[8_u32, 6, 6, 5, 3, 0, 9])?;
    /// sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::U32), 7))?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [0, 3, 5, 6, 6, 8, 9]);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "as every part of a job")]
    pub const fn new(keys: Keys<'a>, len: u64) -> Self {
        let Keys { range, key, field } = keys;
        Self {
            job: BufferSort::new(range, key, field, len),
            scratch: None,
            kind: PhantomData,
        }
    }

    /// Writes the indices that would sort the first `len` keys, or structs by a field, and leaves
    /// these as they are: `keys[indices[i]]` is the i-th in order. Stable.
    ///
    /// It is [`new`](Self::new) with [`keep_keys`](Self::keep_keys) and
    /// [`indices`](Self::indices).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[2.5_f64, 0.5, 2.5, 9.0])?;
    /// let indices = sorter.upload(&[0_u32; 4])?;
    /// let job = SortJob::argsort(Keys::new(&keys, KeyType::F64), &indices, 4);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&indices)?, [1, 0, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn argsort(keys: Keys<'a>, indices: impl ToBinding<'a>, len: u64) -> Self {
        Self::new(keys, len).keep_keys().indices(indices)
    }

    /// Sorts the first `len` structs of a range by a custom comparator, in place. Stable.
    ///
    /// O(n log n) comparisons, each of which reads two structs. An order that a key of up to 64
    /// bits can express is faster as a [strided](Keys::strided) key: 2^24 structs of 16 bytes take
    /// an H200 4.5 ms by two fields with a comparator, and 1.7 by one field. With
    /// [`Order::Descending`] the order is reversed.
    ///
    /// The structs must lie in the buffer as the comparator's WGSL declares them:
    /// [`Comparator::of`] checks that for a Rust type. The range begins at a multiple of 256 bytes.
    ///
    /// # Examples
    ///
    /// Points by their distance from the origin:
    ///
    /// ```
    /// use wgpu_bcfsort::{Comparator, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let nearest = Comparator::new(
    ///     "struct Point { at: vec2<f32> }
    ///     fn precedes(a: Point, b: Point) -> bool {
    ///         return dot(a.at, a.at) < dot(b.at, b.at);
    ///     }",
    /// )?;
    /// let sorter = Sorter::open(Options::default())?;
    /// let points = sorter.upload(&[[3.0_f32, 4.0], [0.0, -1.0], [2.0, 2.0]])?;
    /// sorter.prepare(&SortJob::by(&points, &nearest, 3))?.run()?;
    /// let sorted = sorter.download::<[f32; 2]>(&points)?;
    /// assert_eq!(sorted, [[0.0, -1.0], [2.0, 2.0], [3.0, 4.0]]);
    /// # Ok(()) }
    /// ```
    pub fn by(structs: impl ToBinding<'a>, comparator: &Comparator, len: u64) -> Self {
        let stride = comparator.row_words() * 4;
        let keys = Keys::strided(structs, KeyType::U32, Field { stride, offset: 0 });
        let mut job = Self::new(keys, len);
        job.job.comparator = Some(comparator.clone());
        job
    }

    /// Sorts only the first `k` ranks, which is a partial sort: the k smallest, or with
    /// [`Order::Descending`] the k largest (top-k). All records if there are fewer than `k`.
    ///
    /// It is [`range`](Self::range)`(0..k)`.
    ///
    /// # Examples
    ///
    /// See [`SortJob`].
    pub fn top(self, k: u64) -> Self {
        let len = self.job.len;
        self.range(0..k.min(len))
    }

    /// Sorts only some ranks. The records of lower ranks come before them in any order, and those
    /// of higher ranks after them.
    ///
    /// `0..k` is a partial sort (top-k), `k..k` a partition around the k-th record, and
    /// `n..n + 1` an `nth_element`.
    ///
    /// It saves sorting the rest, which is moved all the same: of 2^24 records on an H200, the
    /// first 100 take 0.64 of the time of a whole sort with 32-bit keys, 0.56 with indices and 0.34
    /// with a comparator. Few records (up to [`Tuning::merged`](crate::Tuning::merged)) are sorted
    /// as a whole, and so are all with an engine other than the sample sort.
    ///
    /// With [`len_from`](Self::len_from), ranks beyond the count are left as they are.
    ///
    /// # Errors
    ///
    /// [`InvalidOption`](crate::Error::InvalidOption) from
    /// [`Sorter::prepare`](crate::Sorter::prepare) if the range ends beyond `len` or before it
    /// begins.
    ///
    /// # Examples
    ///
    /// The median of five:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[5_i32, -1, 8, 3, 2])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::I32), 5).range(2..3);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<i32>(keys.slice(8..12))?, [3]);
    /// # Ok(()) }
    /// ```
    pub fn range(mut self, ranks: Range<u64>) -> Self {
        self.job.range = Some(ranks);
        self
    }
}

impl<'a> SortJob<'a, Segmented> {
    /// Sorts each of `count` segments of the first `len` keys by itself, in place.
    ///
    /// `offsets` holds `count` ascending u32: the index of the first record of each segment. A
    /// segment ends where the next one begins, and the last one at `len`. Records before the first
    /// offset are a segment, too. Segments may be empty, and of any number and any sizes: it is one
    /// sort of all records by (segment, key), and takes its time.
    ///
    /// A composed record of segment and key takes at least 8 bytes. [Indices](Self::indices) are
    /// positions in the whole buffer. The [order](Self::order) is that within each segment. If
    /// offsets do not ascend, every record is still there once, with its payload, but in an order
    /// that is not specified.
    ///
    /// # Examples
    ///
    /// Three segments, of which the second one is empty:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[3_u32, 1, 2, 9, 8])?;
    /// let offsets = sorter.upload(&[0_u32, 3, 3])?;
    /// let job = SortJob::segmented(Keys::new(&keys, KeyType::U32), 5, &offsets, 3);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3, 8, 9]);
    /// # Ok(()) }
    /// ```
    pub fn segmented(keys: Keys<'a>, len: u64, offsets: impl ToBinding<'a>, count: u32) -> Self {
        let mut job = SortJob::new(keys, len).job;
        job.segments = Some((offsets.to_range(), count));
        Self {
            job,
            scratch: None,
            kind: PhantomData,
        }
    }
}

impl<'a, Kind> SortJob<'a, Kind> {
    /// Sets the direction, which changes neither time nor memory. Descending sorts are stable as
    /// ascending ones: records of equal keys stay in the order of the input.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, Order, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[0.5_f32, 2.0, -1.0])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::F32), 3).order(Order::Descending);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<f32>(&keys)?, [2.0, 0.5, -1.0]);
    /// # Ok(()) }
    /// ```
    pub const fn order(mut self, order: Order) -> Self {
        self.job.order = order;
        self
    }

    /// Writes the sorted keys, or the structs that they are fields of, to another buffer, out of
    /// place. The input is read-only.
    ///
    /// Payload moves in its own buffer unless it has an [output](Payload::output), too. Keys alone
    /// take no more scratch memory than in place.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[7_u32, 3, 5])?;
    /// let sorted = sorter.upload(&[0_u32; 3])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32), 3).output(&sorted);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [7, 3, 5]);
    /// assert_eq!(sorter.download::<u32>(&sorted)?, [3, 5, 7]);
    /// # Ok(()) }
    /// ```
    pub fn output(mut self, sorted: impl ToBinding<'a>) -> Self {
        self.job.output = Destination::Buffer(sorted.to_range());
        self
    }

    /// Leaves the keys, or the structs that they are fields of, as they are. Only payload and
    /// indices are written.
    ///
    /// # Examples
    ///
    /// See [`Payload::output`].
    pub fn keep_keys(mut self) -> Self {
        self.job.output = Destination::None;
        self
    }

    /// Moves a 32-bit value with each key: a key-value sort, as fast as it can be.
    ///
    /// It permutes the values that are in the buffer: a program that sorts the same buffers in each
    /// frame writes the values anew, or uses [`indices`](Self::indices).
    ///
    /// Values of equal keys end in an order that is not specified, but is the same in every run and
    /// on every device. For a stable key-value sort use [`payload`](Self::payload) with rows of 4
    /// bytes: it takes 1.6 times as long for 2^24 keys of 32 bits on an H200.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[3_u32, 1, 2])?;
    /// let values = sorter.upload(&[30_u32, 10, 20])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32), 3).values(&values);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
    /// assert_eq!(sorter.download::<u32>(&values)?, [10, 20, 30]);
    /// # Ok(()) }
    /// ```
    pub fn values(self, values: impl ToBinding<'a>) -> Self {
        let mut values = Payload::new(values, 4);
        values.0.unstable = true;
        self.payload(values)
    }

    /// Moves a row of payload with each key. Stable: rows of equal keys stay in the order of the
    /// input. Called again, it adds another buffer, up to 64.
    ///
    /// Keys are sorted with their indices, and each row moves once by these, or twice if in place:
    /// the size of a row adds no more than the time to move it.
    ///
    /// # Examples
    ///
    /// See [`Payload`].
    pub fn payload(mut self, payload: Payload<'a>) -> Self {
        self.job.payload.push(payload.0);
        self
    }

    /// Writes the index that each record had, a u32, in the sorted order. Equal keys have ascending
    /// indices: the sort is stable.
    ///
    /// Indices count from the first record of the range of keys.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[3_u32, 1, 2])?;
    /// let indices = sorter.upload(&[0_u32; 3])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32), 3).indices(&indices);
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3]);
    /// assert_eq!(sorter.download::<u32>(&indices)?, [1, 2, 0]);
    /// # Ok(()) }
    /// ```
    pub fn indices(mut self, indices: impl ToBinding<'a>) -> Self {
        self.job.indices = Some(indices.to_range());
        self
    }

    /// Reads the number of records from a GPU buffer when the sort runs (indirect count): a u32 at
    /// the beginning of the range. The host need not know it. A larger number than `len` counts as
    /// `len`. Records beyond it are left as they are.
    ///
    /// It takes no more scratch memory. It always dispatches the workgroups that `len` records
    /// need: idle ones take up to 0.1 ms on an H200 (2^24 records take 0.66 ms, a hundredth of them
    /// 0.10 ms), and more on a CPU.
    ///
    /// # Examples
    ///
    /// The count is the second word of a buffer that a shader writes:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[5_u32, 4, 3, 2, 1])?;
    /// let counts = sorter.upload(&[0_u32, 3])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32), 5).len_from(counts.slice(4..));
    /// sorter.prepare(&job)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [3, 4, 5, 2, 1]);
    /// # Ok(()) }
    /// ```
    pub fn len_from(mut self, count: impl ToBinding<'a>) -> Self {
        self.job.count = Some(count.to_range());
        self
    }

    /// Shares scratch memory with other sorts, which grows to what is needed. Without, a sort has
    /// memory of its own, which is freed with it.
    ///
    /// # Examples
    ///
    /// See [`Scratch`].
    pub const fn scratch(mut self, scratch: &'a Scratch) -> Self {
        self.scratch = Some(scratch);
        self
    }
}

/// Scratch memory that several sorts share. Each buffer is as large as the largest sort needs.
///
/// The sorts must not run at the same time. Sorts that are recorded one after the other, into one
/// encoder or several, do not; but between two [chunks](crate::PreparedSort::record_chunk) of a
/// sort no other that shares its memory may run: otherwise the outputs of both are unspecified, as
/// [`record_chunk`](crate::PreparedSort::record_chunk) says. A sort keeps the buffers it was
/// prepared with: prepare the largest sort first. Scratch memory belongs to one device.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, Scratch, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let keys = sorter.upload(&vec![7_u32; 5000])?;
/// let scratch = Scratch::default();
/// let job = |len| SortJob::new(Keys::new(&keys, KeyType::U32), len).scratch(&scratch);
/// let all = sorter.prepare(&job(5000))?;
/// let bytes = scratch.bytes();
/// assert_eq!(bytes, sorter.scratch_size(&job(5000))?);
/// // A smaller sort takes no more.
/// let few = sorter.prepare(&job(3000))?;
/// assert_eq!(scratch.bytes(), bytes);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    buffers: Mutex<BufferSet>,
}

impl Scratch {
    /// Its bytes of device memory: 0 before the first sort is prepared with it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.buffers().values().map(wgpu::Buffer::size).sum()
    }

    pub(super) fn buffers(&self) -> std::sync::MutexGuard<'_, BufferSet> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
