//! The paper's constants and its base cases, and what each of its engines uses.

use crate::engine::Engine;
use crate::names::named;
use crate::shader::{MATRIX, W};

/// Keys of a page in the page-wise merge: the paper's M/2.
pub const PAGE: u32 = MATRIX / 2;
/// Keys of a page in warpsort's merge: a warp holds two pages, 4 keys per lane.
pub const WARP_PAGE: u32 = 2 * W;
/// Keys that a warp sorts in warpsort's base case, 4 per lane.
pub const WARP_TILE: u32 = 2 * WARP_PAGE;

impl Engine {
    /// The default base case. The sample sort has no base case and no pages; for it, these methods
    /// return the values of the paper's engines.
    #[must_use]
    #[doc(hidden)]
    pub const fn default_base_case(self) -> BaseCase {
        match self {
            Self::Auto | Self::BcfMergesort | Self::BcfMergesortPb | Self::SampleSort => {
                BaseCase::Bitonic
            }
            Self::Warpsort => BaseCase::WarpBitonic,
        }
    }

    /// Keys of a page in the merges.
    #[must_use]
    #[doc(hidden)]
    pub const fn page(self) -> u32 {
        match self {
            Self::Auto | Self::BcfMergesort | Self::BcfMergesortPb | Self::SampleSort => PAGE,
            Self::Warpsort => WARP_PAGE,
        }
    }

    /// Returns true if splitters are random samples of the input, not regular samples of each run.
    #[must_use]
    #[doc(hidden)]
    pub const fn has_random_splitters(self) -> bool {
        matches!(self, Self::Warpsort)
    }

    /// Returns true if the copies of each splitter have a bucket of their own.
    #[must_use]
    pub(crate) const fn has_pivot_buckets(self) -> bool {
        matches!(self, Self::Auto | Self::BcfMergesortPb)
    }
}

/// The sort of a tile in workgroup memory: by default 1024 keys by a warp of 32 lanes. A tile has
/// [`keys`](Self::keys) keys, and needs slightly more workgroup memory than their bytes. Only the
/// [mergesorts](Engine::MERGESORTS) have a base case.
///
/// `ShearSort` in a matrix of banks is the paper's (sections 3.1 and 3.3, Algorithms 1 and 2).
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::paper::BaseCase;
/// assert_eq!((BaseCase::Long4.keys(), BaseCase::Long4.warps()), (4096, 4));
/// assert_eq!("diagonal".parse(), Ok(BaseCase::Diagonal));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BaseCase {
    /// `ShearSort`; the bank matrix is transposed between passes.
    Transpose,
    /// `ShearSort` over the diagonals of the bank matrix: no transposition, half the accesses.
    Diagonal,
    /// Bitonic sort of the bank matrix in passes over registers: free of bank conflicts like
    /// `ShearSort`, with two fifths of its comparators.
    #[default]
    Bitonic,
    /// `ShearSort` of 1024 h keys by h warps, with transpositions: h = 2.
    Long2,
    /// The same with h = 4.
    Long4,
    /// The same with h = 8. It needs 32 KiB of workgroup memory for 32-bit keys and 64 KiB for
    /// 64-bit keys, which not every device has.
    Long8,
    /// `ShearSort` of 1024 h keys by h warps, over diagonals: h = 2.
    LongDiagonal2,
    /// The same with h = 4.
    LongDiagonal4,
    /// The same with h = 8, and the memory of [`Long8`](Self::Long8).
    LongDiagonal8,
    /// [`Transpose`](Self::Transpose) with every comparator in workgroup memory. A baseline that
    /// shows the benefit of registers.
    NoRegisters,
    /// Odd-even transposition sort in workgroup memory with bank conflicts, as in other
    /// implementations: the paper's baseline.
    OddEvenTransposition,
    /// Warpsort's base case: 128 keys by a bitonic network in workgroup memory, with bank
    /// conflicts.
    WarpBitonic,
}
named!(
    BaseCase, "base case",
    Transpose => "transpose",
    Diagonal => "diagonal",
    Bitonic => "bitonic",
    Long2 => "long-2",
    Long4 => "long-4",
    Long8 => "long-8",
    LongDiagonal2 => "long-diagonal-2",
    LongDiagonal4 => "long-diagonal-4",
    LongDiagonal8 => "long-diagonal-8",
    NoRegisters => "no-registers",
    OddEvenTransposition => "odd-even-transposition",
    WarpBitonic => "warp-bitonic"
);

impl BaseCase {
    /// Keys of a tile, sorted by one or more warps.
    #[must_use]
    #[doc(hidden)]
    pub const fn keys(self) -> u32 {
        match self {
            Self::WarpBitonic => WARP_TILE,
            _ => MATRIX * self.warps(),
        }
    }

    /// Warps that sort a tile: the paper's h.
    #[must_use]
    #[doc(hidden)]
    pub const fn warps(self) -> u32 {
        match self {
            Self::Transpose
            | Self::Diagonal
            | Self::Bitonic
            | Self::NoRegisters
            | Self::OddEvenTransposition
            | Self::WarpBitonic => 1,
            Self::Long2 | Self::LongDiagonal2 => 2,
            Self::Long4 | Self::LongDiagonal4 => 4,
            Self::Long8 | Self::LongDiagonal8 => 8,
        }
    }
}
