//! The algorithms by name, and the paper's constants. This module depends on no other, and any
//! module may use it.

/// Banks of workgroup memory, lanes of a warp, rows and columns of the bank matrix: the paper's w.
pub const W: u32 = 32;
/// Keys of a bank matrix, the base case's tile: the paper's M.
pub const MATRIX: u32 = W * W;
/// Keys of a page in the page-wise merge: the paper's M/2.
pub const PAGE: u32 = MATRIX / 2;
/// Keys of a page in warpsort's merge: a warp holds two pages, 4 keys per lane.
pub const WARP_PAGE: u32 = 2 * W;
/// Keys that a warp sorts in warpsort's base case, 4 per lane.
pub const WARP_TILE: u32 = 2 * WARP_PAGE;
/// The largest number of colors in prefix sums: the paper's limit on d, due to the size of
/// workgroup memory.
pub const MOST_COLORS: u32 = 16;
/// Implements an enum's list of variants, its names, and the conversions from and to a name.
macro_rules! named {
    ($type:ident, $what:literal, $($variant:ident => $name:literal $(or $alias:literal)*),+) => {
        impl $type {
            /// Every variant.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// The name used on the command line, in labels and in JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err(UnknownName::new($what, name, &Self::ALL.map(Self::name))),
                }
            }
        }
    };
}

/// The error for a name that is not in the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}': one of {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self {
            what,
            name: name.to_owned(),
            known: known.join(", "),
        }
    }
}

/// A sorting algorithm on the GPU.
///
/// The [`MERGESORTS`](Self::MERGESORTS) have the phases of Sitchinava and Weichert, "Bank Conflict
/// Free Comparison-based Sorting On GPUs": base case, page-wise binary merge, distribution into
/// buckets, and a final merge phase within each bucket. The paper's own two have deterministic
/// splitters and no bank conflicts.
///
/// Each engine takes O(n log n) time for any keys; for the sample sort, this is the expected time
/// over its random samples. Scratch memory is at most 1.15 times the keys' bytes and 16 MiB
/// ([`Sorter::scratch_size`](crate::Sorter::scratch_size)). All engines produce the same bytes. The
/// mergesorts sort only keys; [`Sorter::prepare`](crate::Sorter::prepare) lists the sorts that
/// always use the sample sort.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::Engine;
/// assert_eq!("fast".parse(), Ok(Engine::SampleSort));
/// assert_eq!(Engine::BcfMergesortPb.to_string(), "bcf-pb");
/// assert!("quick".parse::<Engine>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// The fastest engine for the device and the keys: [`SampleSort`](Self::SampleSort) on GPUs.
    ///
    /// It is [`BcfMergesortPb`](Self::BcfMergesortPb)
    ///
    /// - on CPUs, whose compilers take long for the sample sort's kernels;
    /// - for up to 1024 unsigned keys in ascending order;
    /// - if an option of the mergesorts is set;
    /// - if there is no [`Sorter`](crate::Sorter) to decide.
    ///
    /// It is always the sample sort for sorts that the mergesorts do not support: see [`Engine`].
    /// [`Sorter::engine`](crate::Sorter::engine) returns the choice.
    #[default]
    Auto,
    /// `BCFMergesort`, with P buckets. Equal keys share a bucket. With few distinct keys, one
    /// bucket may hold most of the input, and few workgroups merge it.
    BcfMergesort,
    /// `BCFMergesortPB`, with 2P-1 buckets: the copies of each splitter have a bucket of their own,
    /// which is not merged. Repeated keys make it faster.
    BcfMergesortPb,
    /// Warpsort, the paper's baseline: Ye, Fan, Lin, Yuan and Ienne, "High Performance
    /// Comparison-Based Sorting Algorithm on Many-Core GPUs", IPDPS 2010. Each warp sorts 128 keys
    /// and merges pages of 64 by bitonic networks in workgroup memory, with bank conflicts. P
    /// buckets are chosen from random samples
    /// ([`MergesortOptions::seed`](crate::paper::MergesortOptions::seed)).
    ///
    /// It is included for measurements. For any keys and any seed, its result is that of every
    /// engine. The paper found that warpsort fails on zeros and ones; here a splitter that occurs
    /// twice only leaves a bucket empty. But equal keys share a bucket, as in
    /// [`BcfMergesort`](Self::BcfMergesort). So with few distinct keys few warps merge one large
    /// bucket, 64 keys at a time, which is slow.
    Warpsort,
    /// Sample sort, also called `fast`: partitions keys by splitters, and sorts each part in
    /// workgroup memory.
    ///
    /// The splitters are chosen from samples at random positions. A level of partitioning counts
    /// the keys between splitters, and moves each key to its part. Parts are partitioned again
    /// until they fit a tile of some thousand keys. Up to [`Tuning::merged`](crate::Tuning::merged)
    /// keys are sorted in tiles that are merged at once. No order of the keys is slow, except by
    /// bad luck of the samples. The copies of a frequent key are a part of their own, which is not
    /// sorted. The result does not depend on the samples.
    ///
    /// The splitters are from Frazer and McKellar, "Samplesort: A Sampling Approach to Minimal
    /// Storage Tree Sorting", J. ACM 17(3), 1970; the search among them and the ranks by atomics
    /// from Leischner, Osipov and Sanders, "GPU Sample Sort", IPDPS 2010. The design note is
    /// `docs/samplesort.md` in the repository.
    // "McKellar" is a name, not code.
    #[allow(clippy::doc_markdown)]
    SampleSort,
}
named!(
    Engine, "engine",
    Auto => "auto",
    BcfMergesort => "bcf",
    BcfMergesortPb => "bcf-pb",
    Warpsort => "warpsort",
    SampleSort => "sample-sort" or "fast"
);

impl Engine {
    /// The mergesorts: the paper's two, and its baseline.
    pub const MERGESORTS: [Self; 3] = [Self::BcfMergesort, Self::BcfMergesortPb, Self::Warpsort];

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
    /// `ShearSort` of 1024 h keys by h warps, with transpositions: h = 1.
    Long1,
    /// The same with h = 2.
    Long2,
    /// The same with h = 4.
    Long4,
    /// The same with h = 8. It needs 32 KiB of workgroup memory for 32-bit keys and 64 KiB for
    /// 64-bit keys, which not every device has.
    Long8,
    /// `ShearSort` of 1024 h keys by h warps, over diagonals: h = 1.
    LongDiagonal1,
    /// The same with h = 2.
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
    Long1 => "long-1",
    Long2 => "long-2",
    Long4 => "long-4",
    Long8 => "long-8",
    LongDiagonal1 => "long-diagonal-1",
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
            | Self::Long1
            | Self::LongDiagonal1
            | Self::NoRegisters
            | Self::OddEvenTransposition
            | Self::WarpBitonic => 1,
            Self::Long2 | Self::LongDiagonal2 => 2,
            Self::Long4 | Self::LongDiagonal4 => 4,
            Self::Long8 | Self::LongDiagonal8 => 8,
        }
    }
}

/// The layout of the lanes' sums in workgroup memory. The result is the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PrefixSumsMethod {
    /// Each lane's sums are in one bank. The scan accesses one bank at a time, a d-way bank
    /// conflict. A baseline: the paper's introduction measures the cost of bank conflicts with it.
    Naive,
    /// The sums are transposed before the scan and back after it, without bank conflicts (paper,
    /// Appendix A).
    #[default]
    ConflictFree,
}
named!(PrefixSumsMethod, "method", Naive => "naive", ConflictFree => "conflict-free");

/// Whether an element's prefix sum includes its own value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scan {
    /// The sum of all elements of its color up to and including this one.
    #[default]
    Inclusive,
    /// The sum of all elements of its color before this one; 0 for the first.
    Exclusive,
}
named!(Scan, "scan", Inclusive => "inclusive", Exclusive => "exclusive");
