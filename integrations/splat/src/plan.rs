//! A frame as data: what is checked and bound, and what the kernels are. It needs no device.
// (Public to the browser package alone.)
#![allow(missing_docs)]

use crate::descriptor::{Depth, DepthKey, DrawOrder};
use crate::error::{Error, SplatBuffer};
use crate::parameters::{KeyRange, Parameters};

/// The kernels that cull, write keys and count.
pub const WGSL: &str = include_str!("keys.wgsl");

/// Bytes of a matrix.
const MATRIX: u64 = 64;

/// Bytes of a buffer: those of a slice, or those that are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub size: u64,
}

/// How kernels use a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Uniform,
    Read,
    ReadWrite,
}

/// A variable of the kernels, in bind group 0.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub binding: u32,
    pub name: &'static str,
    pub access: Access,
}

const fn variable(binding: u32, name: &'static str, access: Access) -> Variable {
    Variable {
        binding,
        name,
        access,
    }
}

pub const PARAMETERS: Variable = variable(0, "parameters", Access::Uniform);
const COUNT: Variable = variable(6, "count", Access::ReadWrite);
const DRAW: Variable = variable(7, "draw", Access::ReadWrite);

/// A kernel: its entry point, and the variables that it uses.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub entry: &'static str,
    pub variables: &'static [Variable],
}

/// Writes the draw arguments without an instance, and sets the count to 0.
pub const BEGIN: Kernel = Kernel {
    entry: "begin",
    variables: &[PARAMETERS, COUNT, DRAW],
};

/// Writes the keys, and adds the splats that are drawn to the count and the draw arguments.
pub const WRITE_KEYS: Kernel = Kernel {
    entry: "write_keys",
    variables: &[
        PARAMETERS,
        variable(1, "view_projection", Access::Uniform),
        variable(2, "x", Access::Read),
        variable(3, "y", Access::Read),
        variable(4, "z", Access::Read),
        variable(5, "keys", Access::ReadWrite),
        COUNT,
        DRAW,
    ],
};

/// Where the positions are: [`Positions`](crate::Positions) without buffers.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    Arrays([Span; 3]),
    Strided {
        rows: Span,
        stride: u32,
        offset: u32,
    },
}

/// What is drawn: [`SplatSorterDescriptor`](crate::SplatSorterDescriptor) without buffers.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub positions: Layout,
    pub len: u32,
    pub camera: Span,
    pub depth: Depth,
    pub key: DepthKey,
    pub order: DrawOrder,
    pub margin: f32,
    pub vertices: u32,
}

/// What a device allows.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Bytes that offsets of storage bindings, and of uniform ones, are multiples of.
    pub storage_alignment: u32,
    pub uniform_alignment: u32,
    /// Bytes of a storage binding.
    pub binding_size: u64,
    /// Workgroups in a row of the grid.
    pub workgroups: u32,
}

/// What a frame binds and dispatches before it sorts.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// `Parameters` of the kernels.
    pub parameters: [u32; 15],
    pub camera: Span,
    /// What is bound of x, y and z. Without splats nothing is, and [`WRITE_KEYS`] is not run.
    pub coordinates: Option<[Span; 3]>,
    /// The workgroups of [`WRITE_KEYS`].
    pub grid: [u32; 2],
}

impl Frame {
    /// The default of the margin.
    pub const MARGIN: f32 = 0.3;
    /// The default of the vertices: a triangle strip.
    pub const VERTICES: u32 = 4;

    /// Checks the frame.
    ///
    /// # Errors
    ///
    /// All that [`SplatSorter::new`](crate::SplatSorter::new) has but `BufferUsage` and `Sort`.
    pub fn plan(&self, allowed: &Allowed) -> Result<Plan, Error> {
        let camera = SplatBuffer::Camera;
        check(self.camera, camera, MATRIX, allowed.uniform_alignment)?;
        let margin = self.margin;
        if !(margin.is_finite() && margin >= 0.0) {
            return Err(Error::Margin(margin));
        }
        let keys = KeyRange::new(self.key)?;
        let (stride, first, coordinates) = self.coordinates(allowed)?;
        let parameters = Parameters {
            len: self.len,
            width: Parameters::tiles(self.len).clamp(1, allowed.workgroups),
            stride,
            first,
            keys,
            order: self.order,
            depth: self.depth,
            margin,
            vertices: self.vertices,
        };
        Ok(Plan {
            parameters: parameters.words(),
            camera: Span {
                offset: self.camera.offset,
                size: MATRIX,
            },
            coordinates: (self.len > 0).then_some(coordinates),
            grid: parameters.grid(),
        })
    }

    /// The words from a splat to the next one, those before each coordinate of the first one, and
    /// what is bound of each.
    fn coordinates(&self, allowed: &Allowed) -> Result<(u32, [u32; 3], [Span; 3]), Error> {
        match self.positions {
            Layout::Arrays([x, y, z]) => {
                let needed = u64::from(self.len) * 4;
                let (x, first_x) = words(x, SplatBuffer::X, needed, allowed)?;
                let (y, first_y) = words(y, SplatBuffer::Y, needed, allowed)?;
                let (z, first_z) = words(z, SplatBuffer::Z, needed, allowed)?;
                Ok((1, [first_x, first_y, first_z], [x, y, z]))
            }
            Layout::Strided {
                rows,
                stride,
                offset,
            } => {
                let fits = u64::from(offset) + 12 <= u64::from(stride);
                if !(fits && stride.is_multiple_of(4) && offset.is_multiple_of(4)) {
                    return Err(Error::Stride { stride, offset });
                }
                let last = u64::from(self.len.saturating_sub(1));
                let end = last * u64::from(stride) + u64::from(offset) + 12;
                let needed = if self.len == 0 { 0 } else { end };
                let (bound, first) = words(rows, SplatBuffer::Positions, needed, allowed)?;
                let x = first + offset / 4;
                Ok((stride / 4, [x, x + 1, x + 2], [bound; 3]))
            }
        }
    }
}

/// Binds the first `needed` bytes of a slice, from where the device can bind them: with the words
/// that are before the slice.
fn words(
    slice: Span,
    buffer: SplatBuffer,
    needed: u64,
    allowed: &Allowed,
) -> Result<(Span, u32), Error> {
    check(slice, buffer, needed, 4)?;
    let before = slice.offset % u64::from(allowed.storage_alignment);
    let size = before + needed;
    // (The kernel's indices of words have 32 bits.)
    let limit = allowed.binding_size.min(u64::from(u32::MAX) * 4);
    if size > limit {
        return Err(Error::BindingTooLarge {
            buffer,
            needed: size,
            limit,
        });
    }
    let offset = slice.offset - before;
    Ok((Span { offset, size }, (before / 4) as u32))
}

/// Checks the offset and the size of a slice.
pub(crate) fn check(
    slice: Span,
    buffer: SplatBuffer,
    needed: u64,
    multiple_of: u32,
) -> Result<(), Error> {
    let multiple_of = u64::from(multiple_of);
    let Span { offset, size } = slice;
    if !offset.is_multiple_of(multiple_of) {
        return Err(Error::Offset {
            buffer,
            offset,
            multiple_of,
        });
    }
    if size < needed {
        return Err(Error::BufferTooSmall {
            buffer,
            needed,
            actual: size,
        });
    }
    Ok(())
}
