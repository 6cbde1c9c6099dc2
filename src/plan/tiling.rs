//! How prefix sums are divided into tiles.

use crate::algorithm::{MATRIX, W};

/// The most tiles that may be asked for.
pub const MOST_TILES: u32 = 1 << 14;

/// The most elements of a tile, whose pages one workgroup takes one after the other: no dispatch
/// may run long. And llvmpipe ends all loops of an invocation, without a word, when together they
/// have gone round 65,535 times: with 16 colors a page takes 49 rounds, and 1024 pages stay below.
pub const LONGEST_TILE: u32 = 1 << 20;

/// The paper's P for n elements, where the caller names none: a tile a page, up to 2048 tiles.
///
/// Enough that each of a hundred multiprocessors or more has a dozen warps or more, which wait for
/// memory in turns; and few enough that the second phase, which has one workgroup for all tiles,
/// has no more than 64 of them for each of its lanes and colors.
#[must_use]
pub const fn default_tiles(len: u32) -> u32 {
    let pages = len.div_ceil(MATRIX);
    if pages < 2048 { pages } else { 2048 }
}

/// Elements in contiguous tiles, each of a whole number of pages of 1024 but for the last one's
/// end.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::internals::plan::Tiling;
/// let tiling = Tiling::new(10_000, Some(4));
/// assert_eq!((tiling.tiles, tiling.tile), (4, 3072));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Elements.
    pub len: u32,
    /// The paper's P: at most as many as were asked for, since no tile is empty, unless tiles would
    /// be longer than [`LONGEST_TILE`].
    pub tiles: u32,
    /// Elements of every tile but the last.
    pub tile: u32,
}

impl Tiling {
    /// Divides `len` elements into `tiles` tiles, or into [`default_tiles`] of them.
    ///
    /// It depends on nothing else: not on the device, so that floats are rounded alike everywhere.
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

    /// Consecutive tiles that each lane of the second phase takes: P / 32, rounded up.
    #[must_use]
    pub const fn rounds(&self) -> u32 {
        self.tiles.div_ceil(W)
    }

    /// Words of the table of sums, with a row of whole rounds for each color.
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
        let most = u32::MAX - 2 * super::super::LARGEST_TILE;
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
                // The last page's end is an index, too.
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
