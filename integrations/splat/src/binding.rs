//! Slices of the program's buffers, checked and bound.

use crate::error::{Error, SplatBuffer};
use wgpu_bcfsort::wgpu::{self, BufferUsages};

/// Bytes of a matrix.
const MATRIX: u64 = 64;

/// A slice as it is bound: from where the device can bind it, with the words before the slice.
pub(crate) struct Words<'a> {
    pub(crate) binding: wgpu::BindingResource<'a>,
    pub(crate) first: u32,
}

/// Binds the first `needed` bytes of a slice.
pub(crate) fn words<'a>(
    slice: wgpu::BufferSlice<'a>,
    buffer: SplatBuffer,
    needed: u64,
    limits: &wgpu::Limits,
) -> Result<Words<'a>, Error> {
    check(slice, buffer, (needed, 4), BufferUsages::STORAGE)?;
    let before = slice.offset() % u64::from(limits.min_storage_buffer_offset_alignment);
    let bytes = before + needed;
    // (The kernel's indices of words have 32 bits.)
    let limit = limits
        .max_storage_buffer_binding_size
        .min(u64::from(u32::MAX) * 4);
    if bytes > limit {
        return Err(Error::BindingTooLarge {
            buffer,
            needed: bytes,
            limit,
        });
    }
    let binding = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer: slice.buffer(),
        offset: slice.offset() - before,
        size: wgpu::BufferSize::new(bytes),
    });
    Ok(Words {
        binding,
        first: (before / 4) as u32,
    })
}

/// Binds the matrix.
pub(crate) fn camera<'a>(
    slice: wgpu::BufferSlice<'a>,
    limits: &wgpu::Limits,
) -> Result<wgpu::BindingResource<'a>, Error> {
    let multiple_of = u64::from(limits.min_uniform_buffer_offset_alignment);
    let needed = (MATRIX, multiple_of);
    check(slice, SplatBuffer::Camera, needed, BufferUsages::UNIFORM)?;
    Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer: slice.buffer(),
        offset: slice.offset(),
        size: wgpu::BufferSize::new(MATRIX),
    }))
}

/// Checks the usage, the offset and the size of a slice.
fn check(
    slice: wgpu::BufferSlice<'_>,
    buffer: SplatBuffer,
    (needed, multiple_of): (u64, u64),
    usage: BufferUsages,
) -> Result<(), Error> {
    let actual = slice.buffer().usage();
    if !actual.contains(usage) {
        return Err(Error::BufferUsage {
            buffer,
            needed: usage,
            actual,
        });
    }
    let offset = slice.offset();
    if !offset.is_multiple_of(multiple_of) {
        return Err(Error::Offset {
            buffer,
            offset,
            multiple_of,
        });
    }
    if slice.size() < needed {
        return Err(Error::BufferTooSmall {
            buffer,
            needed,
            actual: slice.size(),
        });
    }
    Ok(())
}
