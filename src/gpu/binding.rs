//! Ranges of the user's buffers: the offset of the first record, and the range that is bound.

use crate::error::{BufferRole, Error};
use crate::job::{AsSpan, Bound, BufferSort, Span};
use crate::recording::Buffer;
use std::collections::BTreeMap;

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
/// job.prepare(&sorter)?.run()?;
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

/// A range of a buffer. Unlike a [`wgpu::BufferBinding`], it can be empty.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BufferRange<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) span: Span,
}

impl<'a> BufferRange<'a> {
    fn new(buffer: &'a wgpu::Buffer, offset: u64, size: u64) -> Self {
        let span = Span::new(offset, size, buffer.size());
        Self { buffer, span }
    }
}

impl AsSpan for BufferRange<'_> {
    fn span(&self) -> Span {
        self.span
    }

    fn is_same_buffer(a: &Self, b: &Self) -> bool {
        a.buffer == b.buffer
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

/// The binding for the first `bytes` bytes of a range. Fails if the range is shorter, or if the
/// buffer lacks the usage `STORAGE`.
pub(crate) fn bind<'a>(
    role: BufferRole,
    range: &BufferRange<'a>,
    bytes: u64,
) -> Result<wgpu::BufferBinding<'a>, Error> {
    usable(role, range, range.span.bound(role, bytes)?)
}

/// The bindings of all buffers of a job.
pub(crate) fn bind_all<'a>(
    job: &BufferSort<BufferRange<'a>>,
) -> Result<BTreeMap<Buffer, wgpu::BufferBinding<'a>>, Error> {
    let bindings = job.bindings()?.into_iter();
    bindings
        .map(|(role, range, bound)| Ok((role.into(), usable(role, range, bound)?)))
        .collect()
}

fn usable<'a>(
    role: BufferRole,
    range: &BufferRange<'a>,
    bound: Bound,
) -> Result<wgpu::BufferBinding<'a>, Error> {
    let buffer = range.buffer;
    if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(Error::BufferUsage {
            buffer: role,
            needed: wgpu::BufferUsages::STORAGE,
            actual: buffer.usage(),
        });
    }
    Ok(wgpu::BufferBinding {
        buffer,
        offset: bound.offset,
        size: wgpu::BufferSize::new(bound.size),
    })
}
