//! The names of the data sets.

use super::Range;
use std::fmt;
use std::str::FromStr;

/// The pattern of a data set. [`describe`](Self::describe) gives each one in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// Random keys from a range, by default 0 to 10^6 as in the literature on GPU sorting.
    Random,
    /// Random bits.
    Full,
    /// A random permutation of 1 to n.
    Distinct,
    /// Random zeros and ones.
    ZeroOne,
    /// The same number of copies of each of some keys, shuffled.
    Duplicates,
    /// Random picks from few keys, spread over the whole key type.
    FewDistinct,
    /// Zipf-distributed keys: key k is drawn with probability proportional to 1/k.
    Zipf,
    /// Random keys from a narrow range far from zero: their high bits are all the same.
    Narrow,
    /// One key, repeated.
    Constant,
    /// The largest key of the type, repeated.
    Maximal,
    /// 1 to n in order.
    Ascending,
    /// n down to 1.
    Descending,
    /// Random keys, the first half sorted.
    HalfSorted,
    /// Random keys, the first 95 % sorted.
    MostlySorted,
    /// Ascending teeth.
    Saws,
    /// Descending teeth.
    SawsDescending,
    /// Alternating ascending and descending teeth.
    SawsMixed,
    /// Ascending to the middle, then descending.
    OrganPipe,
    /// Sorted runs of random keys.
    Runs,
    /// The order that gives merges in workgroup memory the most bank conflicts.
    Adversary,
    /// The corner cases of the key type, among ordinary keys.
    Special,
}

impl Pattern {
    /// Every pattern, in the order of declaration.
    pub const ALL: [Self; 21] = [
        Self::Random,
        Self::Full,
        Self::Distinct,
        Self::ZeroOne,
        Self::Duplicates,
        Self::FewDistinct,
        Self::Zipf,
        Self::Narrow,
        Self::Constant,
        Self::Maximal,
        Self::Ascending,
        Self::Descending,
        Self::HalfSorted,
        Self::MostlySorted,
        Self::Saws,
        Self::SawsDescending,
        Self::SawsMixed,
        Self::OrganPipe,
        Self::Runs,
        Self::Adversary,
        Self::Special,
    ];

    /// The name used on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Full => "full",
            Self::Distinct => "distinct",
            Self::ZeroOne => "zero-one",
            Self::Duplicates => "duplicates",
            Self::FewDistinct => "few-distinct",
            Self::Zipf => "zipf",
            Self::Narrow => "narrow",
            Self::Constant => "constant",
            Self::Maximal => "maximal",
            Self::Ascending => "ascending",
            Self::Descending => "descending",
            Self::HalfSorted => "half-sorted",
            Self::MostlySorted => "mostly-sorted",
            Self::Saws => "saws",
            Self::SawsDescending => "saws-descending",
            Self::SawsMixed => "saws-mixed",
            Self::OrganPipe => "organ-pipe",
            Self::Runs => "runs",
            Self::Adversary => "adversary",
            Self::Special => "special",
        }
    }

    /// Describes the keys in one line.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "random keys from 0 to 1000000 (or --range)",
            Self::Full => "random bits; floats get NaNs and infinities among them",
            Self::Distinct => "1 to n, shuffled",
            Self::ZeroOne => "random zeros and ones",
            Self::Duplicates => "n/D copies of each of D keys (--distinct, 1000), shuffled",
            Self::FewDistinct => {
                "random picks from D keys (--distinct, 20) spread over the whole type"
            }
            Self::Zipf => "1 to D (--distinct, 65536), key k with probability ~ 1/k",
            Self::Narrow => "random keys from 1000000 to 1000255 (or --range)",
            Self::Constant => "the key 7, n times",
            Self::Maximal => "the largest key of the type, n times (floats: a NaN)",
            Self::Ascending => "1 to n",
            Self::Descending => "n down to 1",
            Self::HalfSorted => "random keys (--range), the first half of them sorted",
            Self::MostlySorted => "random keys (--range), the first 95 % of them sorted",
            Self::Saws => "1 to 1000, again and again",
            Self::SawsDescending => "1000 down to 1, again and again",
            Self::SawsMixed => "1 to 1000, 1000 down to 1, again and again",
            Self::OrganPipe => "1 up to n/2 and down again",
            Self::Runs => "sorted runs (--runs, 16) of random keys (--range)",
            Self::Adversary => {
                "1 to n in the order that gives serial merges with E keys a lane (--items, 17) the \
                 most bank conflicts; n must be 32 x E x 2^k"
            }
            Self::Special => {
                "extremes and their neighbours; floats: NaNs, infinities, both zeros, subnormals"
            }
        }
    }

    /// The default range that keys are drawn from; `None` if the pattern has no range.
    pub(super) const fn default_range(self) -> Option<Range> {
        match self {
            Self::Random | Self::HalfSorted | Self::MostlySorted | Self::Runs => {
                Some(Range::Values {
                    low: 0,
                    high: 1_000_000,
                })
            }
            Self::Narrow => Some(Range::Values {
                low: 1_000_000,
                high: 1_000_255,
            }),
            _ => None,
        }
    }

    /// The default number of different keys; `None` if the pattern has no such parameter.
    pub(super) const fn default_distinct(self) -> Option<u64> {
        match self {
            Self::Duplicates => Some(1000),
            Self::FewDistinct => Some(20),
            Self::Zipf => Some(1 << 16),
            _ => None,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown pattern '{0}': one of {names}",
    names = Pattern::ALL.map(Pattern::name).join(", ")
)]
#[non_exhaustive]
pub struct UnknownPattern(pub String);

impl FromStr for Pattern {
    type Err = UnknownPattern;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|pattern| pattern.name() == name)
            .ok_or_else(|| UnknownPattern(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse(), Ok(pattern));
            assert!(!pattern.describe().contains('\n'));
        }
        let message = "x".parse::<Pattern>().unwrap_err().to_string();
        assert!(
            message.contains("'x'") && message.contains("organ-pipe"),
            "{message}"
        );
    }
}
