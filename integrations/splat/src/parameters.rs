//! What the kernels read beside positions and matrix.

use crate::descriptor::{Depth, DepthKey, DrawOrder};
use crate::error::Error;

/// Splats of a workgroup: `TILE` of the kernel.
const TILE: u32 = 1024;

/// What the kernel reads beside splats and matrix: `Parameters` of the kernel.
pub(crate) struct Parameters {
    pub(crate) len: u32,
    /// Workgroups in a row of the grid.
    pub(crate) width: u32,
    /// Words from a splat to the next one.
    pub(crate) stride: u32,
    /// Words before each coordinate of the first one.
    pub(crate) first: [u32; 3],
    pub(crate) keys: KeyRange,
    pub(crate) order: DrawOrder,
    pub(crate) depth: Depth,
    pub(crate) margin: f32,
    pub(crate) vertices: u32,
}

impl Parameters {
    /// The workgroups that so many splats need.
    pub(crate) fn tiles(len: u32) -> u32 {
        len.div_ceil(TILE)
    }

    /// The workgroups of `write_keys`.
    pub(crate) fn grid(&self) -> [u32; 2] {
        [self.width, Self::tiles(self.len).div_ceil(self.width)]
    }

    /// As the kernel reads them.
    pub(crate) fn words(&self) -> [u32; 15] {
        let [x, y, z] = self.first;
        let keys = &self.keys;
        [
            self.len,
            Self::tiles(self.len),
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
pub(crate) struct KeyRange {
    nearest: u32,
    farthest: u32,
    shift: u32,
}

impl KeyRange {
    /// The last key of 16 bits is that of splats that are not drawn.
    const MOST_16: u32 = u16::MAX as u32 - 1;

    pub(crate) fn new(key: DepthKey) -> Result<Self, Error> {
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
