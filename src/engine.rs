//! The sorting algorithms by name.

use crate::names::named;

/// A sorting algorithm on the GPU.
///
/// The [`MERGESORTS`](Self::MERGESORTS) have the phases of Sitchinava and Weichert, "Bank Conflict
/// Free Comparison-based Sorting On GPUs": base case, page-wise binary merge, distribution into
/// buckets, and a final merge phase within each bucket. The paper's own two have deterministic
/// splitters and no bank conflicts.
///
/// Each engine takes O(n log n) time for any keys; for the sample sort, this is the expected time
/// over its random samples. Scratch memory is at most 1.15 times the keys' bytes and 16 MiB
/// ([`SortJob::scratch_size`](crate::SortJob::scratch_size)). All engines produce the same bytes.
/// The mergesorts sort only keys; [`SortJob::prepare`](crate::SortJob::prepare) lists the sorts
/// that always use the sample sort.
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
}
