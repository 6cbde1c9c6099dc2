//! What the kernels read beside positions and matrix, and what of a descriptor is refused.

use crate::binding::words;
use crate::descriptor::{Depth, DepthKey, DrawOrder, Positions, SplatSorterDescriptor};
use crate::error::{Error, SplatBuffer};
use wgpu_bcfsort::wgpu;

/// Splats of a workgroup: `TILE` of the kernel.
const TILE: u32 = 1024;

/// What the kernel reads beside splats and matrix: `Parameters` of the kernel.
pub(crate) struct Parameters {
    len: u32,
    /// Workgroups in a row of the grid.
    width: u32,
    /// Words from a splat to the next one.
    stride: u32,
    /// Words before each coordinate of the first one.
    first: [u32; 3],
    keys: KeyRange,
    order: DrawOrder,
    depth: Depth,
    margin: f32,
    vertices: u32,
}

/// The bindings of x, y and z, unless there is no splat.
type Coordinates<'a> = Option<[wgpu::BindingResource<'a>; 3]>;

impl Parameters {
    /// Checks all of a descriptor but its matrix. The coordinates are `None` if there is no splat.
    pub(crate) fn new<'a>(
        descriptor: &SplatSorterDescriptor<'a>,
        limits: &wgpu::Limits,
    ) -> Result<(Self, Coordinates<'a>), Error> {
        let len = descriptor.len;
        let margin = descriptor.margin;
        if !(margin.is_finite() && margin >= 0.0) {
            return Err(Error::Margin(margin));
        }
        let keys = KeyRange::new(descriptor.key)?;
        let last = u64::from(len.saturating_sub(1));
        let (stride, first, coordinates) = match descriptor.positions {
            Positions::Arrays(slices) => {
                let roles = [SplatBuffer::X, SplatBuffer::Y, SplatBuffer::Z];
                let mut first = [0; 3];
                let mut bound = Vec::with_capacity(3);
                for ((slice, role), first) in slices.into_iter().zip(roles).zip(&mut first) {
                    let words = words(slice, role, u64::from(len) * 4, limits)?;
                    *first = words.first;
                    bound.push(words.binding);
                }
                (1, first, <[_; 3]>::try_from(bound).ok())
            }
            Positions::Strided {
                rows,
                stride,
                offset,
            } => {
                let fits = u64::from(offset) + 12 <= u64::from(stride);
                if !(fits && stride.is_multiple_of(4) && offset.is_multiple_of(4)) {
                    return Err(Error::Stride { stride, offset });
                }
                let end = last * u64::from(stride) + u64::from(offset) + 12;
                let needed = if len == 0 { 0 } else { end };
                let words = words(rows, SplatBuffer::Positions, needed, limits)?;
                let x = words.first + offset / 4;
                let bindings = [(); 3].map(|()| words.binding.clone());
                (stride / 4, [x, x + 1, x + 2], Some(bindings))
            }
        };
        let tiles = len.div_ceil(TILE);
        let parameters = Self {
            len,
            width: tiles
                .min(limits.max_compute_workgroups_per_dimension)
                .max(1),
            stride,
            first,
            keys,
            order: descriptor.order,
            depth: descriptor.depth,
            margin,
            vertices: descriptor.vertices,
        };
        Ok((parameters, coordinates.filter(|_| len > 0)))
    }

    /// The workgroups of `write_keys`.
    pub(crate) fn grid(&self) -> [u32; 2] {
        [self.width, self.len.div_ceil(TILE).div_ceil(self.width)]
    }

    /// As the kernel reads them.
    pub(crate) fn words(&self) -> [u32; 15] {
        let [x, y, z] = self.first;
        let keys = &self.keys;
        [
            self.len,
            self.len.div_ceil(TILE),
            self.width,
            self.stride,
            x,
            y,
            z,
            keys.nearest,
            keys.farthest,
            keys.shift,
            keys.culled(),
            u32::from(self.order == DrawOrder::FarToNear),
            match self.depth {
                Depth::W => 0,
                Depth::Z => 1,
                Depth::ReversedZ => 2,
            },
            (1.0 + self.margin).to_bits(),
            self.vertices,
        ]
    }
}

/// How depths become keys: the difference of their bits, without the lowest ones.
struct KeyRange {
    nearest: u32,
    farthest: u32,
    shift: u32,
}

impl KeyRange {
    /// The last key of 16 bits is that of splats that are not drawn.
    const MOST_16: u32 = u16::MAX as u32 - 1;

    fn new(key: DepthKey) -> Result<Self, Error> {
        let (nearest, farthest, most) = match key {
            DepthKey::Bits32 => (0.0, f32::MAX, u32::MAX - 1),
            DepthKey::Bits16 { nearest, farthest } => (nearest, farthest, Self::MOST_16),
        };
        if !(nearest >= 0.0 && nearest < farthest && farthest.is_finite()) {
            return Err(Error::DepthRange { nearest, farthest });
        }
        // (Of -0, too, the bits are to be 0.)
        let (nearest, farthest) = (nearest.abs().to_bits(), farthest.to_bits());
        let mut shift = 0;
        while (farthest - nearest) >> shift > most {
            shift += 1;
        }
        Ok(Self {
            nearest,
            farthest,
            shift,
        })
    }

    /// The key of splats that are not drawn, one more than all others.
    fn culled(&self) -> u32 {
        ((self.farthest - self.nearest) >> self.shift) + 1
    }
}

#[cfg(test)]
mod tests;
