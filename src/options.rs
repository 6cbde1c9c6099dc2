//! What a caller may choose about a sort.

use crate::Error;
use crate::kernel::{Kernel, MATRIX, PAGE, WARP_PAGE, WARP_TILE};
use crate::plan::{MOST_BUCKETS, Tuning};

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
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err($crate::UnknownName {
                        what: $what,
                        name: name.to_owned(),
                        known: Self::ALL.map(Self::name).join(", "),
                    }),
                }
            }
        }
    };
}

pub(crate) use named;

/// The text names none of the choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}': one of {known}")]
pub struct UnknownName {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) known: String,
}

/// A sorting algorithm on the GPU.
///
/// [`MERGESORTS`](Self::MERGESORTS) are of the phases that Sitchinava and Weichert describe in "Bank Conflict Free
/// Comparison-based Sorting On GPUs": base case, page-wise binary merge, distribution into buckets, and
/// a final merge phase within each bucket. Theirs have deterministic splitters and no bank conflict.
///
/// Each takes O(n log n) time for any keys. Scratch memory is at most 1.1 times the keys' bytes and 16 MiB with each:
/// [`Sorter::scratch_size`](crate::Sorter::scratch_size). All put out the same bytes. The mergesorts sort keys alone:
/// [`Sorter::prepare_sort`](crate::Sorter::prepare_sort) says what has the sample sort whatever is asked for.
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
    /// The fastest one, by the device and the keys: [`SampleSort`](Self::SampleSort) on GPUs.
    /// [`BcfMergesortPb`](Self::BcfMergesortPb) on CPUs and on DX12, whose compilers take long for the former's kernels;
    /// for 1024 keys or less, if they are in a row of their own; for more keys than workgroup memory has room for samples of; and where an option of the
    /// mergesorts is given. [`Sorter::engine`](crate::Sorter::engine) tells which. Where there is no
    /// [`Sorter`](crate::Sorter) to decide, it is the latter.
    ///
    /// On DX12 that is for FXC, the compiler that comes with Windows: each of the sample sort's kernels that sort a tile takes it
    /// minutes. There is no choice where the mergesorts cannot do what is asked for, as with all but
    /// [keys alone](crate::BufferSort#on-dx12).
    ///
    /// Of 2^12 to 2^28 `u32` keys on an H200 the former takes 0.36 to 0.52 of the time of the latter.
    #[default]
    Auto,
    /// `BCFMergesort`, with P buckets. Equal keys share a bucket: on few distinct keys a bucket may
    /// hold most of the input and is then merged by few workgroups.
    BcfMergesort,
    /// `BCFMergesortPB`, with 2P-1 buckets: the copies of each splitter have one of their own,
    /// which is finished as soon as it is filled. Repeated keys make it faster.
    BcfMergesortPb,
    /// Warpsort, which the paper compares itself with: Ye, Fan, Lin, Yuan and Ienne, "High Performance
    /// Comparison-Based Sorting Algorithm on Many-Core GPUs", IPDPS 2010. Each warp sorts 128 keys and
    /// merges pages of 64 by bitonic networks in workgroup memory, bank conflicts and all; P buckets
    /// are chosen from random samples ([`Options::seed`]).
    ///
    /// It is here to measure against. The result is the same as any engine's, whatever the keys and
    /// the seed: the paper found warpsort to fail on zeros and ones, and here a splitter that occurs
    /// twice leaves a bucket empty, no more. But equal keys share a bucket, as in
    /// [`BcfMergesort`](Self::BcfMergesort), so on few distinct keys it is as slow as the merge of
    /// one bucket by few warps, 64 keys at a time.
    Warpsort,
    /// Sample sort, also called `fast`. Tiles of some thousand keys are sorted in workgroup memory, and distributed by
    /// splitters that are regular samples of them, so that each bucket fits a tile and is sorted once
    /// more. Few tiles, as [`Tuning::merged`] says, are merged at once. The same multiset of keys takes the same time in any order, and
    /// repeated keys fill buckets as evenly as distinct ones.
    ///
    /// To sort by the splitters that a sample gives is Frazer and McKellar's, "Samplesort: A Sampling Approach to Minimal Storage Tree
    /// Sorting", J. ACM 17(3), 1970; samples at regular places of sorted parts, which bound the buckets, are Shi and Schaeffer's,
    /// "Parallel Sorting by Regular Sampling", J. Parallel Distrib. Comput. 14(4), 1992. On GPUs there were Leischner, Osipov and Sanders,
    /// "GPU Sample Sort", IPDPS 2010, with random samples, and Dehne and Zaboli, "Deterministic Sample Sort for GPUs", Parallel
    /// Processing Letters 22(3), 2012, with regular ones. [How this one differs](crate::phases::sample_sort), and why.
    // (McKellar is a name.)
    #[allow(clippy::doc_markdown)]
    SampleSort,
}
named!(Engine, "engine", Auto => "auto", BcfMergesort => "bcf", BcfMergesortPb => "bcf-pb", Warpsort => "warpsort", SampleSort => "sample-sort" or "fast");

impl Engine {
    /// The mergesorts: the paper's two and the one it compares itself with.
    pub const MERGESORTS: [Self; 3] = [Self::BcfMergesort, Self::BcfMergesortPb, Self::Warpsort];

    /// The base case where the caller names none. (The sample sort has none, nor pages: it sorts tiles. What is said here for it is what the paper's engines have.)
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

    /// The kernel of its merges, of pages of [`page`](Self::page) keys.
    #[must_use]
    pub const fn merge_kernel(self) -> Kernel {
        match self {
            Self::Auto | Self::BcfMergesort | Self::BcfMergesortPb | Self::SampleSort => {
                Kernel::PageMerge
            }
            Self::Warpsort => Kernel::WarpMerge,
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
/// else is said. The tile is [`keys`](Self::keys) keys, and takes their bytes of workgroup memory, and little more. It is the first phase of the
/// [mergesorts](Engine::MERGESORTS) alone.
///
/// `ShearSort` in a matrix of banks is the paper's (sections 3.1 and 3.3, Algorithms 1 and 2).
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::BaseCase;
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
    /// Bitonic sort of the bank matrix in passes over registers: free of conflicts like `ShearSort`,
    /// with two fifths of its comparators.
    #[default]
    Bitonic,
    /// `ShearSort` of 1024 h keys by h warps, with transpositions: h = 1.
    Long1,
    /// The same with h = 2.
    Long2,
    /// The same with h = 4.
    Long4,
    /// The same with h = 8: 32 KiB of workgroup memory for 32-bit keys, 64 KiB for 64-bit keys, which
    /// not every device has.
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

/// What a [`Sorter`](crate::Sorter) does with every sort. The default suits every device. No option changes the order of
/// keys; [`tuning`](Self::tuning) may change that of equal keys' values, where they need not be stable.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Engine, Options};
/// let options = Options::default().engine(Engine::BcfMergesort).buckets(64);
/// assert_eq!(options.buckets, Some(64));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// The algorithm: by default [`Engine::Auto`].
    pub engine: Engine,
    /// The base case of the mergesorts, [`Engine::MERGESORTS`]: by default the engine's, [`Engine::default_base_case`].
    pub base_case: Option<BaseCase>,
    /// The paper's W, for the base case: warps of 32 lanes a workgroup, at least those of a tile
    /// ([`BaseCase::warps`], the default), 1, 2, 4 or 8. Each tile takes its own workgroup memory.
    pub warps: Option<u32>,
    /// The paper's P, for the mergesorts: merging stops when at most P runs are left, and the keys are distributed
    /// into P buckets. 1 to 1024; 1 merges to the end. By default
    /// [`plan::default_buckets`](crate::plan::default_buckets) of the number of keys, and on CPUs at
    /// most [`plan::MOST_BUCKETS_ON_CPU`](crate::plan::MOST_BUCKETS_ON_CPU).
    ///
    /// Lowered, by halves, where its tables would not fit the scratch memory promised.
    pub buckets: Option<u32>,
    /// The paper's t, for the mergesorts: samples of each run from which the splitters are chosen. 1 to 1024. By
    /// default [`plan::default_samples`](crate::plan::default_samples) of P. A bucket holds at most
    /// N/P + N/t keys, give or take rounding (Lemma 1). [`Engine::Warpsort`] takes P t samples of the
    /// whole input, each t-th of which is a splitter, and has no such bound.
    pub samples: Option<u32>,
    /// Where [`Engine::Warpsort`] takes its random samples; no other engine has a use for it. By default
    /// 0. The seed decides how long a sort takes, not its result; one seed gives the same buckets on
    /// every device.
    pub seed: u64,
    /// The most keys that one dispatch moves, at least 1024, or those of one workgroup if that has more: long rounds are cut into several
    /// dispatches, and long sorts into several submissions, so that none trips a driver's
    /// watchdog. By default 2^25 on GPUs and 2^22 on CPUs.
    pub keys_per_dispatch: Option<u32>,
    /// The numbers that decide the speed of [`Engine::SampleSort`], and not its result.
    /// By default those that suit the device: [`Tuning::default`], or [`Tuning::cpu`]. (Others than these may
    /// take more scratch memory than [`Sorter::scratch_size`](crate::Sorter::scratch_size) promises; it tells how much.)
    pub tuning: Option<Tuning>,
}

impl Options {
    /// Sets [`engine`](Self::engine).
    #[must_use]
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets [`base_case`](Self::base_case).
    #[must_use]
    pub const fn base_case(mut self, base_case: BaseCase) -> Self {
        self.base_case = Some(base_case);
        self
    }

    /// Sets [`warps`](Self::warps).
    #[must_use]
    pub const fn warps(mut self, warps: u32) -> Self {
        self.warps = Some(warps);
        self
    }

    /// Whether an option is given that only the mergesorts have a use for.
    #[must_use]
    pub const fn are_of_mergesorts(&self) -> bool {
        self.base_case.is_some()
            || self.warps.is_some()
            || self.buckets.is_some()
            || self.samples.is_some()
    }

    /// The base case, where the caller named none the engine's.
    #[must_use]
    pub const fn resolved_base_case(&self) -> BaseCase {
        match self.base_case {
            Some(base_case) => base_case,
            None => self.engine.default_base_case(),
        }
    }

    /// The base case's kernel.
    #[must_use]
    pub fn base_case_kernel(&self, in_place: bool) -> Kernel {
        let form = self.resolved_base_case();
        Kernel::BaseCase {
            form,
            warps: self.warps.unwrap_or(form.warps()),
            in_place,
        }
    }

    /// Sets [`buckets`](Self::buckets).
    #[must_use]
    pub const fn buckets(mut self, buckets: u32) -> Self {
        self.buckets = Some(buckets);
        self
    }

    /// Sets [`samples`](Self::samples).
    #[must_use]
    pub const fn samples(mut self, samples: u32) -> Self {
        self.samples = Some(samples);
        self
    }

    /// Sets [`seed`](Self::seed).
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets [`keys_per_dispatch`](Self::keys_per_dispatch).
    #[must_use]
    pub const fn keys_per_dispatch(mut self, keys: u32) -> Self {
        self.keys_per_dispatch = Some(keys);
        self
    }

    /// Sets [`tuning`](Self::tuning).
    #[must_use]
    pub const fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = Some(tuning);
        self
    }

    /// Checks every option's range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the option's name, value and range.
    pub fn validate(&self) -> Result<(), Error> {
        let check = |name, value: Option<u32>, least: u32, most: u32, allowed| match value {
            Some(value) if !(least..=most).contains(&value) => Err(Error::InvalidOption {
                name,
                value: value.into(),
                allowed,
            }),
            _ => Ok(()),
        };
        check("buckets", self.buckets, 1, MOST_BUCKETS, "1 to 1024")?;
        check("samples", self.samples, 1, 1024, "1 to 1024")?;
        if let Some(tuning) = &self.tuning {
            tuning.validate()?;
        }
        if let Some(warps) = self.warps {
            let fewest = self.resolved_base_case().warps();
            if ![1, 2, 4, 8].contains(&warps) || warps < fewest {
                return Err(Error::InvalidOption {
                    name: "warps",
                    value: warps.into(),
                    allowed: "1, 2, 4 or 8, and as many as the base case's tile takes",
                });
            }
        }
        check(
            "keys_per_dispatch",
            self.keys_per_dispatch,
            1024,
            u32::MAX,
            "at least 1024",
        )
    }
}
