//! The algorithms by name, and the numbers that the paper gives them: plain enums and constants
//! that every module may know. It knows none.

/// Banks of workgroup memory, lanes of a warp, rows and columns of the bank matrix: the paper's w.
pub const W: u32 = 32;
/// Keys of a bank matrix, which the base case sorts: the paper's M.
pub const MATRIX: u32 = W * W;
/// Keys of a page in the page-wise merge: the paper's M/2.
pub const PAGE: u32 = MATRIX / 2;
/// Keys of a page in warpsort's merge: a warp holds two of them, 4 keys a lane.
pub const WARP_PAGE: u32 = 2 * W;
/// Keys that a warp sorts in warpsort's base case, 4 a lane.
pub const WARP_TILE: u32 = 2 * WARP_PAGE;
/// The most colors that prefix sums take: the paper's limit on d, which is that of workgroup
/// memory.
pub const MOST_COLORS: u32 = 16;
/// Gives an enum its names, and what is made of them.
macro_rules! named {
    ($type:ident, $what:literal, $($variant:ident => $name:literal $(or $alias:literal)*),+) => {
        impl $type {
            /// Every choice.
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

/// The text names none of the choices.
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
/// [`MERGESORTS`](Self::MERGESORTS) are of the phases that Sitchinava and Weichert describe in
/// "Bank Conflict Free Comparison-based Sorting On GPUs": base case, page-wise binary merge,
/// distribution into buckets, and a final merge phase within each bucket. Theirs have deterministic
/// splitters and no bank conflict.
///
/// Each takes O(n log n) time for any keys, the sample sort in expectation over its random samples.
/// Scratch memory is at most 1.15 times the keys' bytes and 16 MiB with each:
/// [`Sorter::scratch_size`](crate::Sorter::scratch_size). All put out the same bytes. The
/// mergesorts sort keys alone: [`Sorter::prepare`](crate::Sorter::prepare) says which
/// sorts are always by the sample sort.
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
    /// - where an option of the mergesorts is given;
    /// - where there is no [`Sorter`](crate::Sorter) to decide.
    ///
    /// It is always the sample sort where the mergesorts cannot sort: see [`Engine`].
    /// [`Sorter::engine`](crate::Sorter::engine) tells which.
    #[default]
    Auto,
    /// `BCFMergesort`, with P buckets. Equal keys share a bucket: on few distinct keys a bucket may
    /// hold most of the input and is then merged by few workgroups.
    BcfMergesort,
    /// `BCFMergesortPB`, with 2P-1 buckets: the copies of each splitter have one of their own,
    /// which is finished as soon as it is filled. Repeated keys make it faster.
    BcfMergesortPb,
    /// Warpsort, which the paper compares itself with: Ye, Fan, Lin, Yuan and Ienne, "High
    /// Performance Comparison-Based Sorting Algorithm on Many-Core GPUs", IPDPS 2010. Each warp
    /// sorts 128 keys and merges pages of 64 by bitonic networks in workgroup memory, bank
    /// conflicts and all; P buckets are chosen from random samples
    /// ([`MergesortOptions::seed`](crate::paper::MergesortOptions::seed)).
    ///
    /// It is here to measure against. The result is the same as any engine's, whatever the keys and
    /// the seed: the paper found warpsort to fail on zeros and ones, and here a splitter that
    /// occurs twice leaves a bucket empty, no more. But equal keys share a bucket, as in
    /// [`BcfMergesort`](Self::BcfMergesort), so on few distinct keys it is as slow as the merge of
    /// one bucket by few warps, 64 keys at a time.
    Warpsort,
    /// Sample sort, also called `fast`: it partitions keys by splitters, and sorts each part in
    /// workgroup memory.
    ///
    /// The splitters are chosen from samples at random positions. A level of partitioning counts
    /// the keys between them, and moves each key to its part; parts are split further until they
    /// fit a tile of some thousand keys. Up to [`Tuning::merged`](crate::Tuning::merged) keys are
    /// sorted in tiles that are merged at once. No order of the keys is worse than another but by
    /// bad luck of the samples, and the copies of a frequent key are a part of their own, which is
    /// not sorted. The result does not depend on the samples.
    ///
    /// The splitters are those of Frazer and McKellar, "Samplesort: A Sampling Approach to Minimal
    /// Storage Tree Sorting", J. ACM 17(3), 1970. The search among them and the ranks by atomics
    /// are those of Leischner, Osipov and Sanders, "GPU Sample Sort", IPDPS 2010. The repository's
    /// `docs/samplesort.md` is the design note.
    // (McKellar is a name.)
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
    /// The mergesorts: the paper's two and the one it compares itself with.
    pub const MERGESORTS: [Self; 3] = [Self::BcfMergesort, Self::BcfMergesortPb, Self::Warpsort];

    /// The base case where the caller names none. (The sample sort has none, nor pages: it sorts
    /// tiles. What is said here for it is what the paper's engines have.)
    #[must_use]
    pub const fn default_base_case(self) -> BaseCase {
        match self {
            Self::Auto | Self::BcfMergesort | Self::BcfMergesortPb | Self::SampleSort => {
                BaseCase::Bitonic
            }
            Self::Warpsort => BaseCase::WarpBitonic,
        }
    }

    /// Keys of a page in its merges.
    #[must_use]
    pub const fn page(self) -> u32 {
        match self {
            Self::Auto | Self::BcfMergesort | Self::BcfMergesortPb | Self::SampleSort => PAGE,
            Self::Warpsort => WARP_PAGE,
        }
    }

    /// Whether its splitters are random samples of the input, not regular ones of each run.
    #[must_use]
    pub const fn has_random_splitters(self) -> bool {
        matches!(self, Self::Warpsort)
    }

    /// Whether the copies of each splitter have a bucket of their own.
    #[must_use]
    pub const fn has_pivot_buckets(self) -> bool {
        matches!(self, Self::Auto | Self::BcfMergesortPb)
    }
}

/// How a tile of keys is sorted in workgroup memory: 1024 keys by a warp of 32 lanes, where nothing
/// else is said. The tile is [`keys`](Self::keys) keys, and takes their bytes of workgroup memory,
/// and little more. It is the first phase of the [mergesorts](Engine::MERGESORTS) alone.
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
    /// Bitonic sort of the bank matrix in passes over registers: free of conflicts like
    /// `ShearSort`, with two fifths of its comparators.
    #[default]
    Bitonic,
    /// `ShearSort` of 1024 h keys by h warps, with transpositions: h = 1.
    Long1,
    /// The same with h = 2.
    Long2,
    /// The same with h = 4.
    Long4,
    /// The same with h = 8: 32 KiB of workgroup memory for 32-bit keys, 64 KiB for 64-bit keys,
    /// which not every device has.
    Long8,
    /// `ShearSort` of 1024 h keys by h warps, over diagonals: h = 1.
    LongDiagonal1,
    /// The same with h = 2.
    LongDiagonal2,
    /// The same with h = 4.
    LongDiagonal4,
    /// The same with h = 8, and the memory of [`Long8`](Self::Long8).
    LongDiagonal8,
    /// [`Transpose`](Self::Transpose) with every comparator in workgroup memory, nothing in
    /// registers: what registers are worth.
    NoRegisters,
    /// Odd-even transposition sort in workgroup memory as others write it, bank conflicts included:
    /// what the paper compares with.
    OddEvenTransposition,
    /// Warpsort's: 128 keys by a bitonic network in workgroup memory. It has bank conflicts.
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
    /// Keys of a tile, which one or more warps sort together.
    #[must_use]
    pub const fn keys(self) -> u32 {
        match self {
            Self::WarpBitonic => WARP_TILE,
            _ => MATRIX * self.warps(),
        }
    }

    /// Warps that sort a tile: the paper's h.
    #[must_use]
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

/// Where the sums of the lanes lie in workgroup memory while prefix sums are computed. The result
/// is the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PrefixSumsMethod {
    /// Each lane's sums in a bank of its own, through which the scan goes a bank at a time: d lanes
    /// meet in it. A baseline: the paper's introduction shows with it what bank conflicts cost.
    Naive,
    /// The same, but turned before the scan and back after it: no two lanes ever meet (paper,
    /// Appendix A).
    #[default]
    ConflictFree,
}
named!(PrefixSumsMethod, "method", Naive => "naive", ConflictFree => "conflict-free");

/// Whether an element's own value is part of its prefix sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scan {
    /// The sum of all elements of its color up to this one.
    #[default]
    Inclusive,
    /// The sum of all elements of its color before this one; 0 for the first.
    Exclusive,
}
named!(Scan, "scan", Inclusive => "inclusive", Exclusive => "exclusive");
