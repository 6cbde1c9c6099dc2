//! Options of sorts and of prefix sums.

mod prefix_sums;

pub use prefix_sums::PrefixSumsOptions;

use crate::Error;
use crate::algorithm::{BaseCase, Engine, MATRIX};
use crate::plan::{LARGEST_TILE, MOST_BUCKETS, MergesortParameters, Tuning};

/// Options of a [`Sorter`](crate::Sorter) for all of its sorts. The defaults suit every device.
///
/// No option changes the result of a sort. The only exception is the order of records outside a
/// requested [range](crate::SortJob::range).
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Engine, Options};
/// let options = Options::default().engine(Engine::SampleSort);
/// assert_eq!(options.engine, Engine::SampleSort);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// The algorithm. Default: [`Engine::Auto`].
    pub engine: Engine,
    /// The maximum number of keys that one dispatch moves, at least 1024. Default: 2^28 on discrete
    /// GPUs, 2^25 on other GPUs, and 2^22 on CPUs. A dispatch has at least one workgroup, even if
    /// that moves more keys.
    ///
    /// Longer rounds are cut into several dispatches, and long sorts into several submissions, so
    /// that no driver's watchdog stops them.
    pub keys_per_dispatch: Option<u32>,
    /// Tile sizes of the sample sort. Default: [`Tuning::default`] on GPUs, and [`Tuning::cpu`] on
    /// CPUs. Other values may need more scratch memory than the documented bound:
    /// [`Sorter::scratch_size`](crate::Sorter::scratch_size) computes it.
    pub tuning: Option<Tuning>,
    /// The paper's parameters of the mergesorts.
    pub mergesort: MergesortOptions,
}

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
}

impl Options {
    /// Sets [`engine`](Self::engine).
    #[must_use]
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
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

    /// Sets [`mergesort`](Self::mergesort).
    #[must_use]
    pub const fn mergesort(mut self, mergesort: MergesortOptions) -> Self {
        self.mergesort = mergesort;
        self
    }

    /// True if an option is set that only the mergesorts use.
    #[doc(hidden)]
    #[must_use]
    pub const fn are_of_mergesorts(&self) -> bool {
        let mergesort = &self.mergesort;
        mergesort.base_case.is_some()
            || mergesort.warps.is_some()
            || mergesort.buckets.is_some()
            || mergesort.samples.is_some()
    }

    /// The base case: the option's, or else the engine's.
    #[doc(hidden)]
    #[must_use]
    pub const fn resolved_base_case(&self) -> BaseCase {
        match self.mergesort.base_case {
            Some(base_case) => base_case,
            None => self.engine.default_base_case(),
        }
    }

    /// Checks that every option is in its range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the option's name, value and range.
    pub fn validate(&self) -> Result<(), Error> {
        let check = |name, value: Option<u32>, min: u32, max: u32, allowed| match value {
            Some(value) if !(min..=max).contains(&value) => Err(Error::InvalidOption {
                name,
                value: value.into(),
                allowed,
            }),
            _ => Ok(()),
        };
        let mergesort = &self.mergesort;
        check("buckets", mergesort.buckets, 1, MOST_BUCKETS, "1 to 1024")?;
        check("samples", mergesort.samples, 1, 1024, "1 to 1024")?;
        if let Some(tuning) = &self.tuning {
            tuning.validate()?;
        }
        if let Some(warps) = mergesort.warps {
            let min = self.resolved_base_case().warps();
            if ![1, 2, 4, 8].contains(&warps) || warps < min {
                return Err(Error::InvalidOption {
                    name: "warps",
                    value: warps.into(),
                    allowed: "1, 2, 4 or 8, and no fewer than the base case's tile takes",
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

// In this module because `plan` does not depend on `error`.
impl Tuning {
    /// Checks that every tile size is in its range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the name, the value and the range.
    pub fn validate(&self) -> Result<(), Error> {
        let tile = "a power of two from 1024 to 8192";
        let is_tile = |tile: u32| tile.is_power_of_two() && (MATRIX..=LARGEST_TILE).contains(&tile);
        let numbers = [
            ("tuning.tile", self.tile, is_tile(self.tile), tile),
            ("tuning.samples", self.samples, is_tile(self.samples), tile),
        ];
        match numbers.into_iter().find(|&(_, _, right, _)| !right) {
            Some((name, value, _, allowed)) => Err(Error::InvalidOption {
                name,
                value: value.into(),
                allowed,
            }),
            None => Ok(()),
        }
    }
}

impl From<&Options> for MergesortParameters {
    fn from(options: &Options) -> Self {
        Self {
            tile: options.resolved_base_case().keys(),
            pivots: options.engine.has_pivot_buckets(),
            random: options.engine.has_random_splitters(),
            buckets: options.mergesort.buckets,
            samples: options.mergesort.samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Invalidate = fn(&mut Tuning);

    #[test]
    fn invalid_tunings_are_refused_by_name() {
        for tuning in [Tuning::default(), Tuning::cpu()] {
            assert!(tuning.validate().is_ok());
        }
        let invalid: [(&str, Invalidate); 5] = [
            ("tile", |tuning| tuning.tile = 0),
            ("tile", |tuning| tuning.tile = 3000),
            ("tile", |tuning| tuning.tile = 512),
            ("samples", |tuning| tuning.samples = 16_384),
            ("samples", |tuning| tuning.samples = u32::MAX),
        ];
        for (field, invalidate) in invalid {
            let mut tuning = Tuning::default();
            invalidate(&mut tuning);
            let error = tuning.validate().unwrap_err().to_string();
            assert!(error.contains(&format!("tuning.{field} is ")), "{error}");
            let options = Options::default().tuning(tuning);
            assert_eq!(options.validate().unwrap_err().to_string(), error);
        }
    }
}
