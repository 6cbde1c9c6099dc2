//! Ranges of the caller's buffers: where records are in them, and what is bound.

use crate::{BufferRole, Error};

/// A range of a GPU buffer: what [`Keys`](crate::Keys), [`Payload`](crate::Payload) and
/// [`SortJob`](crate::SortJob) take.
///
/// | you have | the range |
/// |---|---|
/// | `&wgpu::Buffer` | the whole buffer |
/// | [`wgpu::BufferSlice`], `buffer.slice(4096..)` | from a byte on, or to a byte |
/// | [`wgpu::BufferBinding`] | the same, by `offset` and `size` |
///
/// A range may begin at any record: its byte offset is a multiple of the size of a key, or of 4 for
/// all else, and need not have the alignment of a binding. The sorter uses as many bytes as the
/// records take and leaves all others as they are.
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

/// A range of a buffer in bytes. (A [`wgpu::BufferBinding`] cannot be empty.)
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BufferRange<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) offset: u64,
    /// Bytes from there on: none behind the buffer's end.
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

/// The alignment of a binding that every device can bind.
pub(crate) const ALIGNMENT: u64 = 256;

/// Bytes of a range before its first record, from where it is bound on.
pub(crate) const fn unaligned(range: &BufferRange<'_>) -> u64 {
    range.offset % ALIGNMENT
}

/// Where a range begins, from where it is bound on, counted in units of `bytes`.
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
    // Words have numbers of 32 bits.
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

/// What is bound for `bytes` bytes from the beginning of a range on, if the range has them and the
/// buffer may be bound: whole words.
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
    // (The last word of packed keys is read and written as a whole.)
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
