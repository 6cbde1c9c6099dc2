//! The public merge: two sorted inputs in GPU buffers.

use super::kernels;
use super::record::{MergeLayout, MergedValues, record_merge};
use crate::error::{BufferRole, Error};
use crate::gpu::binding::{self, BufferRange, ToBinding};
use crate::job::{AsSpan as _, check_bound};
use crate::key::KeyType;
use crate::order::Order;
use crate::recording::Recording;
use crate::sorter::{PreparedSort, Scratch, Sorter};
use std::collections::BTreeMap;

/// Merges two sorted inputs in GPU buffers, A and B, into a third buffer.
///
/// Keys are of 32 and 64 bits: any such [`KeyType`], with floats in total order. Each record may
/// have a [value](Self::values) of 32 bits. The merge is stable: of records with equal keys, those
/// of A come first, and the records of each input stay in their order.
///
/// It is recorded as a sort is, creates no object in a frame, and may take the numbers of records
/// [from GPU buffers](Self::len_from). The result is the same on every device.
///
/// O(n) time for n records in all: two dispatches, which read and write each record once. Scratch
/// memory is at most 4 bytes for every 768 records, and 16 bytes.
///
/// # Buffers
///
/// The output is written, and needs a buffer of its own; so does that of the values. Both inputs
/// are only read. They may be ranges of one buffer, such as two runs that were sorted there.
///
/// # Inputs that are not in order
///
/// Nothing outside the output is written, and the merge ends. Each record that is written is one of
/// an input, with its value. Some may be written several times, and others not at all.
///
/// # Examples
///
/// New events, which are few, among those that are in order:
///
/// ```
/// use wgpu_bcfsort::{KeyType, MergeJob, Options, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let times = sorter.upload(&[0.5_f32, 2.0, 2.5, 7.0])?;
/// let events = sorter.upload(&[10_u32, 11, 12, 13])?;
/// let new_times = sorter.upload(&[2.0_f32, 8.0])?;
/// let new_events = sorter.upload(&[20_u32, 21])?;
/// let all_times = sorter.upload(&[0_f32; 6])?;
/// let all_events = sorter.upload(&[0_u32; 6])?;
/// // Once:
/// let merge = MergeJob::new((&times, 4), (&new_times, 2), KeyType::F32, &all_times)
///     .values(&events, &new_events, &all_events)
///     .prepare(&sorter)?;
/// // Each frame:
/// let mut encoder = sorter.device().create_command_encoder(&Default::default());
/// merge.record(&mut encoder);
/// sorter.queue().submit([encoder.finish()]);
/// assert_eq!(sorter.download::<f32>(&all_times)?, [0.5, 2.0, 2.0, 2.5, 7.0, 8.0]);
/// assert_eq!(sorter.download::<u32>(&all_events)?, [10, 11, 20, 12, 13, 21]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "MergeJob::prepare makes it ready"]
pub struct MergeJob<'a> {
    keys: [BufferRange<'a>; 2],
    lens: [u64; 2],
    of: KeyType,
    order: Order,
    output: BufferRange<'a>,
    /// The values of A and of B, and where the merged ones are written.
    values: Option<[BufferRange<'a>; 3]>,
    counts: Option<[BufferRange<'a>; 2]>,
    scratch: Option<&'a Scratch>,
}

impl<'a> MergeJob<'a> {
    /// Merges the first keys of `a` and the first keys of `b`, as many as the numbers beside them,
    /// into `output`. Each input is sorted.
    ///
    /// # Examples
    ///
    /// Two runs of one buffer:
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, MergeJob, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let runs = sorter.upload(&[2_u64, 4, 1 << 40, 3, 4])?;
    /// let merged = sorter.upload(&[0_u64; 5])?;
    /// let (a, b) = (runs.slice(..24), runs.slice(24..));
    /// MergeJob::new((a, 3), (b, 2), KeyType::U64, &merged).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u64>(&merged)?, [2, 3, 4, 4, 1 << 40]);
    /// # Ok(()) }
    /// ```
    pub fn new(
        a: (impl ToBinding<'a>, u64),
        b: (impl ToBinding<'a>, u64),
        of: KeyType,
        output: impl ToBinding<'a>,
    ) -> Self {
        Self {
            keys: [a.0.to_range(), b.0.to_range()],
            lens: [a.1, b.1],
            of,
            order: Order::Ascending,
            output: output.to_range(),
            values: None,
            counts: None,
            scratch: None,
        }
    }

    /// Sets the direction in which both inputs are sorted. Default: ascending.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, MergeJob, Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let (a, b) = (sorter.upload(&[9_i32, -2])?, sorter.upload(&[7_i32])?);
    /// let merged = sorter.upload(&[0_i32; 3])?;
    /// let job = MergeJob::new((&a, 2), (&b, 1), KeyType::I32, &merged);
    /// job.order(Order::Descending).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<i32>(&merged)?, [9, 7, -2]);
    /// # Ok(()) }
    /// ```
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Moves a 32-bit value with each key: those of A and of B, which are only read, to `output`.
    ///
    /// # Examples
    ///
    /// See [`MergeJob`].
    pub fn values(
        mut self,
        a: impl ToBinding<'a>,
        b: impl ToBinding<'a>,
        output: impl ToBinding<'a>,
    ) -> Self {
        self.values = Some([a.to_range(), b.to_range(), output.to_range()]);
        self
    }

    /// Reads the number of records of each input from a GPU buffer when the merge runs: see
    /// [`SortJob::len_from`](crate::SortJob::len_from). The numbers that [`new`](Self::new) got are
    /// the most. Both may be in one buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, MergeJob, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let (a, b) = (sorter.upload(&[2_u32, 6, 0, 0])?, sorter.upload(&[3_u32, 4, 5])?);
    /// let merged = sorter.upload(&[9_u32; 7])?;
    /// let counts = sorter.upload(&[2_u32, 3])?;
    /// let job = MergeJob::new((&a, 4), (&b, 3), KeyType::U32, &merged)
    ///     .len_from(counts.slice(..4), counts.slice(4..));
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u32>(&merged)?, [2, 3, 4, 5, 6, 9, 9]);
    /// # Ok(()) }
    /// ```
    pub fn len_from(mut self, a: impl ToBinding<'a>, b: impl ToBinding<'a>) -> Self {
        self.counts = Some([a.to_range(), b.to_range()]);
        self
    }

    /// Shares scratch memory with sorts: see [`SortJob::scratch`](crate::SortJob::scratch).
    pub const fn scratch(mut self, scratch: &'a Scratch) -> Self {
        self.scratch = Some(scratch);
        self
    }

    /// Makes every GPU object, so that the merge can be recorded any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::NoMerge`] for keys of 8 and 16 bits, [`Error::TooLarge`] for more records in all
    /// than a sort may have, [`Error::BufferTooSmall`], [`Error::BufferUsage`] (every buffer needs
    /// `STORAGE`), [`Error::Offset`], [`Error::BindingTooLarge`], [`Error::SameBuffer`],
    /// [`Error::WorkgroupMemory`], [`Error::OutOfMemory`], [`Error::Device`]. In them the keys of B
    /// have the role [`SecondKeys`](BufferRole::SecondKeys), and the values of A, of B and of the
    /// output [`Payload`](BufferRole::Payload) 0 and 1 and
    /// [`PayloadOutput`](BufferRole::PayloadOutput) 0.
    ///
    /// # Examples
    ///
    /// See [`MergeJob`].
    pub fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let recording = self.recording(sorter)?;
        let parts = self.parts();
        for (number, second) in parts.iter().enumerate() {
            // A dispatch may read a buffer twice.
            let clashes = |first: &&Part<'_>| {
                let is_same = first.range.buffer == second.range.buffer;
                is_same && (first.is_written() || second.is_written())
            };
            if let Some(first) = parts[..number].iter().find(clashes) {
                return Err(Error::SameBuffer {
                    first: first.role,
                    second: second.role,
                });
            }
        }
        let mut bound = BTreeMap::new();
        for part in &parts {
            // An empty input may have an empty buffer, which cannot be bound.
            if part.units > 0 {
                let bytes = part.units * part.bytes;
                let binding = binding::bind(part.role, part.range, bytes)?;
                bound.insert(part.role.into(), binding);
            }
        }
        sorter.prepare_recording(recording, &bound, self.scratch)
    }

    /// Bytes of scratch memory. The buffers may still be too small: they are not checked.
    ///
    /// # Errors
    ///
    /// [`Error::NoMerge`], [`Error::TooLarge`], [`Error::Offset`], [`Error::BindingTooLarge`].
    pub fn scratch_size(&self, sorter: &Sorter) -> Result<u64, Error> {
        Ok(self.recording(sorter)?.scratch_bytes())
    }

    /// All buffers: two of keys, their output, and three of values and two of counts if there are
    /// any.
    fn parts(&self) -> Vec<Part<'_>> {
        let [a, b] = self.lens;
        let all = a.saturating_add(b);
        let key = self.of.bytes();
        let part = |role, range, units, bytes| Part {
            role,
            range,
            units,
            bytes,
        };
        let mut parts = vec![
            part(BufferRole::Keys, &self.keys[0], a, key),
            part(BufferRole::SecondKeys, &self.keys[1], b, key),
            part(BufferRole::Output, &self.output, all, key),
        ];
        if let Some([of_a, of_b, to]) = &self.values {
            parts.extend([
                part(BufferRole::Payload(0), of_a, a, 4),
                part(BufferRole::Payload(1), of_b, b, 4),
                part(BufferRole::PayloadOutput(0), to, all, 4),
            ]);
        }
        if let Some([of_a, of_b]) = &self.counts {
            parts.extend([
                part(BufferRole::Count, of_a, 1, 4),
                part(BufferRole::SecondCount, of_b, 1, 4),
            ]);
        }
        parts
    }

    fn recording(&self, sorter: &Sorter) -> Result<Recording, Error> {
        if !kernels::merges(self.of) {
            return Err(Error::NoMerge(self.of));
        }
        let planner = sorter.planner();
        let [a, b] = self.lens;
        planner.check_len(a.saturating_add(b), self.of)?;
        let limits = &planner.limits;
        let mut layout = MergeLayout::default();
        let mut values = MergedValues::default();
        let mut counts = [0; 2];
        for part in self.parts() {
            let first = part.range.span().first_unit(part.role, part.bytes)?;
            let needed = (u128::from(first) + u128::from(part.units)) * u128::from(part.bytes);
            check_bound(part.role, needed, limits.buffer_bytes)?;
            match part.role {
                BufferRole::Keys => layout.first_a = first,
                BufferRole::SecondKeys => layout.first_b = first,
                BufferRole::Payload(0) => values.a = first,
                BufferRole::Payload(_) => values.b = first,
                BufferRole::PayloadOutput(_) => values.output = first,
                BufferRole::Count => counts[0] = first,
                BufferRole::SecondCount => counts[1] = first,
                _ => layout.output = first,
            }
        }
        layout.values = self.values.map(|_| values);
        layout.counts = self.counts.map(|_| counts);
        // Both are at most their sum, which has been checked.
        let lens = [a as u32, b as u32];
        Ok(record_merge(lens, self.of, self.order, &layout, limits))
    }
}

/// A buffer of a merge: `units` numbers of `bytes` bytes each.
struct Part<'a> {
    role: BufferRole,
    range: &'a BufferRange<'a>,
    units: u64,
    bytes: u64,
}

impl Part<'_> {
    const fn is_written(&self) -> bool {
        matches!(self.role, BufferRole::Output | BufferRole::PayloadOutput(_))
    }
}
