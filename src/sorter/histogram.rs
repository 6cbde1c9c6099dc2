//! Histograms of keys in GPU buffers.

use super::{Keys, PreparedSort, SortJob, Sorter};
use crate::error::{BufferRole, Error};
use crate::gpu::binding::{self, BufferRange, ToBinding};
use crate::gpu::prepared::constant;
use crate::histogram::{HistogramLayout, HostBounds, record_histogram};
use crate::job::{BufferSort, check_bound};
use crate::key::SortKey;
use crate::recording::Buffer;
use std::ops::Range;

/// Counts how many keys are in each of some bins: a histogram.
///
/// b bins have b + 1 bounds in ascending order. Bin i has the keys from bound i to before bound
/// i + 1; others are not counted. Bounds are [given](Self::by_bounds), [even](Self::even), or
/// [in a GPU buffer](Self::by_bounds_in). Counts are u32, one for each bin, and whatever was there
/// before is overwritten. Keys are read-only, of any [`KeyType`](crate::KeyType), and may be packed
/// or [strided](Keys::strided).
///
/// The order is that of sorts: floats are in the total order of [`f32::total_cmp`]. So -0 is below
/// 0, and a NaN is counted only by bins with such bounds.
///
/// It is recorded as a sort is, creates no object in a frame, and may take the number of keys
/// [from a GPU buffer](Self::len_from). The result is the same on every device, and in every run.
///
/// O(n log b) time: two dispatches, of which one clears the counts. Each key is read once. Up to
/// 1024 bins are searched and counted in workgroup memory, of which keys of 64 bits need 12.2 KiB
/// and others 8.2 KiB. Where there are more bins or less memory, they are searched and counted in
/// the buffers. There is no scratch memory. A prepared histogram keeps the bounds that the host
/// gave.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{HistogramJob, KeyType, Keys, Options, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let ages = sorter.upload(&[3_u8, 17, 40, 18, 64, 70, 17])?;
/// let counts = sorter.upload(&[0_u32; 3])?;
/// // Below 18, below 65, and all others.
/// let bounds = [0_u32, 18, 65, 256];
/// let job = HistogramJob::by_bounds(Keys::new(&ages, KeyType::U8), 7, &bounds, &counts);
/// // Once:
/// let histogram = job.prepare(&sorter)?;
/// // Each frame:
/// let mut encoder = sorter.device().create_command_encoder(&Default::default());
/// histogram.record(&mut encoder);
/// sorter.queue().submit([encoder.finish()]);
/// assert_eq!(sorter.download::<u32>(&counts)?, [3, 3, 1]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "HistogramJob::prepare makes it ready"]
pub struct HistogramJob<'a> {
    /// The keys and their number, of which nothing is written.
    read: BufferSort<BufferRange<'a>>,
    bounds: Bounds<'a>,
    counts: BufferRange<'a>,
}

#[derive(Clone, Debug)]
enum Bounds<'a> {
    /// Given by the host.
    OfHost(HostBounds),
    /// In a buffer, with the number of bins.
    InBuffer(BufferRange<'a>, u32),
}

impl<'a> HistogramJob<'a> {
    /// Counts the first `len` keys in the bins between consecutive `bounds`, which ascend, and
    /// writes the counts to `counts`. Two bounds may be equal: the bin between them is empty.
    ///
    /// Bounds have the type of the keys. Those of keys of 8 and 16 bits are `u32`, `i32` or `f32`:
    /// numbers below and above all keys are bounds, too.
    ///
    /// # Examples
    ///
    /// See [`HistogramJob`].
    pub fn by_bounds<T: SortKey>(
        keys: Keys<'a>,
        len: u64,
        bounds: &[T],
        counts: impl ToBinding<'a>,
    ) -> Self {
        let bounds = Bounds::OfHost(HostBounds::list(bounds));
        Self::new(keys, len, bounds, counts.to_range())
    }

    /// Counts the first `len` keys in `bins` even bins of a range of numbers.
    ///
    /// Bound i is `start + (end - start) * i / bins`, and the first and the last one are exact. Of
    /// integers the others are rounded down. Of floats they are computed as f64 and rounded to the
    /// type, and ascend. Types are as for [`by_bounds`](Self::by_bounds).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{HistogramJob, KeyType, Keys, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let samples = sorter.upload(&[0.1_f32, 0.9, 0.25, 0.3, -2.0, 1.0, f32::NAN])?;
    /// let counts = sorter.upload(&[0_u32; 4])?;
    /// let samples = Keys::new(&samples, KeyType::F32);
    /// HistogramJob::even(samples, 7, 0.0_f32..1.0, 4, &counts).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&counts)?, [1, 2, 0, 1]);
    /// # Ok(()) }
    /// ```
    pub fn even<T: SortKey>(
        keys: Keys<'a>,
        len: u64,
        range: Range<T>,
        bins: u32,
        counts: impl ToBinding<'a>,
    ) -> Self {
        let bounds = Bounds::OfHost(HostBounds::even(&range, bins));
        Self::new(keys, len, bounds, counts.to_range())
    }

    /// Counts the first `len` keys in `bins` bins, whose `bins` + 1 bounds are in a GPU buffer:
    /// contiguous keys of the same type.
    ///
    /// The bounds are read when the histogram runs. If they do not ascend, each key is counted once
    /// in some bin, or not at all, and nothing else is written.
    ///
    /// # Examples
    ///
    /// Quantiles of some keys as bounds for others:
    ///
    /// ```
    /// use wgpu_bcfsort::{HistogramJob, KeyType, Keys, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[-5_i32, 0, 3, 9, 2, 100])?;
    /// let quantiles = sorter.upload(&[-5_i32, 1, 7, 10])?;
    /// let counts = sorter.upload(&[0_u32; 3])?;
    /// let keys = Keys::new(&keys, KeyType::I32);
    /// HistogramJob::by_bounds_in(keys, 6, &quantiles, 3, &counts).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&counts)?, [2, 2, 1]);
    /// # Ok(()) }
    /// ```
    pub fn by_bounds_in(
        keys: Keys<'a>,
        len: u64,
        bounds: impl ToBinding<'a>,
        bins: u32,
        counts: impl ToBinding<'a>,
    ) -> Self {
        let bounds = Bounds::InBuffer(bounds.to_range(), bins);
        Self::new(keys, len, bounds, counts.to_range())
    }

    fn new(keys: Keys<'a>, len: u64, bounds: Bounds<'a>, counts: BufferRange<'a>) -> Self {
        Self {
            read: SortJob::new(keys, len).keep_keys().job,
            bounds,
            counts,
        }
    }

    /// Reads the number of keys from a GPU buffer when the histogram runs: see
    /// [`SortJob::len_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{HistogramJob, KeyType, Keys, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[1_u64, 1 << 40, 2, 3])?;
    /// let (len, counts) = (sorter.upload(&[3_u32])?, sorter.upload(&[0_u32; 2])?);
    /// let keys = Keys::new(&keys, KeyType::U64);
    /// let job = HistogramJob::by_bounds(keys, 4, &[0, 10, u64::MAX], &counts).len_from(&len);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&counts)?, [2, 1]);
    /// # Ok(()) }
    /// ```
    pub fn len_from(mut self, count: impl ToBinding<'a>) -> Self {
        self.read.count = Some(count.to_range());
        self
    }

    /// Makes every GPU object, so that the histogram can be recorded any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::Bounds`] if bounds do not ascend, are of another type than the keys, or have no bin
    /// between them; [`Error::InvalidOption`] for keys of [several fields](Keys::fields), or of
    /// which some [bits](Keys::bits) count; [`Error::TooLarge`], [`Error::BufferTooSmall`],
    /// [`Error::BufferUsage`] (every buffer needs `STORAGE`), [`Error::Offset`],
    /// [`Error::BindingTooLarge`], also for too many bins, [`Error::SameBuffer`] for counts in a
    /// buffer that is read, [`Error::OutOfMemory`], [`Error::Device`].
    ///
    /// # Examples
    ///
    /// See [`HistogramJob`].
    pub fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let mut layout = self.layout(sorter)?;
        let key = self.read.key;
        let len = sorter.planner().check_len(self.read.len, key)?;
        let mut bound = binding::bind_all(&self.read)?;
        let role = BufferRole::BinCounts;
        let bytes = u64::from(layout.bins) * 4;
        bound.insert(role.into(), binding::bind(role, &self.counts, bytes)?);
        let read = self.read.bindings()?.into_iter();
        let mut given: Vec<_> = read.map(|(role, range, _)| (role, range)).collect();
        if let Bounds::InBuffer(range, _) = &self.bounds {
            given.push((BufferRole::Bounds, range));
        }
        let is_same = |other: &&(_, &BufferRange<'_>)| other.1.buffer == self.counts.buffer;
        if let Some(&(first, _)) = given.iter().find(is_same) {
            let second = role;
            return Err(Error::SameBuffer { first, second });
        }
        let uploaded;
        let bounds = match &self.bounds {
            Bounds::InBuffer(range, _) => {
                let bytes = u64::from(layout.bounds) * key.bytes();
                binding::bind(BufferRole::Bounds, range, bytes)?
            }
            Bounds::OfHost(bounds) => {
                let keys = bounds.keys(key)?;
                layout.bounds = keys.len() as u32;
                uploaded = upload(sorter, &keys, key.bytes())?;
                uploaded.as_entire_buffer_binding()
            }
        };
        bound.insert(Buffer::Bounds, bounds);
        let recording = record_histogram(len, key.widened(), &layout, &sorter.planner().limits);
        sorter.prepare_recording(recording, &bound, None)
    }

    /// Where everything is, with all bounds.
    fn layout(&self, sorter: &Sorter) -> Result<HistogramLayout, Error> {
        let limit = sorter.planner().limits.buffer_bytes;
        let read = self.read.layout(limit)?;
        self.read.check_single_field()?;
        if let Some(bits) = &read.selected {
            return Err(Error::InvalidOption {
                name: "number of bits that count",
                value: bits.len() as u64,
                allowed: "all of a key where keys are counted",
            });
        }
        let bins = match &self.bounds {
            Bounds::OfHost(bounds) => bounds.bins()?,
            Bounds::InBuffer(_, 0) => return Err(Error::Bounds("there are no bins".into())),
            Bounds::InBuffer(_, bins) => (*bins).into(),
        };
        let first = |role, range: &BufferRange<'_>, bytes: u64, units: u64| {
            let first = range.span.first_unit(role, bytes)?;
            let needed = (u128::from(first) + u128::from(units)) * u128::from(bytes);
            check_bound(role, needed, limit).map(|()| first)
        };
        let bytes = self.read.key.bytes();
        let bounds_first = match &self.bounds {
            Bounds::InBuffer(range, _) => first(BufferRole::Bounds, range, bytes, bins + 1)?,
            Bounds::OfHost(_) => {
                let needed = (u128::from(bins) + 1) * u128::from(bytes);
                check_bound(BufferRole::Bounds, needed, limit).map(|()| 0)?
            }
        };
        // Kernels number the bounds, too, of which there is one more.
        let counts_first = first(BufferRole::BinCounts, &self.counts, 4, bins + 1)?;
        Ok(HistogramLayout {
            first: read.first,
            stride: read.stride,
            bits: read.bits,
            count_at: read.count_at,
            // A binding has at most 2^32 - 1 words.
            bins: bins as u32,
            bounds: bins as u32 + 1,
            bounds_first,
            counts_first,
        })
    }
}

/// A buffer with keys of `bytes` bytes each, given by their bits.
fn upload(sorter: &Sorter, keys: &[u64], bytes: u64) -> Result<wgpu::Buffer, Error> {
    let each = keys.iter().map(|key| key.to_le_bytes());
    let mut packed: Vec<u8> = each
        .flat_map(|key| key.into_iter().take(bytes as usize))
        .collect();
    // A buffer is never empty, and has whole words.
    packed.resize(packed.len().max(4).next_multiple_of(4), 0);
    let usage = wgpu::BufferUsages::STORAGE;
    constant(sorter.device(), "bcfsort.bounds", &packed, usage)
}
