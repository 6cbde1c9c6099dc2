//! The division of prefix sums into tiles.

use crate::shader::{MATRIX, W};

/// The largest number of tiles that an option may ask for.
pub const MOST_TILES: u32 = 1 << 14;

/// The largest number of elements of a tile. One workgroup processes its pages in sequence, and no
/// dispatch may run long. Also, llvmpipe silently ends all loops of an invocation after 65,535
/// iterations in total: with 16 colors a page takes 49 iterations, and 1024 pages stay below.
pub const LONGEST_TILE: u32 = 1 << 20;

/// The default of the paper's P for n elements: one page per tile, up to 2048 tiles.
///
/// 2048 tiles give each of a hundred multiprocessors or more a dozen warps or more to hide memory
/// latency. And the second phase, one workgroup for all tiles, has at most 64 tiles per lane and
/// color.
#[must_use]
pub const fn default_tiles(len: u32) -> u32 {
    let pages = len.div_ceil(MATRIX);
    if pages < 2048 { pages } else { 2048 }
}

/// The division of elements into contiguous tiles. A tile is a whole number of pages of 1024
/// elements; only the last page may be partial.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::internals::prefix_sums::Tiling;
/// let tiling = Tiling::new(10_000, Some(4));
/// assert_eq!((tiling.tiles, tiling.tile), (4, 3072));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// The number of elements.
    pub len: u32,
    /// The paper's P: at most the requested number, since no tile is empty; more only if tiles
    /// would be longer than [`LONGEST_TILE`].
    pub tiles: u32,
    /// Elements of every tile except the last.
    pub tile: u32,
}

impl Tiling {
    /// Divides `len` elements into `tiles` tiles, or into [`default_tiles`] of them.
    ///
    /// The result does not depend on the device, so that floats are rounded alike everywhere.
    #[must_use]
    pub const fn new(len: u32, tiles: Option<u32>) -> Self {
        let wanted = match tiles {
            Some(tiles) if tiles > 0 => tiles,
            _ => default_tiles(len),
        };
        let pages = len.div_ceil(MATRIX);
        let longest = LONGEST_TILE / MATRIX;
        let tile_pages = match pages.div_ceil(if wanted == 0 { 1 } else { wanted }) {
            0 => 1,
            tile_pages if tile_pages > longest => longest,
            tile_pages => tile_pages,
        };
        Self {
            len,
            tiles: pages.div_ceil(tile_pages),
            tile: tile_pages * MATRIX,
        }
    }

    /// Consecutive tiles per lane of the second phase: P / 32, rounded up.
    #[must_use]
    pub const fn rounds(&self) -> u32 {
        self.tiles.div_ceil(W)
    }

    /// Words of the table of sums: one row per color, padded to whole rounds.
    #[must_use]
    pub const fn sum_words(&self, colors: u32) -> u64 {
        colors as u64 * self.rounds() as u64 * W as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_whole_pages_none_is_empty_and_all_elements_are_in_one() {
        let most = u32::MAX - 2 * crate::shader::LARGEST_TILE;
        for len in [
            0,
            1,
            1023,
            1024,
            1025,
            3000,
            5000,
            70_000,
            1_000_000,
            1 << 27,
            most,
        ] {
            let tilings = [
                None,
                Some(1),
                Some(2),
                Some(3),
                Some(31),
                Some(33),
                Some(MOST_TILES),
            ];
            for tiles in tilings {
                let tiling = Tiling::new(len, tiles);
                let Tiling {
                    tiles: of, tile, ..
                } = tiling;
                assert_eq!(tile % MATRIX, 0);
                assert!((MATRIX..=LONGEST_TILE).contains(&tile));
                assert!(u64::from(of) * u64::from(tile) >= u64::from(len));
                assert!(len == 0 || u64::from(of - 1) * u64::from(tile) < u64::from(len));
                // The index of the last page's end must not overflow, either.
                assert!(u64::from(of) * u64::from(tile) < (1 << 32) + u64::from(tile));
                if tile < LONGEST_TILE {
                    assert!(of <= tiles.unwrap_or_else(|| default_tiles(len)));
                }
                assert!(of <= MOST_TILES);
                assert!(tiling.rounds() * W >= of);
            }
        }
        assert_eq!(Tiling::new(0, None).tiles, 0);
        assert_eq!(Tiling::new(5 * 2048 * MATRIX, None).tiles, 2048);
    }
}
