//! The errors, with the numbers that explain them.

use std::fmt;
#[cfg(feature = "gpu")]
use wgpu_bcfsort::wgpu;

/// Which of the program's buffers an [`Error`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplatBuffer {
    /// The x coordinates: [`Positions::Arrays`](crate::Positions::Arrays).
    X,
    /// The y coordinates.
    Y,
    /// The z coordinates.
    Z,
    /// The rows that positions are in: [`Positions::Strided`](crate::Positions::Strided).
    Positions,
    /// The view-projection matrix:
    /// [`SplatSorterDescriptor::camera`](crate::SplatSorterDescriptor::camera).
    Camera,
    /// The order:
    /// [`SplatSorterDescriptor::order_buffer`](crate::SplatSorterDescriptor::order_buffer).
    Order,
}

impl fmt::Display for SplatBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
            Self::Positions => "positions",
            Self::Camera => "camera",
            Self::Order => "order",
        })
    }
}

/// Why a [`SplatSorter`](crate::SplatSorter) could not be made. No call after that can fail.
///
/// All but [`Sort`](Self::Sort) are of the descriptor, and the same call fails again. The text is
/// one line, and says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A buffer, or the slice of it, has fewer bytes than the splats or the matrix need.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer has {actual} bytes, and needs {needed}: give a larger slice, or fewer \
         splats"
    )]
    BufferTooSmall {
        /// Which buffer.
        buffer: SplatBuffer,
        /// The bytes that are needed.
        needed: u64,
        /// The bytes of the slice.
        actual: u64,
    },
    /// A slice is larger than the device can bind at once.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer would be bound with {needed} bytes, and this device binds at most \
         {limit} at once (max_storage_buffer_binding_size): request a device with a higher limit, \
         or sort fewer splats"
    )]
    BindingTooLarge {
        /// Which buffer.
        buffer: SplatBuffer,
        /// The bytes that would be bound.
        needed: u64,
        /// The device's limit.
        limit: u64,
    },
    /// A buffer lacks a usage.
    #[cfg(feature = "gpu")]
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer has the usages {actual:?}, but also needs {needed:?}: add it where \
         the buffer is created"
    )]
    BufferUsage {
        /// Which buffer.
        buffer: SplatBuffer,
        /// The usage that is needed.
        needed: wgpu::BufferUsages,
        /// The usages of the buffer.
        actual: wgpu::BufferUsages,
    },
    /// A slice begins where it cannot be bound.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer is used from byte {offset} on: this offset must be a multiple of \
         {multiple_of}"
    )]
    Offset {
        /// Which buffer.
        buffer: SplatBuffer,
        /// The offset of the slice in bytes.
        offset: u64,
        /// What it must be a multiple of.
        multiple_of: u64,
    },
    /// The rows of positions cannot be read.
    #[non_exhaustive]
    #[error(
        "positions at byte {offset} of rows of {stride} bytes: both must be multiples of 4, and \
         the 12 bytes of a position must be within its row"
    )]
    Stride {
        /// Bytes from a row to the next one.
        stride: u32,
        /// Bytes before the position in a row.
        offset: u32,
    },
    /// The margin is negative or not finite.
    #[error("the margin is {0}, but must be 0 or a positive finite number, such as 0.3")]
    Margin(f32),
    /// The range of depths for keys of 16 bits has no two depths.
    #[non_exhaustive]
    #[error(
        "keys of 16 bits are for depths from {nearest} to {farthest}: both must be finite and not \
         negative, and the first one less than the second"
    )]
    DepthRange {
        /// The least depth that is told apart.
        nearest: f32,
        /// The greatest depth that is told apart.
        farthest: f32,
    },
    /// The sort was refused, or the device made no object: the library's error, which says whether
    /// [the same call may succeed later](wgpu_bcfsort::Error#which-to-try-again).
    #[error(transparent)]
    Sort(#[from] wgpu_bcfsort::Error),
}
