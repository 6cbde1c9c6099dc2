//! The first k records of each of many segments.

use super::{Keys, PreparedSort, SortJob, Sorter};
use crate::error::{BufferRole, Error};
use crate::gpu::binding::{self, BufferRange, ToBinding};
use crate::job::{BufferSort, check_bound};
use crate::order::Order;
use crate::recording::{Buffer, Recording};
use crate::top_k::kernels::{CELLS, LONGEST, Rounds};
use crate::top_k::{Segments, TopKLayout, record_top_k};

/// The first k records of each segment, in order: top-k of each row of a matrix, as in retrieval.
///
/// Segments are [rows](Self::of_rows) of one length, or of [any lengths](Self::segmented). Each
/// gets a row of k in the outputs: row s begins at record `s * k`. A segment with fewer records
/// fills the beginning of its row, and leaves the rest as it is. Keys are read-only.
///
/// | what comes out | method | without it |
/// |---|---|---|
/// | the direction | [`order`](Self::order) | the k smallest, ascending |
/// | the keys | [`keys`](Self::keys) | none |
/// | the index of each record, to gather other data by | [`indices`](Self::indices) | none |
///
/// It is recorded as a sort is, in one dispatch, and creates no object in a frame. It is stable: of
/// equal keys, those with lower indices come first. The result is the same on every device. It
/// takes no scratch memory, and up to 15 KiB of workgroup memory.
///
/// k is 1 to 1024. A workgroup of 256 lanes has a segment. It reads up to 1024 keys once. More of
/// them it reads twice, and twice for each round of counting: mostly one or two, and at most four
/// for each word of a key and of its index. O(n + k log² k) time for a segment. So this is for many
/// segments of up to some ten thousand records. A segment has at most 2^20. For few and long ones,
/// and for larger k, use [`SortJob::top`] of a [segmented](SortJob::segmented) sort.
///
/// # Examples
///
/// The two best of four scores, for each of two queries:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, Order, Sorter, TopKJob};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let scores = sorter.upload(&[0.5_f32, 0.9, 0.1, 0.7, 0.2, 0.2, 0.0, 0.4])?;
/// let best = sorter.upload(&[0.0_f32; 4])?;
/// let owners = sorter.upload(&[0_u32; 4])?;
/// let job = TopKJob::of_rows(Keys::new(&scores, KeyType::F32), 2, 4, 2)
///     .order(Order::Descending)
///     .keys(&best)
///     .indices(&owners);
/// job.prepare(&sorter)?.run()?;
/// assert_eq!(sorter.download::<f32>(&best)?, [0.9, 0.7, 0.4, 0.2]);
/// assert_eq!(sorter.download::<u32>(&owners)?, [1, 3, 7, 4]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "TopKJob::prepare makes it ready"]
pub struct TopKJob<'a> {
    /// The keys and the offsets, of which nothing is written.
    read: BufferSort<BufferRange<'a>>,
    count: u32,
    row_len: Option<u32>,
    k: u32,
    output: Option<BufferRange<'a>>,
    indices: Option<BufferRange<'a>>,
}

impl<'a> TopKJob<'a> {
    /// The first `k` of each of `rows` rows of `len` keys, one row after the other. `len` is at
    /// most 2^20.
    ///
    /// # Examples
    ///
    /// See [`TopKJob`].
    pub fn of_rows(keys: Keys<'a>, rows: u32, len: u32, k: u32) -> Self {
        let read = SortJob::new(keys, u64::from(rows) * u64::from(len));
        Self {
            read: read.keep_keys().job,
            count: rows,
            row_len: Some(len),
            k,
            output: None,
            indices: None,
        }
    }

    /// The first `k` of each of `count` segments of the first `len` keys.
    ///
    /// `offsets` holds `count` ascending u32: the index of the first record of each segment. A
    /// segment ends where the next one begins, and the last one at `len`. Records before the first
    /// offset are in no segment. Segments may be empty. A segment whose offset is beyond `len` or
    /// beyond the next one is empty, too. Of a segment with more than 2^20 records, only the first
    /// 2^20 count.
    ///
    /// # Examples
    ///
    /// The smallest of each of three segments, of which the second one is empty:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, Sorter, TopKJob};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[5_u32, 2, 9, 7, 8])?;
    /// let offsets = sorter.upload(&[0_u32, 3, 3])?;
    /// let least = sorter.upload(&[0_u32; 3])?;
    /// let keys = Keys::new(&keys, KeyType::U32);
    /// let job = TopKJob::segmented(keys, 5, &offsets, 3, 1).keys(&least);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&least)?, [2, 0, 7]);
    /// # Ok(()) }
    /// ```
    pub fn segmented(
        keys: Keys<'a>,
        len: u64,
        offsets: impl ToBinding<'a>,
        count: u32,
        k: u32,
    ) -> Self {
        let read = SortJob::segmented(keys, len, offsets, count);
        Self {
            read: read.keep_keys().job,
            count,
            row_len: None,
            k,
            output: None,
            indices: None,
        }
    }

    /// Sets the direction: [`Order::Descending`] for the k largest.
    ///
    /// # Examples
    ///
    /// See [`TopKJob`].
    pub const fn order(mut self, order: Order) -> Self {
        self.read.order = order;
        self
    }

    /// Writes the keys: rows of k. Keys of 8 and 16 bits, and those of which some
    /// [bits](Keys::bits) count, are not written, only their [indices](Self::indices). Of structs,
    /// the keys alone are written.
    ///
    /// # Examples
    ///
    /// See [`TopKJob`].
    pub fn keys(mut self, keys: impl ToBinding<'a>) -> Self {
        self.output = Some(keys.to_range());
        self
    }

    /// Writes the index of each record: rows of k u32. Indices are positions among all keys, as
    /// those of [`SortJob::segmented`].
    ///
    /// # Examples
    ///
    /// See [`TopKJob`].
    pub fn indices(mut self, indices: impl ToBinding<'a>) -> Self {
        self.indices = Some(indices.to_range());
        self
    }

    /// Makes every GPU object, so that it can be recorded any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if k is 0 or above 1024, if rows are longer than 2^20, for keys of
    /// [several fields](Keys::fields), or for keys of 8 or 16 bits, or of which some bits count,
    /// that are to be written; [`Error::TooLarge`], [`Error::BufferTooSmall`],
    /// [`Error::BufferUsage`] (every buffer needs `STORAGE`), [`Error::Offset`],
    /// [`Error::BindingTooLarge`], [`Error::SameBuffer`], [`Error::WorkgroupMemory`],
    /// [`Error::OutOfMemory`], [`Error::Device`].
    ///
    /// # Examples
    ///
    /// See [`TopKJob`].
    pub fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let recording = self.recording(sorter)?;
        let mut bound = binding::bind_all(&self.read)?;
        let mut given: Vec<_> = self.read.bindings()?;
        for (role, to, range, bytes) in self.outputs() {
            let same = given.iter().find(|other| other.1.buffer == range.buffer);
            if let Some(&(first, ..)) = same {
                let second = role;
                return Err(Error::SameBuffer { first, second });
            }
            let bytes = self.written() * bytes;
            given.push((role, range, range.span.bound(role, bytes)?));
            bound.insert(to, binding::bind(role, range, bytes)?);
        }
        sorter.prepare_recording(recording, &bound, None)
    }

    /// Records of all rows of an output.
    const fn written(&self) -> u64 {
        self.count as u64 * self.k as u64
    }

    /// The outputs: their roles, and the bytes of a record.
    fn outputs(&self) -> impl Iterator<Item = (BufferRole, Buffer, &BufferRange<'a>, u64)> {
        let key = self.read.key.bytes();
        let keys =
            (self.output.as_ref()).map(|range| (BufferRole::Output, Buffer::Output, range, key));
        let indices =
            (self.indices.as_ref()).map(|range| (BufferRole::Indices, Buffer::Values, range, 4));
        keys.into_iter().chain(indices)
    }

    fn recording(&self, sorter: &Sorter) -> Result<Recording, Error> {
        let invalid = |name, value, allowed| Error::InvalidOption {
            name,
            value,
            allowed,
        };
        if !(1..=CELLS).contains(&self.k) {
            let allowed = "1 to 1024: SortJob::top of a segmented sort has more";
            return Err(invalid("k", self.k.into(), allowed));
        }
        if let Some(len) = self.row_len.filter(|&len| len > LONGEST) {
            return Err(invalid("length of a row", len.into(), "at most 2^20"));
        }
        let key = self.read.key;
        let planner = sorter.planner();
        let limit = planner.limits.buffer_bytes;
        let len = planner.check_len(self.read.len, key)?;
        let read = self.read.layout(limit)?;
        self.read.check_single_field()?;
        let bits = read.key_bits();
        if self.output.is_some() && bits < 32 {
            let allowed = "32 or 64 where keys are written: write their indices";
            return Err(invalid("bits of the keys", bits.into(), allowed));
        }
        for (role, _, range, bytes) in self.outputs() {
            let first = range.span.first_unit(role, bytes)?;
            let needed = (u128::from(first) + u128::from(self.written())) * u128::from(bytes);
            check_bound(role, needed, limit)?;
        }
        let first = |role, range: &Option<BufferRange<'_>>, bytes| {
            let first = |range: &BufferRange<'_>| range.span.first_unit(role, bytes);
            range.as_ref().map(first).transpose()
        };
        let layout = TopKLayout {
            k: self.k,
            count: self.count,
            segments: match self.row_len {
                Some(len) => Segments::Rows(len),
                None => Segments::Offsets(read.offsets_first),
            },
            first: read.first,
            stride: read.stride,
            bits: read.bits,
            low: read.selected.as_ref().map_or(0, |bits| bits.start),
            unused: 32 - bits,
            output: first(BufferRole::Output, &self.output, key.bytes())?,
            rounds: Rounds::of(planner.kind),
            indices: first(BufferRole::Indices, &self.indices, 4)?,
        };
        let of = (key.widened(), self.read.order);
        Ok(record_top_k(len, of, &layout, &planner.limits))
    }
}
