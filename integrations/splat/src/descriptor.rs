//! What is to be drawn, and in which order.

#[cfg(feature = "gpu")]
use crate::plan::Frame;
#[cfg(feature = "gpu")]
use wgpu_bcfsort::{Scratch, wgpu};

/// Where the positions of splats are: three `f32` each, in buffers with the usage `STORAGE`.
///
/// A slice begins at a multiple of 4 bytes. Positions are only read.
#[cfg(feature = "gpu")]
#[derive(Clone, Copy, Debug)]
pub enum Positions<'a> {
    /// Structure of arrays: slices with all x, all y and all z. They may be of one buffer.
    Arrays([wgpu::BufferSlice<'a>; 3]),
    /// Array of structures: x, y and z follow each other in a row of any other values.
    Strided {
        /// The rows. The slice begins with the first one.
        rows: wgpu::BufferSlice<'a>,
        /// Bytes from a row to the next one: a multiple of 4.
        stride: u32,
        /// Bytes before x in a row: a multiple of 4.
        offset: u32,
    },
}

/// What the depth of a splat is, by which splats are sorted. It grows with the distance from the
/// camera.
///
/// `x`, `y`, `z` and `w` are its position in clip space, the matrix times (position, 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Depth {
    /// `w`: of a perspective projection, the distance along the direction of view, whichever way
    /// its z is mapped.
    #[default]
    W,
    /// `z`: of an orthographic projection, whose `w` is 1 everywhere.
    Z,
    /// `w - z`: of an orthographic projection with reversed z, which is 1 near the camera.
    ReversedZ,
}

/// How finely depths are told apart.
///
/// Splats with equal keys are drawn in the order of their indices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum DepthKey {
    /// Keys of 32 bits: all different depths.
    #[default]
    Bits32,
    /// Keys of 16 bits: faster to sort, and less scratch memory.
    ///
    /// The range is divided as floats are: in equal steps between two powers of two. From 0.1 to
    /// 1000, two depths that differ by a 4000th part are told apart. Depths out of the range count
    /// as its ends, and are drawn all the same.
    Bits16 {
        /// The least depth that is told apart: that of the near plane, for example. 0 or more, but
        /// 0 takes most keys for depths that are next to nothing.
        nearest: f32,
        /// The greatest depth that is told apart.
        farthest: f32,
    },
}

/// Which splats are drawn first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DrawOrder {
    /// The farthest first, to blend each over those behind it.
    #[default]
    FarToNear,
    /// The nearest first, to blend each under those before it, or for opaque ones.
    NearToFar,
}

/// Describes a [`SplatSorter`](crate::SplatSorter). [`new`](Self::new) has the defaults of what few
/// programs change.
#[cfg(feature = "gpu")]
#[derive(Clone, Debug)]
pub struct SplatSorterDescriptor<'a> {
    /// Where the splats are.
    pub positions: Positions<'a>,
    /// How many they are.
    pub len: u32,
    /// The view-projection matrix: 16 `f32`, column by column as in WGSL, in a buffer with the
    /// usage `UNIFORM`. It leads to wgpu's clip space, where z is from 0 to w.
    ///
    /// The slice begins where the device can bind it: at a multiple of 256, or of its own
    /// `min_uniform_buffer_offset_alignment`. Each frame is drawn with the matrix that is in the
    /// buffer when it runs.
    pub camera: wgpu::BufferSlice<'a>,
    /// What the depth is. By default `w`, for perspective projections.
    pub depth: Depth,
    /// How finely depths are told apart. By default by 32 bits.
    pub key: DepthKey,
    /// Which splats are drawn first. By default the farthest.
    pub order: DrawOrder,
    /// How far out of the picture centres of splats may be, for splats that reach into it: a part
    /// of half the picture's width and height, by default 0.3. It does not move the near and the
    /// far plane.
    pub margin: f32,
    /// Vertices of each splat, for the draw arguments. By default 4: a triangle strip.
    pub vertices: u32,
    /// Where the order is written: the first `len` words of a buffer with the usage `STORAGE`, such
    /// as one that an engine draws from. By default a buffer of its own.
    pub order_buffer: Option<&'a wgpu::Buffer>,
    /// Scratch memory that is shared with other sorts, which must not run at the same time. By
    /// default its own.
    pub scratch: Option<&'a Scratch>,
}

#[cfg(feature = "gpu")]
impl<'a> SplatSorterDescriptor<'a> {
    /// Describes a sorter with the defaults.
    #[must_use]
    pub fn new(positions: Positions<'a>, len: u32, camera: wgpu::BufferSlice<'a>) -> Self {
        Self {
            positions,
            len,
            camera,
            depth: Depth::default(),
            key: DepthKey::default(),
            order: DrawOrder::default(),
            margin: Frame::MARGIN,
            vertices: Frame::VERTICES,
            order_buffer: None,
            scratch: None,
        }
    }
}
