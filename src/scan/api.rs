//! The public scan: values in GPU buffers.

use super::kernels;
use super::record::{ScanLayout, record_scan};
use crate::error::{BufferRole, Error};
use crate::gpu::binding::{self, BufferRange, ToBinding};
use crate::job::check_bound;
use crate::key::KeyType;
use crate::recording::{Buffer, Recording};
use crate::sorter::{PreparedSort, Scratch, Sorter};
use std::collections::BTreeMap;

/// Prefix sums of the values in a GPU buffer: a scan.
///
/// Sum i is that of the values 0 to i ([`inclusive`](Self::inclusive)) or 0 to i - 1
/// ([`exclusive`](Self::exclusive): where things begin, from how large they are). Values are `u32`,
/// `i32`, `f32`, `u64` or `i64`.
///
/// It is recorded as a sort is, and creates no object in a frame. O(n) time: three dispatches,
/// which read each value twice and write each sum once. Scratch memory is a value for every 8192.
///
/// # Rounding
///
/// Integers wrap around. Sums of `f32` are added in an order that depends on nothing but their
/// number: they are the same in every run, and on every device that rounds as IEEE 754 says. If
/// they are inexact, they may differ from sums from left to right, and need not ascend. WGSL allows
/// a device to flush subnormal numbers to 0, and to assume that there are no infinities and NaNs.
///
/// # Examples
///
/// Where each of four lists begins:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Options, ScanJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let lengths = sorter.upload(&[3_u32, 0, 5, 2])?;
/// let begins = sorter.upload(&[0_u32; 4])?;
/// let job = ScanJob::exclusive(&lengths, KeyType::U32, 4).output(&begins);
/// // Once:
/// let scan = job.prepare(&sorter)?;
/// // Each frame:
/// let mut encoder = sorter.device().create_command_encoder(&Default::default());
/// scan.record(&mut encoder);
/// sorter.queue().submit([encoder.finish()]);
/// assert_eq!(sorter.download::<u32>(&begins)?, [0, 3, 3, 8]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "ScanJob::prepare makes it ready"]
pub struct ScanJob<'a> {
    values: BufferRange<'a>,
    of: KeyType,
    len: u64,
    is_exclusive: bool,
    output: Option<BufferRange<'a>>,
    count: Option<BufferRange<'a>>,
    scratch: Option<&'a Scratch>,
}

impl<'a> ScanJob<'a> {
    /// Replaces each of the first `len` values by the sum of all up to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Options, ScanJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let weights = sorter.upload(&[0.5_f32, 0.25, 2.0])?;
    /// ScanJob::inclusive(&weights, KeyType::F32, 3).prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<f32>(&weights)?, [0.5, 0.75, 2.75]);
    /// # Ok(()) }
    /// ```
    pub fn inclusive(values: impl ToBinding<'a>, of: KeyType, len: u64) -> Self {
        Self {
            values: values.to_range(),
            of,
            len,
            is_exclusive: false,
            output: None,
            count: None,
            scratch: None,
        }
    }

    /// Replaces each of the first `len` values by the sum of all before it: the first one by 0.
    ///
    /// # Examples
    ///
    /// See [`ScanJob`].
    pub fn exclusive(values: impl ToBinding<'a>, of: KeyType, len: u64) -> Self {
        Self {
            is_exclusive: true,
            ..Self::inclusive(values, of, len)
        }
    }

    /// Writes the sums to another buffer, and leaves the values as they are.
    ///
    /// # Examples
    ///
    /// See [`ScanJob`].
    pub fn output(mut self, sums: impl ToBinding<'a>) -> Self {
        self.output = Some(sums.to_range());
        self
    }

    /// Reads the number of values from a GPU buffer when the scan runs: see
    /// [`SortJob::len_from`](crate::SortJob::len_from).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Options, ScanJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let values = sorter.upload(&[1_u64, 1 << 40, 3])?;
    /// let count = sorter.upload(&[2_u32])?;
    /// let job = ScanJob::inclusive(&values, KeyType::U64, 3).len_from(&count);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u64>(&values)?, [1, (1 << 40) + 1, 3]);
    /// # Ok(()) }
    /// ```
    pub fn len_from(mut self, count: impl ToBinding<'a>) -> Self {
        self.count = Some(count.to_range());
        self
    }

    /// Shares scratch memory with sorts: see [`SortJob::scratch`](crate::SortJob::scratch).
    pub const fn scratch(mut self, scratch: &'a Scratch) -> Self {
        self.scratch = Some(scratch);
        self
    }

    /// Makes every GPU object, so that the scan can be recorded any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::NoSums`] for other types, [`Error::TooLarge`], [`Error::BufferTooSmall`],
    /// [`Error::BufferUsage`] (every buffer needs `STORAGE`), [`Error::Offset`],
    /// [`Error::BindingTooLarge`], [`Error::SameBuffer`], [`Error::OutOfMemory`],
    /// [`Error::Device`].
    ///
    /// # Examples
    ///
    /// See [`ScanJob`].
    pub fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let recording = self.recording(sorter)?;
        let bytes = self.len * self.of.bytes();
        let mut bound = BTreeMap::new();
        let mut given: Vec<(BufferRole, &BufferRange<'a>)> = Vec::new();
        for (role, to, range, bytes) in [
            (BufferRole::Values, Buffer::Keys, Some(&self.values), bytes),
            (
                BufferRole::Output,
                Buffer::Output,
                self.output.as_ref(),
                bytes,
            ),
            (BufferRole::Count, Buffer::Count, self.count.as_ref(), 4),
        ] {
            let Some(range) = range else { continue };
            let same = given.iter().find(|(_, other)| other.buffer == range.buffer);
            if let Some(&(first, _)) = same {
                let second = role;
                return Err(Error::SameBuffer { first, second });
            }
            given.push((role, range));
            bound.insert(to, binding::bind(role, range, bytes)?);
        }
        sorter.prepare_recording(recording, &bound, self.scratch)
    }

    /// Bytes of scratch memory. The buffers may still be too small: they are not checked.
    ///
    /// # Errors
    ///
    /// [`Error::NoSums`], [`Error::TooLarge`], [`Error::Offset`], [`Error::BindingTooLarge`].
    pub fn scratch_size(&self, sorter: &Sorter) -> Result<u64, Error> {
        Ok(self.recording(sorter)?.scratch_bytes())
    }

    fn recording(&self, sorter: &Sorter) -> Result<Recording, Error> {
        let of = self.of;
        if !kernels::adds(of) {
            return Err(Error::NoSums(of));
        }
        let planner = sorter.planner();
        let len = planner.check_len(self.len, of)?;
        let limits = &planner.limits;
        let first = |role, range: &BufferRange<'_>, bytes: u64| {
            let first = range.span.first_unit(role, bytes)?;
            let needed = (u128::from(first) + u128::from(len)) * u128::from(bytes);
            check_bound(role, needed, limits.buffer_bytes).map(|()| first)
        };
        let output = self.output.as_ref();
        let count = self.count.as_ref();
        let layout = ScanLayout {
            first: first(BufferRole::Values, &self.values, of.bytes())?,
            output: output
                .map(|range| first(BufferRole::Output, range, of.bytes()))
                .transpose()?,
            is_exclusive: self.is_exclusive,
            count_at: count
                .map(|range| range.span.first_unit(BufferRole::Count, 4))
                .transpose()?,
        };
        Ok(record_scan(len, of, &layout, limits))
    }
}
