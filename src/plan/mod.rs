//! Arithmetic: which runs, rounds, buckets and bytes a sort of n keys takes. No GPU is needed.

mod random;
mod tiling;
mod tuning;

pub use random::sample_position;
pub use tiling::{LONGEST_TILE, MOST_TILES, Tiling, default_tiles};
pub use tuning::Tuning;

use crate::KeyType;
use crate::algorithm::{MATRIX, W};

/// What the plan must know of a device. A [`Sorter`](crate::Sorter) takes it from its device; who
/// looks at plans and recordings without one says it.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::KeyType;
/// use wgpu_bcfsort::internals::plan::DeviceLimits;
/// let limits = DeviceLimits {
///     buffer_bytes: 1 << 30,
///     workgroups: 65_535,
///     keys_per_dispatch: 1 << 25,
///     workgroup_bytes: 32 << 10,
///     workgroup_lanes: 1024,
///     sampling_seed: 0x5eed,
/// };
/// assert_eq!(limits.max_len(KeyType::F64), 1 << 27);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// The largest buffer and the largest binding of one, in bytes, whichever is less.
    pub buffer_bytes: u64,
    /// Workgroups a dimension of a dispatch.
    pub workgroups: u32,
    /// Keys a dispatch may move.
    pub keys_per_dispatch: u32,
    /// Bytes of workgroup memory that a workgroup may take.
    pub workgroup_bytes: u32,
    /// Lanes of a workgroup, at the most.
    pub workgroup_lanes: u32,
    /// What says which records are samples: no property of a device, but random for each, so that
    /// nobody can make an input that misleads all sorts.
    pub sampling_seed: u32,
}

impl DeviceLimits {
    /// The most keys of a type that one recording sorts: a buffer's bytes, and indices of 32 bits,
    /// of the keys' words, too, as keys are copied word by word.
    #[must_use]
    pub const fn max_len(&self, key: KeyType) -> u64 {
        // The last page may reach past the last key.
        let indices = ((1 << 32) - 2 * LARGEST_TILE as u64) / key.words() as u64;
        let keys = self.buffer_bytes / (4 * key.words() as u64);
        if keys < indices { keys } else { indices }
    }

    /// Keys that one dispatch may merge: of each pair one workgroup takes some after the other.
    #[must_use]
    pub const fn merged_keys_per_dispatch(&self) -> u32 {
        const MOST: u32 = 1 << 25;
        if self.keys_per_dispatch < MOST {
            self.keys_per_dispatch
        } else {
            MOST
        }
    }

    /// Pairs that are merged in one dispatch where there are so many, however long they are.
    ///
    /// 4096 for 2^25 keys a dispatch: 31 warps for each multiprocessor of an H200, with 16 steps
    /// for each of them.
    #[must_use]
    pub const fn fewest_pairs(&self) -> u32 {
        let pairs = self.merged_keys_per_dispatch() >> 13;
        if pairs == 0 { 1 } else { pairs }
    }

    /// Page merges (or copied pages) a pair may take in one dispatch: they happen in sequence.
    #[must_use]
    pub const fn steps_per_dispatch(&self, page: u32) -> u32 {
        // So many that a dispatch ends well before a driver's watchdog would end it. More than
        // 65,535 rounds of a loop llvmpipe leaves undone, without a word.
        match self.merged_keys_per_dispatch() / page {
            0 => 1,
            steps if steps < 1 << 14 => steps,
            _ => 1 << 14,
        }
    }
}

/// Cuts a dispatch of so many workgroups, of so many keys each, where it would be too long: the
/// first workgroup of each part, and one past its last.
pub(crate) fn parts(
    workgroups: u32,
    keys: u32,
    limits: &DeviceLimits,
) -> impl Iterator<Item = (u32, u32)> + use<> {
    let part = (limits.keys_per_dispatch / keys).max(1);
    let firsts = (0..workgroups).step_by(part as usize);
    firsts.map(move |first| (first, workgroups.min(first.saturating_add(part))))
}

/// Workgroups in x and y for `count` of them in a row; the last row may be longer than needed.
pub(crate) fn grid(count: u32, limits: &DeviceLimits) -> [u32; 2] {
    let x = count.min(limits.workgroups).max(1);
    [x, count.div_ceil(x)]
}

/// The most keys that a tile of any base case holds.
pub const LARGEST_TILE: u32 = 8 * MATRIX;

/// The paper's P for n keys, where the caller names none: buckets, and runs at which merging stops.
///
/// Measured on an H200 (time of u32 keys in ms, t = P), as this measures it: `wgpu-bcfsort bench
/// --engines bcf-pb --base-case diagonal --buckets P --samples P --sizes N`.
///
/// | n | P = 16 | 32 | 64 | 128 | 256 | 512 | 1024 |
/// |---|---|---|---|---|---|---|---|
/// | 2^14 | **0.099** | 0.098 | 0.102 | | | | |
/// | 2^16 | 0.145 | **0.138** | 0.142 | 0.172 | | | |
/// | 2^18 | 0.263 | 0.227 | **0.190** | 0.209 | 0.387 | | |
/// | 2^20 | | 0.568 | 0.319 | **0.309** | 0.444 | 0.705 | |
/// | 2^22 | | | 0.865 | 0.751 | **0.684** | 0.910 | 0.908 |
/// | 2^24 | | | 3.073 | 2.556 | **1.666** | 1.807 | 1.816 |
/// | 2^25 | | | | 5.117 | **3.205** | 3.209 | 6.347 |
/// | 2^26 | | | | 12.12 | 7.022 | **6.256** | 8.820 |
/// | 2^27 | | | | | 17.29 | **14.21** | 15.27 |
/// | 2^28 | | | | | 43.83 | 32.51 | **28.16** |
///
/// More buckets keep more pairs merging at the same time in the last rounds, until a bucket's part
/// of a run is so short that its pages are mostly padding: sqrt(n/64), and sqrt(n/256) from 2^24
/// on, rounded down to a power of two (bold). Below 2^14 keys there is too little to distribute: 1
/// bucket, which is none (2^13 keys: 0.062 ms, with 8 buckets 0.114 ms).
///
/// Warpsort takes the same P. Its pages are an eighth as long, so it could do with shorter parts;
/// but with this P they are of 64 to 256 keys, one to four of its pages, and shorter ones would be
/// padding there too.
#[must_use]
pub const fn default_buckets(len: u32) -> u32 {
    if len < 1 << 14 {
        return 1;
    }
    let root = if len < 1 << 24 {
        (len / 64).isqrt()
    } else {
        (len / 256).isqrt()
    };
    let buckets = 1 << root.ilog2();
    if buckets < MOST_BUCKETS {
        buckets
    } else {
        MOST_BUCKETS
    }
}

/// The most buckets that may be asked for: the tables of ranks take 16 P^2 bytes.
pub const MOST_BUCKETS: u32 = 1024;

/// The most buckets by default where the adapter is a CPU. It has few pairs to merge at the same
/// time, so more buckets only pad more pages: `wgpu-bcfsort bench --engines bcf-pb --sizes 2^20
/// --buckets P` shows it on lavapipe.
pub const MOST_BUCKETS_ON_CPU: u32 = 16;

/// The paper's t for P buckets, where the caller names none: as many samples a run as buckets,
/// which bounds a bucket by twice the mean (Lemma 1).
#[must_use]
pub const fn default_samples(buckets: u32) -> u32 {
    buckets
}

/// The most bytes of scratch memory a sort of `len` keys may use: 1.1 times the keys' bytes and
/// 16 MiB.
#[must_use]
pub const fn scratch_promise(len: u32, key: KeyType) -> u64 {
    let bytes = len as u64 * key.bytes();
    bytes + bytes / 10 + (16 << 20)
}

/// Page merges that a pair of runs of `a` and `b` keys takes when both start at a multiple of 32
/// keys: pages(a) + pages(b) - 1, or 0 if one is empty.
#[must_use]
pub const fn page_merges(a: u32, b: u32, page: u32) -> u32 {
    if a == 0 || b == 0 {
        0
    } else {
        a.div_ceil(page) + b.div_ceil(page) - 1
    }
}

/// The most steps a pair of `keys` keys takes in all, wherever the two runs start and meet.
#[must_use]
pub const fn most_page_merges(keys: u64, page: u32) -> u32 {
    ((keys + 2 * (W as u64 - 1) + 2 * (page as u64 - 1)) / page as u64 - 1) as u32
}

/// What the plan must know of a mergesort's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergesortParameters {
    /// Keys that the base case sorts together.
    pub tile: u32,
    /// Whether the copies of each splitter have a bucket of their own.
    pub pivots: bool,
    /// Whether splitters are random samples of the input, not regular ones of each run.
    pub random: bool,
    /// The paper's P, where the caller names one; 0 is taken for 1.
    pub buckets: Option<u32>,
    /// The paper's t, where the caller names one; 0 is taken for 1.
    pub samples: Option<u32>,
}

/// The plan of a sort by one of the [mergesorts](crate::Engine::MERGESORTS). It depends on the
/// number of keys, their type and the parameters, and nothing else, so it is the same on every
/// device.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::internals::plan::Plan;
/// use wgpu_bcfsort::{Engine, KeyType, Options};
/// let options = Options::default().engine(Engine::BcfMergesort);
/// let plan = Plan::new(1 << 20, KeyType::U32, (&options).into());
/// // Runs of 1024 keys, which the base case leaves, become 128 of 8192 keys.
/// assert_eq!(plan.merge_rounds, [1024, 2048, 4096]);
/// let distribution = plan.distribution.expect("there are several runs");
/// assert_eq!((distribution.runs, distribution.buckets), (128, 128));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Keys.
    pub len: u32,
    /// The first merge phase: keys a run before each round. The last run may be shorter.
    pub merge_rounds: Vec<u32>,
    /// What follows the first merge phase, if it leaves more than one run.
    pub distribution: Option<Distribution>,
}

/// The plan of the distribution and the final merge phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Runs, at most P, of `run` keys; the last may be shorter.
    pub runs: u32,
    /// Keys a run.
    pub run: u32,
    /// The paper's P: buckets that hold more than one key.
    pub buckets: u32,
    /// Whether the copies of each splitter have a bucket of their own.
    pub pivots: bool,
    /// The paper's t: samples a run, or a bucket where they are random.
    pub samples: u32,
    /// Whether samples are taken at random positions of the input, not at regular ones of each run.
    pub random: bool,
    /// How the samples are sorted.
    pub sample_plan: Box<Plan>,
    /// The most keys that a bucket to be merged holds where keys are distinct: Lemma 1, rounding
    /// included.
    ///
    /// With random samples nothing bounds a bucket but the input. Between every t-th of them lies
    /// N/P of it on average, with a standard deviation of N/P / sqrt(t): taken here are 4 of them
    /// above the average, which few buckets exceed.
    pub likely_bucket: u32,
    /// The most keys that a bucket to be merged can hold, whatever the input. With pivot buckets
    /// Lemma 1 holds for repeated keys too: copies of a splitter are elsewhere, and a key between
    /// two splitters is in as many samples as any.
    pub largest_bucket: u32,
}

impl Distribution {
    /// All buckets: P, or 2P-1 with pivot buckets.
    #[must_use]
    pub const fn all_buckets(&self) -> u32 {
        if self.pivots {
            2 * self.buckets - 1
        } else {
            self.buckets
        }
    }

    /// All samples: t of each run, or P t of the input; but then not more than there are keys,
    /// since more would tell little more.
    #[must_use]
    pub const fn total_samples(&self) -> u32 {
        self.sample_plan.len
    }

    /// Rounds of the final merge phase.
    #[must_use]
    pub const fn final_rounds(&self) -> u32 {
        ceil_log2(self.runs)
    }

    /// Words of the table of ranks.
    #[must_use]
    pub const fn rank_words(&self) -> u64 {
        (self.all_buckets() as u64 + 1) * self.runs as u64
    }

    /// Words of the table of separators.
    #[must_use]
    pub const fn separator_words(&self) -> u64 {
        self.all_buckets() as u64 * (self.runs as u64 + 1)
    }
}

/// ceil(log2(count)), and 0 for 0.
#[must_use]
pub const fn ceil_log2(count: u32) -> u32 {
    if count <= 1 {
        0
    } else {
        (count - 1).ilog2() + 1
    }
}

impl Plan {
    /// Plans a sort of `len` keys, in O(log n) time.
    #[must_use]
    pub fn new(len: u32, key: KeyType, parameters: MergesortParameters) -> Self {
        let named = parameters.buckets;
        let mut buckets = named.unwrap_or_else(|| default_buckets(len)).max(1);
        loop {
            let named = parameters.samples;
            let samples = named.unwrap_or_else(|| default_samples(buckets)).max(1);
            let plan = Self::with_buckets(len, key, parameters, buckets, samples);
            if buckets == 1 || plan.scratch_estimate(key) <= scratch_promise(len, key) {
                return plan;
            }
            buckets /= 2;
        }
    }

    fn with_buckets(
        len: u32,
        key: KeyType,
        parameters: MergesortParameters,
        buckets: u32,
        samples: u32,
    ) -> Self {
        let MergesortParameters { pivots, random, .. } = parameters;
        let mut merge_rounds = Vec::new();
        let mut run = parameters.tile;
        let mut runs = len.div_ceil(run);
        // Pivot buckets are finished where the distribution puts them, so that must be where the
        // result ends: an even number of rounds must follow.
        while runs > buckets || (runs > 1 && pivots && ceil_log2(runs) % 2 == 1) {
            merge_rounds.push(run);
            runs = runs.div_ceil(2);
            // Only the last run, of all keys, can be longer than 2^31.
            run = run.saturating_mul(2);
        }
        let distribution = (runs > 1).then(|| {
            let (total, likely) = if random {
                let total = (buckets * samples).min(len);
                let average = u64::from(len.div_ceil(buckets));
                let root = (total / buckets).isqrt().max(1);
                (total, average + 4 * average / u64::from(root))
            } else {
                let total = runs * samples;
                let samples_a_bucket = u64::from(total.div_ceil(buckets)) + u64::from(runs);
                (total, samples_a_bucket * u64::from(run.div_ceil(samples)))
            };
            let likely_bucket = likely.min(len.into()) as u32;
            Distribution {
                runs,
                run,
                buckets,
                pivots,
                samples,
                random,
                sample_plan: Box::new(Self::new(
                    total,
                    key,
                    MergesortParameters {
                        buckets: None,
                        samples: None,
                        ..parameters
                    },
                )),
                likely_bucket,
                largest_bucket: if pivots { likely_bucket } else { len },
            }
        });
        Self {
            len,
            merge_rounds,
            distribution,
        }
    }

    /// Times that the keys move between two buffers after the base case.
    #[must_use]
    pub fn moves(&self) -> u32 {
        self.merge_rounds.len() as u32
            + self
                .distribution
                .as_ref()
                .map_or(0, |d| 1 + d.final_rounds())
    }

    /// Times that every key is read and written, Lemma 2's passes over the data: the base case, and
    /// each move. The search of the splitters reads little. (A copy to where the base case sorts is
    /// not counted: which buffer that is, is no part of the plan.)
    #[must_use]
    pub fn passes(&self) -> u32 {
        u32::from(self.len > 0) + self.moves()
    }

    /// Bytes of all buffers but the keys, or a little more.
    fn scratch_estimate(&self, key: KeyType) -> u64 {
        if self.moves() == 0 {
            return 0;
        }
        // Progress: 8 bytes a pair.
        let progress = |plan: &Self| {
            let run = plan.merge_rounds.first();
            run.map_or(0, |run| u64::from(plan.len.div_ceil(*run)) * 8)
        };
        let mut bytes = u64::from(self.len) * key.bytes() + progress(self);
        let mut plan = self;
        while let Some(d) = &plan.distribution {
            bytes += progress(&d.sample_plan);
            let tables = (d.rank_words() + d.separator_words()) * 4;
            let progress = u64::from(d.buckets) * u64::from(d.runs.div_ceil(2)) * 8;
            bytes += tables + progress + 2 * u64::from(d.total_samples()) * key.bytes();
            plan = &d.sample_plan;
        }
        bytes
    }
}
