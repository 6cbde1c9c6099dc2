//! What to sort in GPU buffers, and what comes out.

use super::{PreparedSort, Sorter};
use crate::at_once::lock;
use crate::error::Error;
use crate::gpu::binding::{BufferRange, ToBinding, bind_all};
use crate::gpu::faults::{call, settled};
use crate::gpu::prepared::BufferSet;
use crate::job::{self, BufferSort, Destination, Field, Fields, KeyField};
use crate::key::KeyType;
use crate::layout::Heads;
use crate::order::Order;
use crate::row_function::Comparator;
use std::ops::Range;
use std::sync::Mutex;

/// Describes one sort of GPU buffers: where the keys are, what comes out, and what is limited.
/// [`prepare`](Self::prepare) checks it and makes it ready to be recorded.
///
/// | which records | constructor |
/// |---|---|
/// | keys, or structs by a field | [`new`](Self::new) |
/// | the same, to get the indices only | [`argsort`](Self::argsort) |
/// | structs by a custom comparator | [`by`](Self::by) |
/// | keys that are in order already | [`of_sorted`](Self::of_sorted) |
/// | many segments, each by itself | [`segmented`](SortJob::segmented), [`segmented_by`](SortJob::segmented_by) |
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
/// | what is found among the sorted keys | method |
/// |---|---|
/// | each key once, and the number of different keys | [`unique`](Self::unique) |
/// | where the runs of equal keys begin, and how long they are | [`runs`](Self::runs) |
/// | where the records of each cell begin, for keys that are cell numbers | [`starts_of`](Self::starts_of) |
/// | where other keys would be | [`lower_bound`](Self::lower_bound), [`upper_bound`](Self::upper_bound) |
///
/// | where it runs | method | without it |
/// |---|---|---|
/// | a record count in a GPU buffer | [`len_from`](Self::len_from) | `len` |
/// | scratch memory shared with other sorts | [`scratch`](Self::scratch) | its own |
///
/// All of these combine. Only what is found among sorted keys needs keys that are all in order: not
/// with a range of ranks, and with segments or a comparator only runs. By some [bits](Keys::bits),
/// or several [fields](Keys::fields), not all of it is found.
///
/// A sort takes O(n log n) time, and one of packed keys, or by at most 16 bits, O(n). It is stable
/// but for
/// [`values`](Self::values). Every buffer needs the usage `STORAGE`, and must be another one:
/// a buffer cannot be given twice.
///
/// # Scratch memory
///
/// [`scratch_size`](Self::scratch_size) computes it. It is at most 16 MiB and
///
/// - 1.15 times the bytes of the keys, and of [`values`](Self::values) or
///   [`indices`](Self::indices), where whole keys of 32 or 64 bits are sorted in place, or alone
///   out of place, and all ranges begin at a multiple of 256 bytes;
/// - half a mebibyte for packed keys alone, if they are more than a
///   [few tiles](crate::Tuning::merged);
/// - otherwise 2.5 times the composed records, plus the largest in-place payload buffer.
///   A composed record is a key of 4 or 8 bytes (packed keys: 4), 4 bytes more
///   with segments, and 4 for the index if there is payload. Keys of which some bits count, and
///   structs, are payload. With a comparator it is the index; with segments, too, 16 bytes. With
///   keys of more than 64 bits it has 20 bytes, and there is a copy of the structs.
///
/// Runs take a bit for each record and a KiB for 2^20 of them; their lengths or first rows without
/// their starts 4 bytes per record more, and their packed keys up to 256 KiB, or in segments 4
/// bytes per record. Cells take two KiB
/// for 2^20 of them, and a search for many keys a 32nd of the bytes of the keys.
///
/// # Current implementation
///
/// Plain keys, and plain keys with one value or index, are sorted in the caller's buffers. All else
/// is encoded to scratch memory, sorted there as words, and decoded: two dispatches more, each one
/// pass over the keys. With payload the keys are sorted with their indices (an argsort), and each
/// payload is gathered by these: one dispatch out of place, two in place. An argsort of segments of
/// 64-bit keys takes two passes, and so does a comparator with segments. Keys of more than 64 bits
/// are sorted by their first part, and then those that are equal in it. Of more than a few tiles of
/// keys of which at most 16 bits count, a radix sort writes the indices, or moves keys and values,
/// in two passes by digits: not within segments, and where a device has 27 KiB of workgroup memory.
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
/// job.prepare(&sorter)?.run()?;
/// assert_eq!(sorter.download::<u32>(&owners)?[..3], [1, 4, 3]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "prepare makes a sort of it"]
pub struct SortJob<'a> {
    pub(super) job: BufferSort<BufferRange<'a>>,
    pub(super) scratch: Option<&'a Scratch>,
}

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
    bits: Option<Range<u32>>,
    fields: Option<Fields>,
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
    /// SortJob::new(Keys::new(&bytes, KeyType::U8), 7).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u8>(&bytes)?, b"bcforst!");
    /// # Ok(()) }
    /// ```
    pub fn new(keys: impl ToBinding<'a>, key: KeyType) -> Self {
        Self {
            range: keys.to_range(),
            key,
            field: None,
            bits: None,
            fields: None,
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
    /// SortJob::new(keys, 3).order(Order::Descending).prepare(&sorter)?.run()?;
    /// let sorted = sorter.download::<Particle>(&particles)?;
    /// assert_eq!(sorted[0].depth, 9.0);
    /// # Ok(()) }
    /// ```
    pub fn strided(structs: impl ToBinding<'a>, key: KeyType, field: Field) -> Self {
        Self {
            range: structs.to_range(),
            key,
            field: Some(field),
            bits: None,
            fields: None,
        }
    }

    /// Several fields of the structs in a range of a buffer as one key: structs are sorted by the
    /// first field, those with equal ones by the second, and so on. The structs are what moves.
    ///
    /// The fields have at most 128 bits together, and each has a type and a direction of its own. A
    /// struct has `stride` bytes, a multiple of 4 and of each field's size. The sort is stable. For
    /// other orders, or more bits, there is [`SortJob::by`].
    ///
    /// Keys of `u128` and `i128` are structs of two fields: [`KeyField::U128`].
    ///
    /// Up to 64 bits take the time of a sort by one key of 32 or 64 bits, and of a pass over the
    /// fields. If there are more bits, structs are sorted by the first 64, or as many as the first
    /// fields have that fit, and then those that are equal in these by all fields: that takes up to
    /// twice as long again if most of them are, and next to no time if none are. So put fields that
    /// differ first where you can choose.
    ///
    /// The runs of structs with equal fields of at most 64 bits can be found if the structs are
    /// [kept](SortJob::keep_keys): their starts and lengths.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) from
    /// [`prepare`](SortJob::prepare) for fields of more than 128 bits together or
    /// none, and for those that are not within a struct or not at a multiple of their size.
    ///
    /// # Examples
    ///
    /// Particles by cell, and in a cell the farthest first:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyField, KeyType, Keys, Options, Order, SortJob, Sorter};
    ///
    /// #[repr(C)]
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// struct Particle {
    ///     depth: f32,
    ///     cell: u32,
    /// }
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let particle = |(cell, depth)| Particle { depth, cell };
    /// let particles = [(7, 1.0), (3, 2.0), (7, 9.0), (3, 0.5)].map(particle);
    /// let on_gpu = sorter.upload(&particles)?;
    /// let cell = KeyField {
    ///     offset: std::mem::offset_of!(Particle, cell) as u32,
    ///     key: KeyType::U32,
    ///     order: Order::Ascending,
    /// };
    /// let depth = KeyField {
    ///     offset: std::mem::offset_of!(Particle, depth) as u32,
    ///     key: KeyType::F32,
    ///     order: Order::Descending,
    /// };
    /// let keys = Keys::fields(&on_gpu, size_of::<Particle>() as u32, &[cell, depth]);
    /// SortJob::new(keys, 4).prepare(&sorter)?.run()?;
    /// let sorted = sorter.download::<Particle>(&on_gpu)?;
    /// let sorted: Vec<_> = sorted.iter().map(|p| (p.cell, p.depth)).collect();
    /// assert_eq!(sorted, [(3, 2.0), (3, 0.5), (7, 9.0), (7, 1.0)]);
    /// # Ok(()) }
    /// ```
    pub fn fields(structs: impl ToBinding<'a>, stride: u32, fields: &[KeyField]) -> Self {
        let fields = Fields::new(fields);
        Self {
            range: structs.to_range(),
            key: fields.key(),
            field: Some(Field { stride, offset: 0 }),
            bits: None,
            fields: Some(fields),
        }
    }

    /// Sorts by some bits of each key only: records whose keys differ in other bits alone are
    /// equal, and keep their order.
    ///
    /// Bit 0 is the least significant one. Whole keys are moved. Sorts by at most 16 bits, and
    /// those of keys of 8 and 16 bits with payload, take a short path if there are many records:
    /// two passes by digits, which compare nothing. For keys of 64 bits, select bits of a half: of
    /// a [field](Self::strided) of 32 bits with a stride of 8 bytes.
    ///
    /// Non-negative floats have the order of their bits as unsigned numbers. So the upper 16 bits
    /// of depths are often enough to draw in their order.
    ///
    /// What is found among sorted keys is found by these bits, too: [runs](SortJob::runs) of keys
    /// whose bits are equal, [cells](SortJob::starts_of) numbered by them. Keys of runs are not
    /// written, and other keys not looked for.
    ///
    /// # Errors
    ///
    /// [`Error::NoBits`](crate::Error::NoBits) from
    /// [`prepare`](SortJob::prepare) for keys other than `u32`;
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) if the range is empty or ends after
    /// bit 31, and for keys of [several fields](Self::fields).
    ///
    /// # Examples
    ///
    /// By the second byte:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[0x2009_u32, 0x1003, 0x2001, 0x1005])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32).bits(8..16), 4);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [0x1003, 0x1005, 0x2009, 0x2001]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub const fn bits(mut self, bits: Range<u32>) -> Self {
        self.bits = Some(bits);
        self
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
/// job.prepare(&sorter)?.run()?;
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
            firsts: None,
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
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&cells)?, [7, 3, 5]);
    /// assert_eq!(sorter.download::<u32>(&sorted)?, [30, 50, 70]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn output(mut self, rows: impl ToBinding<'a>) -> Self {
        self.0.output = Some(rows.to_range());
        self
    }

    /// Writes the row of each run's first record, for a job with [`runs`](SortJob::runs) or
    /// [`unique`](SortJob::unique): of the records with equal keys, the one that came first in the
    /// input. There must be room for as many rows as there are records.
    ///
    /// # Errors
    ///
    /// [`Error::NotInOrder`](crate::Error::NotInOrder) from
    /// [`prepare`](SortJob::prepare) if the job has no runs.
    ///
    /// # Examples
    ///
    /// The first name of each key:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, Payload, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let cells = sorter.upload(&[7_u32, 3, 7, 3])?;
    /// let names = sorter.upload(&[70_u32, 30, 71, 31])?;
    /// let [unique, firsts] = [(); 2].map(|()| sorter.upload(&[0_u32; 4]));
    /// let (unique, firsts, count) = (unique?, firsts?, sorter.upload(&[0_u32])?);
    /// let job = SortJob::new(Keys::new(&cells, KeyType::U32), 4)
    ///     .payload(Payload::new(&names, 4).firsts(&firsts))
    ///     .unique(&unique, &count);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&unique)?[..2], [3, 7]);
    /// assert_eq!(sorter.download::<u32>(&firsts)?[..2], [30, 70]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn firsts(mut self, rows: impl ToBinding<'a>) -> Self {
        self.0.firsts = Some(rows.to_range());
        self
    }
}

/// Where the runs of equal keys are written: [`SortJob::runs`].
///
/// A run is a maximal range of equal keys among sorted ones. Keys are equal if all their bits are:
/// 0.0 and -0.0 are two runs, and so are NaNs of different bits. Every buffer but the number needs
/// room for as many runs as there are records.
///
/// # Examples
///
/// Words and how often they occur:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, Runs, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let words = sorter.upload(&[7_u32, 5, 7, 7, 6, 5])?;
/// let [unique, starts, lengths] = [(); 3].map(|()| sorter.upload(&[0_u32; 6]));
/// let (unique, starts, lengths) = (unique?, starts?, lengths?);
/// let count = sorter.upload(&[0_u32])?;
/// let runs = Runs::new(&count).keys(&unique).starts(&starts).lengths(&lengths);
/// let job = SortJob::new(Keys::new(&words, KeyType::U32), 6).runs(runs);
/// job.prepare(&sorter)?.run()?;
/// assert_eq!(sorter.download::<u32>(&count)?, [3]);
/// assert_eq!(sorter.download::<u32>(&unique)?[..3], [5, 6, 7]);
/// assert_eq!(sorter.download::<u32>(&starts)?[..3], [0, 2, 3]);
/// assert_eq!(sorter.download::<u32>(&lengths)?[..3], [2, 1, 3]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "SortJob::runs takes it"]
pub struct Runs<'a>(pub(super) job::Runs<BufferRange<'a>>);

impl<'a> Runs<'a> {
    /// Writes the number of runs, a u32, to the beginning of `count`.
    pub fn new(count: impl ToBinding<'a>) -> Self {
        Self(job::Runs {
            heads: Heads::OfKeys,
            count: count.to_range(),
            starts: None,
            lengths: None,
            keys: None,
        })
    }

    /// Writes the rank of each run's first record, a u32.
    pub fn starts(mut self, starts: impl ToBinding<'a>) -> Self {
        self.0.starts = Some(starts.to_range());
        self
    }

    /// Writes the number of each run's records, a u32.
    pub fn lengths(mut self, lengths: impl ToBinding<'a>) -> Self {
        self.0.lengths = Some(lengths.to_range());
        self
    }

    /// Writes the key of each run: the sorted keys without duplicates.
    pub fn keys(mut self, keys: impl ToBinding<'a>) -> Self {
        self.0.keys = Some(keys.to_range());
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
    /// SortJob::new(Keys::new(&keys, KeyType::U32), 7).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [0, 3, 5, 6, 6, 8, 9]);
    /// # Ok(()) }
    /// ```
    pub const fn new(keys: Keys<'a>, len: u64) -> Self {
        let Keys {
            range,
            key,
            field,
            bits,
            fields,
        } = keys;
        let mut job = BufferSort::new(range, key, field, len);
        job.bits = bits;
        job.fields = fields;
        Self { job, scratch: None }
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
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&indices)?, [1, 0, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn argsort(keys: Keys<'a>, indices: impl ToBinding<'a>, len: u64) -> Self {
        Self::new(keys, len).keep_keys().indices(indices)
    }

    /// Finds something among the first `len` keys, which are in order already. Nothing is sorted
    /// or moved.
    ///
    /// If the keys are not in order, runs are those of the keys as they lie, and places some ranks
    /// up to `len`. Payload and [`output`](Self::output) are not written.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let sorted = sorter.upload(&[0.5_f32, 0.5, 2.0, 9.0])?;
    /// let unique = sorter.upload(&[0.0_f32; 4])?;
    /// let count = sorter.upload(&[0_u32])?;
    /// let job = SortJob::of_sorted(Keys::new(&sorted, KeyType::F32), 4).unique(&unique, &count);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&count)?, [3]);
    /// assert_eq!(sorter.download::<f32>(&unique)?[..3], [0.5, 2.0, 9.0]);
    /// # Ok(()) }
    /// ```
    pub const fn of_sorted(keys: Keys<'a>, len: u64) -> Self {
        let mut job = Self::new(keys, len);
        job.job.is_sorted = true;
        job
    }

    /// Writes where the records of each cell begin, for unsigned keys that are the numbers of
    /// cells: to `table`, for each number from 0 to `cells`, the number of records that precede it,
    /// a u32.
    ///
    /// Cell c has the records `table[c]..table[c + 1]`. That range is empty for a cell without
    /// records, and `table[cells]` is the number of records in cells. Larger keys are in none.
    /// In descending order, cell c has the records `table[c]..table[c - 1]`, and cell 0 those up to
    /// the end.
    ///
    /// O(n + c log n) time for c cells, in two dispatches. The table has `cells + 1` words.
    ///
    /// # Errors
    ///
    /// [`Error::NoCells`](crate::Error::NoCells) for keys that are not unsigned, and those of
    /// [`runs`](Self::runs).
    ///
    /// # Examples
    ///
    /// Particles in the cells of a grid:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let cell_of_each = sorter.upload(&[2_u32, 0, 2, 3])?;
    /// let particles = sorter.upload(&[0_u32; 4])?;
    /// let table = sorter.upload(&[0_u32; 6])?;
    /// let job = SortJob::new(Keys::new(&cell_of_each, KeyType::U32), 4)
    ///     .indices(&particles)
    ///     .starts_of(&table, 5);
    /// job.prepare(&sorter)?.run()?;
    /// let table = sorter.download::<u32>(&table)?;
    /// assert_eq!(table, [0, 1, 1, 3, 4, 4]);
    /// let particles = sorter.download::<u32>(&particles)?;
    /// assert_eq!(particles[table[2] as usize..table[3] as usize], [0, 2]);
    /// # Ok(()) }
    /// ```
    pub fn starts_of(mut self, table: impl ToBinding<'a>, cells: u32) -> Self {
        self.job.cells = Some((table.to_range(), cells));
        self
    }

    /// Writes, for each of `count` other keys of the same type, the number of sorted keys that
    /// precede it: the first place where it could be inserted, a u32.
    ///
    /// The `needles` are contiguous keys in any order. O(log n) time for each; needles in order are
    /// faster, since neighbours read the same keys. A job has one search: the last call of
    /// `lower_bound` or [`upper_bound`](Self::upper_bound).
    ///
    /// # Errors
    ///
    /// Those of [`runs`](Self::runs).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let sorted = sorter.upload(&[1_i32, 3, 3, 7])?;
    /// let needles = sorter.upload(&[9_i32, 3, -5])?;
    /// let places = sorter.upload(&[0_u32; 3])?;
    /// let sorted = SortJob::of_sorted(Keys::new(&sorted, KeyType::I32), 4);
    /// sorted.clone().lower_bound(&needles, 3, &places).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&places)?, [4, 1, 0]);
    /// sorted.upper_bound(&needles, 3, &places).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&places)?, [4, 3, 0]);
    /// # Ok(()) }
    /// ```
    pub fn lower_bound(
        self,
        needles: impl ToBinding<'a>,
        count: u64,
        places: impl ToBinding<'a>,
    ) -> Self {
        self.search(needles.to_range(), count, places.to_range(), false)
    }

    /// Writes, for each of `count` other keys of the same type, the number of sorted keys that it
    /// does not precede: the last place where it could be inserted, a u32.
    ///
    /// # Errors
    ///
    /// Those of [`runs`](Self::runs).
    ///
    /// # Examples
    ///
    /// See [`lower_bound`](Self::lower_bound).
    pub fn upper_bound(
        self,
        needles: impl ToBinding<'a>,
        count: u64,
        places: impl ToBinding<'a>,
    ) -> Self {
        self.search(needles.to_range(), count, places.to_range(), true)
    }

    fn search(
        mut self,
        needles: BufferRange<'a>,
        len: u64,
        places: BufferRange<'a>,
        is_upper: bool,
    ) -> Self {
        self.job.search = Some(job::Search {
            needles,
            len,
            places,
            is_upper,
        });
        self
    }

    /// Sorts the first `len` structs of a range by a custom comparator, in place. Stable.
    ///
    /// O(n log n) comparisons, each of which reads two structs. An order that
    /// [fields](Keys::fields) of up to 128 bits can express is faster as these: 2^24 structs of 16
    /// bytes take an H200 4.6 ms by two fields with a comparator, and 2.3 by `Keys::fields`. With
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
    /// SortJob::by(&points, &nearest, 3).prepare(&sorter)?.run()?;
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
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [1, 2, 3, 8, 9]);
    /// # Ok(()) }
    /// ```
    pub fn segmented(keys: Keys<'a>, len: u64, offsets: impl ToBinding<'a>, count: u32) -> Self {
        Self::new(keys, len).in_segments(offsets, count)
    }

    /// Sorts each of `count` segments of the first `len` structs by itself, by a custom comparator,
    /// in place. Stable.
    ///
    /// Segments are those of [`segmented`](SortJob::segmented), and structs and comparator those of
    /// [`by`](SortJob::by). All records are sorted by the comparator, and then by segment: it takes
    /// the time of both sorts, and a composed record in [scratch memory](SortJob#scratch-memory)
    /// has 16 bytes.
    ///
    /// # Examples
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
    /// let points = sorter.upload(&[[3.0_f32, 4.0], [0.0, -1.0], [9.0, 9.0], [2.0, 2.0]])?;
    /// let offsets = sorter.upload(&[0_u32, 2])?;
    /// let job = SortJob::segmented_by(&points, &nearest, 4, &offsets, 2);
    /// job.prepare(&sorter)?.run()?;
    /// let sorted = sorter.download::<[f32; 2]>(&points)?;
    /// assert_eq!(sorted, [[0.0, -1.0], [3.0, 4.0], [2.0, 2.0], [9.0, 9.0]]);
    /// # Ok(()) }
    /// ```
    pub fn segmented_by(
        structs: impl ToBinding<'a>,
        comparator: &Comparator,
        len: u64,
        offsets: impl ToBinding<'a>,
        count: u32,
    ) -> Self {
        Self::by(structs, comparator, len).in_segments(offsets, count)
    }

    fn in_segments(mut self, offsets: impl ToBinding<'a>, count: u32) -> Self {
        self.job.segments = Some((offsets.to_range(), count));
        self
    }

    /// Sorts only the first `k` ranks, which is a partial sort: the k smallest, or with
    /// [`Order::Descending`] the k largest (top-k). All records if there are fewer than `k`. Of
    /// segments, the first `k` of each: they stay where their segment is.
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
    /// `n..n + 1` an `nth_element`. With [segments](Self::segmented), these are ranks in each of
    /// them; a shorter segment has fewer, or none.
    ///
    /// It saves sorting the rest, which is moved all the same: of 2^24 records on an H200, the
    /// first 100 take 0.77 of the time of a whole sort with 32-bit keys, 0.74 with indices and 0.58
    /// with a comparator. Few records (up to [`Tuning::merged`](crate::Tuning::merged)) are sorted
    /// as a whole, and so are keys of more than 64 bits, and all with an engine other than the
    /// sample sort.
    ///
    /// With [`len_from`](Self::len_from), ranks beyond the count are left as they are.
    ///
    /// # Errors
    ///
    /// [`InvalidOption`](crate::Error::InvalidOption) from
    /// [`prepare`](SortJob::prepare) if the range ends beyond `len` or before it
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
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<i32>(keys.slice(8..12))?, [3]);
    /// # Ok(()) }
    /// ```
    pub fn range(mut self, ranks: Range<u64>) -> Self {
        self.job.range = Some(ranks);
        self
    }

    /// Finds the runs of equal keys once they are sorted. O(n) time: three dispatches, which read
    /// the keys twice, and once more for the keys of the runs.
    ///
    /// With [`keep_keys`](Self::keep_keys) the keys are sorted in scratch memory, and the ranks are
    /// those of the sorted indices or payload.
    ///
    /// With a [comparator](SortJob::by), structs are equal if neither precedes the other. Their
    /// [keys](Runs::keys) are whole structs, of sorts that write them.
    ///
    /// A run of a [segmented](SortJob::segmented) sort is within one segment: equal keys of two
    /// segments are two runs. All runs are written one after the other, and starts are ranks in the
    /// whole buffer.
    ///
    /// # Errors
    ///
    /// [`Error::NotInOrder`](crate::Error::NotInOrder) from
    /// [`prepare`](SortJob::prepare) if not all keys are in order: with a
    /// [range](SortJob::range) of ranks, or if nothing is sorted at all; and with segments, if the
    /// keys are kept, but for a comparator.
    ///
    /// # Examples
    ///
    /// See [`Runs`].
    pub fn runs(mut self, runs: Runs<'a>) -> Self {
        self.job.runs = Some(runs.0);
        self
    }

    /// Writes each key once, in order, and the number of different keys, a u32.
    ///
    /// It is [`runs`](Self::runs)`(Runs::new(count).keys(keys))`.
    ///
    /// # Errors
    ///
    /// Those of [`runs`](Self::runs).
    ///
    /// # Examples
    ///
    /// See [`of_sorted`](SortJob::of_sorted). The different values of each row:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let rows = sorter.upload(&[7_u32, 2, 7, 7, 9, 7])?;
    /// let (begins, unique) = (sorter.upload(&[0_u32, 3])?, sorter.upload(&[0_u32; 6])?);
    /// let count = sorter.upload(&[0_u32])?;
    /// let job = SortJob::segmented(Keys::new(&rows, KeyType::U32), 6, &begins, 2);
    /// job.unique(&unique, &count).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&count)?, [4]);
    /// assert_eq!(sorter.download::<u32>(&unique)?[..4], [2, 7, 7, 9]);
    /// # Ok(()) }
    /// ```
    pub fn unique(self, keys: impl ToBinding<'a>, count: impl ToBinding<'a>) -> Self {
        self.runs(Runs::new(count).keys(keys))
    }

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
    /// job.prepare(&sorter)?.run()?;
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
    /// job.prepare(&sorter)?.run()?;
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
    /// bytes: it takes 1.9 times as long for 2^24 keys of 32 bits on an H200.
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
    /// job.prepare(&sorter)?.run()?;
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
    /// job.prepare(&sorter)?.run()?;
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
    /// need: idle ones take 0.05 ms on an H200 (2^24 records take 0.42 ms, a hundredth of them 0.11
    /// ms), and more on a CPU.
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
    /// job.prepare(&sorter)?.run()?;
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

    /// Prepares a sort of GPU buffers: compiles its kernels, creates its bind groups and scratch
    /// memory, and writes its parameters. Submits nothing, so the keys may be written later.
    ///
    /// Most of the time goes into kernels that no earlier sort has compiled, on several threads.
    /// [`Sorter::warm_up`] can compile them in advance. lavapipe defers compilation to the first
    /// run of a kernel. [`scratch_size`](Self::scratch_size) gives the scratch memory.
    ///
    /// The engine is [`Options::engine`](crate::Options::engine) for keys alone. Payload, segments,
    /// a comparator and [`len_from`](Self::len_from) use the sample sort in any case. Two sorts
    /// have steps of their own: many packed keys alone a counting sort; with payload, or by at most
    /// 16 [bits](crate::Keys::bits), a radix sort.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::BindingTooLarge`], [`Error::BufferTooSmall`],
    /// [`Error::BufferUsage`] (buffers need `STORAGE`), [`Error::SameBuffer`], [`Error::Offset`],
    /// [`Error::InvalidOption`], [`Error::NotInOrder`], [`Error::NoCells`],
    /// [`Error::WorkgroupMemory`], [`Error::OutOfMemory`], [`Error::DeviceLost`];
    /// [`Error::Device`] for a buffer of another device of the same [`wgpu::Instance`]. wgpu does
    /// not detect a buffer of another instance.
    ///
    /// # Examples
    ///
    /// A key-value sort:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[8_u32, 6, 5, 3, 0, 9])?;
    /// let values = sorter.upload(&[0_u32, 1, 2, 3, 4, 5])?;
    /// let job = SortJob::new(Keys::new(&keys, KeyType::U32), 6).values(&values);
    /// let sort = job.prepare(&sorter)?;
    /// sort.run()?;
    /// assert_eq!(sorter.download::<u32>(&keys)?, [0, 3, 5, 6, 8, 9]);
    /// assert_eq!(sorter.download::<u32>(&values)?, [4, 3, 2, 1, 0, 5]);
    /// # Ok(()) }
    /// ```
    pub fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let recording = sorter.planner.record(&self.job)?;
        sorter.prepare_recording(recording, &bind_all(&self.job)?, self.scratch)
    }

    /// The async version of [`prepare`](Self::prepare). In browsers it waits until it is known
    /// whether all GPU objects are valid. There [`prepare`](Self::prepare) returns at once, and a
    /// later call on this device returns the error.
    ///
    /// # Errors
    ///
    /// Those of [`prepare`](Self::prepare).
    pub async fn prepare_async(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        call(async {
            let sort = self.prepare(sorter)?;
            settled(&sorter.device).await?;
            Ok(sort)
        })
        .await
    }

    /// Returns the scratch memory of a sort in bytes, within [these bounds](#scratch-memory). The
    /// call plans the sort and does not use the device.
    ///
    /// The job's buffers may still be too small: they are not checked, so that you can plan memory
    /// before you create them. Parameters, at 256 bytes per dispatch, are not included.
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
    /// assert!(million.scratch_size(&sorter)? <= 9_200_000 + (16 << 20));
    /// # Ok(()) }
    /// ```
    pub fn scratch_size(&self, sorter: &Sorter) -> Result<u64, Error> {
        Ok(sorter.planner.record(&self.job)?.scratch_bytes())
    }
}

/// Scratch memory that several sorts share. Each buffer is as large as the largest sort needs.
///
/// The sorts must not run at the same time. Sorts that are recorded one after the other, into one
/// encoder or several, do not; but between two [chunks](crate::PreparedSort::record_chunk) of a
/// sort no other that shares its memory may run: otherwise the outputs of both are unspecified, as
/// [`record_chunk`](crate::PreparedSort::record_chunk) says. A sort keeps the buffers it was
/// prepared with: prepare the largest sort first. (From 2^25 records on, a sort may take a tenth
/// more than one of somewhat more records.) Scratch memory belongs to one device.
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
/// let all = job(5000).prepare(&sorter)?;
/// let bytes = scratch.bytes();
/// assert_eq!(bytes, job(5000).scratch_size(&sorter)?);
/// // A smaller sort takes no more.
/// let few = job(3000).prepare(&sorter)?;
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
        lock(&self.buffers)
    }
}
