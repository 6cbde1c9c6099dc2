//! Arithmetic of the mergesorts: the runs, rounds, buckets and bytes of a sort of n keys. No GPU is
//! needed.

use crate::key::KeyType;
use crate::shader::W;

/// The default of the paper's P for n keys: the number of buckets, and of the runs at which the
/// first merge phase ends.
///
/// Measured on an H200: milliseconds for u32 keys with t = P, by `wgpu-bcfsort bench --engines
/// bcf-pb --base-case diagonal --buckets P --samples P --sizes N`.
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
/// More buckets keep more pairs merging at the same time in the last rounds. But a bucket's part of
/// a run gets shorter, until its pages are mostly padding. The default is sqrt(n/64), and
/// sqrt(n/256) from 2^24 on, rounded down to a power of two (bold). Below 2^14 keys the
/// distribution does not pay, and there is 1 bucket (2^13 keys: 0.062 ms, with 8 buckets 0.114 ms).
///
/// Warpsort uses the same P. Its pages are an eighth as long, so its parts could be shorter. But
/// with this P a part has 64 to 256 keys, one to four pages, and shorter ones would be padding,
/// too.
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

/// The largest number of buckets that an option may ask for: the tables of ranks take 16 P^2 bytes.
pub const MOST_BUCKETS: u32 = 1024;

/// The largest default number of buckets on CPU adapters. A CPU merges few pairs at the same time,
/// so more buckets only pad more pages: measure with `wgpu-bcfsort bench --engines bcf-pb --sizes
/// 2^20 --buckets P` on lavapipe.
pub const MOST_BUCKETS_ON_CPU: u32 = 16;

/// The default of the paper's t for P buckets: P samples per run, which bounds a bucket by twice
/// the mean (Lemma 1).
#[must_use]
pub const fn default_samples(buckets: u32) -> u32 {
    buckets
}

/// The scratch bound for a sort of `len` keys: 1.1 times the keys' bytes and 16 MiB.
#[must_use]
pub const fn scratch_promise(len: u32, key: KeyType) -> u64 {
    let bytes = len as u64 * key.bytes();
    bytes + bytes / 10 + (16 << 20)
}

/// Page merges of a pair of runs of `a` and `b` keys that both start at a multiple of 32 keys:
/// pages(a) + pages(b) - 1, or 0 if one run is empty.
#[must_use]
pub const fn page_merges(a: u32, b: u32, page: u32) -> u32 {
    if a == 0 || b == 0 {
        0
    } else {
        a.div_ceil(page) + b.div_ceil(page) - 1
    }
}

/// The largest number of steps of a pair with `keys` keys in total, at any start of its two runs.
#[must_use]
pub const fn most_page_merges(keys: u64, page: u32) -> u32 {
    ((keys + 2 * (W as u64 - 1) + 2 * (page as u64 - 1)) / page as u64 - 1) as u32
}

/// The mergesort options that a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergesortParameters {
    /// Keys of a base case tile.
    pub tile: u32,
    /// True if the copies of each splitter have a bucket of their own.
    pub pivots: bool,
    /// True if splitters are random samples of the input, not regular samples of each run.
    pub random: bool,
    /// The paper's P, or `None` for the default; 0 means 1.
    pub buckets: Option<u32>,
    /// The paper's t, or `None` for the default; 0 means 1.
    pub samples: Option<u32>,
}

/// The plan of a sort by one of the [mergesorts](crate::Engine::MERGESORTS). It depends only on the
/// number of keys, their type and the parameters, so it is the same on every device.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::internals::mergesort::Plan;
/// use wgpu_bcfsort::paper::MergesortOptions;
/// use wgpu_bcfsort::{Engine, KeyType};
/// let parameters = MergesortOptions::default().parameters(Engine::BcfMergesort);
/// let plan = Plan::new(1 << 20, KeyType::U32, parameters);
/// // Runs of 1024 keys from the base case become 128 runs of 8192 keys.
/// assert_eq!(plan.merge_rounds, [1024, 2048, 4096]);
/// let distribution = plan.distribution.expect("there are several runs");
/// assert_eq!((distribution.runs, distribution.buckets), (128, 128));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Keys.
    pub len: u32,
    /// The first merge phase: keys per run before each round. The last run may be shorter.
    pub merge_rounds: Vec<u32>,
    /// The phases after the first merge phase, if it leaves more than one run.
    pub distribution: Option<Distribution>,
}

/// The plan of the distribution and the final merge phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Runs, at most P, of `run` keys each; the last one may be shorter.
    pub runs: u32,
    /// Keys per run.
    pub run: u32,
    /// The paper's P: buckets that hold more than one distinct key.
    pub buckets: u32,
    /// True if the copies of each splitter have a bucket of their own.
    pub pivots: bool,
    /// The paper's t: samples per run, or per bucket if they are random.
    pub samples: u32,
    /// True if samples are at random positions of the input, not at regular positions of each run.
    pub random: bool,
    /// The plan of the sort of the samples.
    pub sample_plan: Box<Plan>,
    /// The size limit of a bucket to be merged if keys are distinct: Lemma 1, rounding included.
    ///
    /// With random samples there is no limit below the input's size. Between every t-th sample
    /// there are N/P keys on average, with a standard deviation of N/P / sqrt(t). This field is 4
    /// deviations above the average; few buckets exceed it.
    pub likely_bucket: u32,
    /// The size limit of a bucket to be merged, for any input. With pivot buckets Lemma 1 holds for
    /// repeated keys, too: the copies of a splitter are in another bucket, and every key between
    /// two splitters is sampled as regularly as distinct keys are.
    pub largest_bucket: u32,
}

impl Distribution {
    /// The number of all buckets: P, or 2P-1 with pivot buckets.
    #[must_use]
    pub const fn all_buckets(&self) -> u32 {
        if self.pivots {
            2 * self.buckets - 1
        } else {
            self.buckets
        }
    }

    /// The number of all samples: t per run. Random samples are P t, but at most the number of
    /// keys, since more would add little information.
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

/// ceil(log2(count)); 0 for 0.
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
        // Pivot buckets are finished after the distribution, which must move them to the result's
        // buffer: the number of rounds after it must be even.
        while runs > buckets || (runs > 1 && pivots && ceil_log2(runs) % 2 == 1) {
            merge_rounds.push(run);
            runs = runs.div_ceil(2);
            // Only the last run, which has all keys, can be longer than 2^31.
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

    /// The number of moves of all keys between two buffers after the base case.
    #[must_use]
    pub fn moves(&self) -> u32 {
        self.merge_rounds.len() as u32
            + self
                .distribution
                .as_ref()
                .map_or(0, |d| 1 + d.final_rounds())
    }

    /// Passes over the data, as in Lemma 2, each of which reads and writes every key: the base case
    /// and each move. The search for the splitters reads little. A copy to the base case's buffer
    /// is not included, since the plan does not choose the buffer.
    #[must_use]
    pub fn passes(&self) -> u32 {
        u32::from(self.len > 0) + self.moves()
    }

    /// Bytes of all buffers except the keys, or slightly more.
    fn scratch_estimate(&self, key: KeyType) -> u64 {
        if self.moves() == 0 {
            return 0;
        }
        // Progress: 8 bytes per pair.
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
