//! The paper's parameters of the mergesorts.

use super::kernels;
use super::paper::BaseCase;
use super::plan::{MOST_BUCKETS, MergesortParameters};
use crate::engine::Engine;
use crate::error::Error;
use crate::key::KeyType;
use crate::shader::Kernel;

/// The paper's parameters of the mergesorts, [`Engine::MERGESORTS`]. The defaults depend on the
/// engine and on the number of keys.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::paper::MergesortOptions;
/// use wgpu_bcfsort::{Engine, Options};
/// let options = Options::default()
///     .engine(Engine::BcfMergesort)
///     .mergesort(MergesortOptions::default().buckets(64));
/// assert_eq!(options.mergesort.buckets, Some(64));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MergesortOptions {
    /// The base case. Default: that of the engine.
    pub base_case: Option<BaseCase>,
    /// The paper's W for the base case: warps of 32 lanes per workgroup, 1, 2, 4 or 8. The default
    /// and minimum is the number of warps per tile. With more warps, a workgroup sorts several
    /// tiles, each in its own workgroup memory.
    pub warps: Option<u32>,
    /// The paper's P: merging stops when at most P runs are left, and the keys are distributed into
    /// P buckets. 1 to 1024; 1 merges to the end. Default: the largest power of two up to
    /// sqrt(n / 64) for n keys, up to sqrt(n / 256) from 2^24 keys on, 1 for fewer than 2^14 keys,
    /// and at most 16 on CPUs.
    ///
    /// P is halved until its tables fit the documented bound of scratch memory.
    pub buckets: Option<u32>,
    /// The paper's t: the number of samples of each run, from which the splitters are chosen. 1 to
    /// 1024. Default: P. A bucket holds at most N/P + N/t keys, up to rounding (Lemma 1).
    /// [`Engine::Warpsort`] takes P t samples of the whole input, and every t-th sample is a
    /// splitter. It has no such bound.
    pub samples: Option<u32>,
    /// The seed of the random samples of [`Engine::Warpsort`] only. Default: 0. It changes the time
    /// of a sort, not its result. The same seed gives the same buckets on every device.
    /// [`Engine::SampleSort`] has a random seed for each sorter.
    pub seed: u64,
}

impl MergesortOptions {
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

    /// True if an option is set that only the mergesorts use, besides the seed.
    pub(crate) const fn are_set(&self) -> bool {
        self.base_case.is_some()
            || self.warps.is_some()
            || self.buckets.is_some()
            || self.samples.is_some()
    }

    /// The base case: the option's, or else the engine's.
    #[doc(hidden)]
    #[must_use]
    pub fn base_case_of(&self, engine: Engine) -> BaseCase {
        self.base_case.unwrap_or_else(|| engine.default_base_case())
    }

    /// Warps of a workgroup of the base case.
    pub(super) fn warps_of(&self, engine: Engine) -> u32 {
        self.warps
            .unwrap_or_else(|| self.base_case_of(engine).warps())
    }

    /// The kernel of the base case.
    #[doc(hidden)]
    #[must_use]
    pub fn base_case_kernel(&self, engine: Engine, key: KeyType) -> Kernel {
        kernels::base_case(self.base_case_of(engine), self.warps_of(engine), key)
    }

    /// What a plan depends on.
    #[doc(hidden)]
    #[must_use]
    pub fn parameters(&self, engine: Engine) -> MergesortParameters {
        MergesortParameters {
            tile: self.base_case_of(engine).keys(),
            pivots: engine.has_pivot_buckets(),
            random: engine.has_random_splitters(),
            buckets: self.buckets,
            samples: self.samples,
        }
    }

    /// Checks that every option is in its range for an engine.
    pub(crate) fn validate(&self, engine: Engine) -> Result<(), Error> {
        let check = |name, value: Option<u32>, most: u32| match value {
            Some(value) if !(1..=most).contains(&value) => Err(Error::InvalidOption {
                name,
                value: value.into(),
                allowed: "1 to 1024",
            }),
            _ => Ok(()),
        };
        check("buckets", self.buckets, MOST_BUCKETS)?;
        check("samples", self.samples, 1024)?;
        let least = self.base_case_of(engine).warps();
        match self.warps {
            Some(warps) if ![1, 2, 4, 8].contains(&warps) || warps < least => {
                Err(Error::InvalidOption {
                    name: "warps",
                    value: warps.into(),
                    allowed: "1, 2, 4 or 8, and no fewer than the base case's tile takes",
                })
            }
            _ => Ok(()),
        }
    }
}
