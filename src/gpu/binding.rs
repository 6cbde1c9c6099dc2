//! Ranges of the user's buffers: the offset of the first record, and the range that is bound.

use crate::{BufferRole, Error};

/// A range of a GPU buffer, as an argument of [`Keys`](crate::Keys), [`Payload`](crate::Payload)
/// and [`SortJob`](crate::SortJob).
///
/// | you have | the range |
/// |---|---|
/// | `&wgpu::Buffer` | the whole buffer |
/// | [`wgpu::BufferSlice`], `buffer.slice(4096..)` | the bytes of the slice |
/// | [`wgpu::BufferBinding`] | `size` bytes from `offset` on |
///
/// A range may begin at any record. Its byte offset must be a multiple of the key size for keys,
/// and of 4 for all other data; the alignment of bindings does not apply. The sorter accesses the
/// bytes of the records only and leaves all others unchanged.
///
/// The trait is sealed.
///
/// # Examples
///
/// Three of six keys:
///
/// ```
/// use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let sorter = Sorter::open(Options::default())?;
/// let keys = sorter.upload(&[9_u32, 8, 3, 1, 2, 0])?;
/// let job = SortJob::new(Keys::new(keys.slice(8..), KeyType::U32), 3);
/// sorter.prepare(&job)?.run()?;
/// assert_eq!(sorter.download::<u32>(&keys)?, [9, 8, 1, 2, 3, 0]);
/// # Ok(()) }
/// ```
pub trait ToBinding<'a>: sealed::Sealed {
    /// The range.
    #[doc(hidden)]
    fn to_range(self) -> BufferRange<'a>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for &wgpu::Buffer {}
    impl Sealed for wgpu::BufferSlice<'_> {}
    impl Sealed for wgpu::BufferBinding<'_> {}
}

/// A range of a buffer in bytes. Unlike a [`wgpu::BufferBinding`], it can be empty.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BufferRange<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) offset: u64,
    /// Size in bytes, clamped to the end of the buffer.
    pub(crate) size: u64,
}

impl<'a> BufferRange<'a> {
    fn new(buffer: &'a wgpu::Buffer, offset: u64, size: u64) -> Self {
        let size = buffer.size().saturating_sub(offset).min(size);
        Self {
            buffer,
            offset,
            size,
        }
    }
}

impl<'a> ToBinding<'a> for &'a wgpu::Buffer {
    fn to_range(self) -> BufferRange<'a> {
        BufferRange::new(self, 0, self.size())
    }
}

impl<'a> ToBinding<'a> for wgpu::BufferSlice<'a> {
    fn to_range(self) -> BufferRange<'a> {
        BufferRange::new(self.buffer(), self.offset(), self.size())
    }
}

impl<'a> ToBinding<'a> for wgpu::BufferBinding<'a> {
    fn to_range(self) -> BufferRange<'a> {
        let size = self.size.map_or(u64::MAX, wgpu::BufferSize::get);
        BufferRange::new(self.buffer, self.offset, size)
    }
}

/// The alignment in bytes of bindings, which every device supports.
pub(crate) const ALIGNMENT: u64 = 256;

/// Bytes from the aligned start of the binding to the first record of a range.
pub(crate) const fn unaligned(range: &BufferRange<'_>) -> u64 {
    range.offset % ALIGNMENT
}

/// The index of a range's first record within its binding, in units of `bytes`.
pub(crate) fn first_unit(
    role: BufferRole,
    range: &BufferRange<'_>,
    bytes: u64,
) -> Result<u32, Error> {
    if range.offset.is_multiple_of(bytes) {
        return Ok((unaligned(range) / bytes) as u32);
    }
    Err(Error::Offset {
        buffer: role,
        offset: range.offset,
        multiple_of: bytes,
    })
}

/// Fails if a device cannot bind `needed` bytes at once.
pub(crate) fn check_bound(role: BufferRole, needed: u128, limit: u64) -> Result<(), Error> {
    // Kernels index words by 32-bit numbers.
    let limit = limit.min(u64::from(u32::MAX) * 4);
    if needed <= u128::from(limit) {
        return Ok(());
    }
    Err(Error::BindingTooLarge {
        buffer: role,
        needed,
        limit,
    })
}

/// The binding for the first `bytes` bytes of a range: aligned, and in whole words. Fails if the
/// range is shorter, or if the buffer lacks the usage `STORAGE`.
pub(crate) fn bind<'a>(
    role: BufferRole,
    range: &BufferRange<'a>,
    bytes: u64,
) -> Result<wgpu::BufferBinding<'a>, Error> {
    let BufferRange {
        buffer,
        offset,
        size,
    } = *range;
    let before = unaligned(range);
    // Kernels read and write the last word of packed keys as a whole.
    let bound = (before + bytes).next_multiple_of(4);
    let room = buffer.size().saturating_sub(offset).saturating_add(before);
    if size < bytes || room < bound && bytes > 0 {
        return Err(Error::BufferTooSmall {
            buffer: role,
            needed: bytes,
            actual: size,
        });
    }
    if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(Error::BufferUsage {
            buffer: role,
            needed: wgpu::BufferUsages::STORAGE,
            actual: buffer.usage(),
        });
    }
    Ok(wgpu::BufferBinding {
        buffer,
        offset: offset - before,
        size: wgpu::BufferSize::new(bound),
    })
}
