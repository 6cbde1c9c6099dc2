//! Generates data sets from their specification.

use super::adversary::{self, WARP};
use super::random::Random;
use super::values::{from_rank, from_value, integer_type, largest, last_rank, spread};
use super::{DataError, Pattern, Range};
use wgpu_bcfsort::{KeyType, SortKey};

/// Keys per tooth of a saw: not a power of two, so that teeth and tiles do not align.
const TOOTH: u64 = 1000;

/// The most different keys for the patterns that keep a table of them.
const MOST_DISTINCT: u64 = 1 << 24;

/// The most items per lane for the adversary: kernels hold them in registers.
const MOST_ITEMS: u32 = 64;

/// A data set: the pattern, its parameters, and the seed.
///
/// # Examples
///
/// ```
/// use bcfsort_data::{Pattern, Spec, generate};
/// let spec = Spec::new(Pattern::Duplicates, 10).distinct(3).seed(42);
/// let mut keys: Vec<u64> = generate(&spec)?;
/// keys.sort();
/// assert_eq!(keys, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
/// # Ok::<(), bcfsort_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spec {
    /// The pattern of the keys.
    pub pattern: Pattern,
    /// The number of keys.
    pub count: u64,
    /// The values to draw from, for the patterns that draw from a range.
    pub range: Option<Range>,
    /// The number of different keys, for `duplicates`, `few-distinct` and `zipf`.
    pub distinct: Option<u64>,
    /// The number of sorted runs, for `runs`.
    pub runs: Option<u64>,
    /// The number of keys that a lane merges, for `adversary`.
    pub items: Option<u32>,
    /// The seed. Data sets with different seeds are unrelated.
    pub seed: u64,
}

impl Spec {
    /// A data set with the pattern's default parameters and seed 1.
    #[must_use]
    pub const fn new(pattern: Pattern, count: u64) -> Self {
        Self {
            pattern,
            count,
            range: None,
            distinct: None,
            runs: None,
            items: None,
            seed: 1,
        }
    }

    /// Sets the range to draw from.
    #[must_use]
    pub const fn range(mut self, range: Range) -> Self {
        self.range = Some(range);
        self
    }

    /// Sets the number of different keys.
    #[must_use]
    pub const fn distinct(mut self, distinct: u64) -> Self {
        self.distinct = Some(distinct);
        self
    }

    /// Sets the number of sorted runs.
    #[must_use]
    pub const fn runs(mut self, runs: u64) -> Self {
        self.runs = Some(runs);
        self
    }

    /// Sets how many keys a lane merges in the sorts that the adversary targets.
    #[must_use]
    pub const fn items(mut self, items: u32) -> Self {
        self.items = Some(items);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The largest valid count up to [`count`](Self::count): the count itself, or for the
    /// adversary the largest `32 * items * 2^k`, 0 if there is none.
    #[must_use]
    pub const fn fitting_count(&self) -> u64 {
        if !matches!(self.pattern, Pattern::Adversary) {
            return self.count;
        }
        let unit = self.adversary_unit();
        match (self.count / unit).checked_ilog2() {
            Some(doublings) => unit << doublings,
            None => 0,
        }
    }

    /// The number of keys that one warp merges.
    const fn adversary_unit(&self) -> u64 {
        let items = match self.items {
            None => 17,
            Some(0) => 1,
            Some(items) => items,
        };
        WARP as u64 * items as u64
    }

    /// Refuses parameters that the pattern does not have.
    fn check_parameters(&self) -> Result<(), DataError> {
        type Takes = fn(Pattern) -> bool;
        let parameters: [(&str, bool, Takes); 4] = [
            ("range", self.range.is_some(), |pattern| {
                pattern.default_range().is_some()
            }),
            ("distinct", self.distinct.is_some(), |pattern| {
                pattern.default_distinct().is_some()
            }),
            ("runs", self.runs.is_some(), |pattern| {
                pattern == Pattern::Runs
            }),
            ("items", self.items.is_some(), |pattern| {
                pattern == Pattern::Adversary
            }),
        ];
        for (parameter, given, takes) in parameters {
            if given && !takes(self.pattern) {
                let takers = Pattern::ALL.into_iter().filter(|&pattern| takes(pattern));
                let takers: Vec<&str> = takers.map(Pattern::name).collect();
                return Err(DataError::UnusedParameter {
                    pattern: self.pattern.name(),
                    parameter,
                    patterns: takers.join(", "),
                });
            }
        }
        Ok(())
    }

    /// Refuses a pattern that uses the ranks up to `last` if the type has fewer keys.
    fn check_ranks(&self, last: u64, key: KeyType) -> Result<(), DataError> {
        if last > last_rank(key) {
            return Err(DataError::TooFewValues {
                pattern: self.pattern.name(),
                count: self.count,
                key,
                most: last_rank(key),
            });
        }
        Ok(())
    }

    /// The number of different keys.
    fn distinct_keys(&self, key: KeyType) -> Result<u64, DataError> {
        let duplicates = self.pattern == Pattern::Duplicates;
        let default = self.pattern.default_distinct().unwrap_or(1);
        let Some(distinct) = self.distinct else {
            return Ok(if duplicates {
                default.min(self.count)
            } else {
                default
            });
        };
        let most = if duplicates {
            self.count.min(last_rank(key))
        } else {
            MOST_DISTINCT
        };
        if distinct == 0 && self.count > 0 || distinct > most {
            return Err(DataError::BadParameter {
                parameter: "distinct",
                value: distinct.to_string(),
                allowed: format!("{} takes 1 to {most} different keys here", self.pattern),
            });
        }
        Ok(distinct)
    }

    /// How random keys are drawn.
    fn draw<T: SortKey>(&self) -> Result<Draw, DataError> {
        let full = Range::Full;
        let range = self.range.or(self.pattern.default_range()).unwrap_or(full);
        let Range::Values { low, high } = range else {
            return Ok(Draw::Bits);
        };
        let bad = |allowed: String| DataError::BadParameter {
            parameter: "range",
            value: range.to_string(),
            allowed,
        };
        if from_value::<T>(low).is_none() || from_value::<T>(high).is_none() {
            let wider = match integer_type(low, high) {
                Some(key) => format!(": use --type {key}"),
                None => String::new(),
            };
            return Err(bad(format!("some of it is outside {}{wider}", T::KEY_TYPE)));
        }
        match high.checked_sub(low).map(u64::try_from) {
            Some(Ok(last)) => Ok(Draw::Values { low, last }),
            _ => Err(bad(
                "the ends must be in order and less than 2^64 apart".to_owned()
            )),
        }
    }

    fn check_adversary(&self) -> Result<u32, DataError> {
        let items = self.items.unwrap_or(17);
        if !(2..=MOST_ITEMS).contains(&items) {
            return Err(DataError::BadParameter {
                parameter: "items",
                value: items.to_string(),
                allowed: format!("a lane merges 2 to {MOST_ITEMS} keys"),
            });
        }
        let (unit, below) = (self.adversary_unit(), self.fitting_count());
        if below != self.count || below == 0 {
            let nearest = match (below, below.checked_mul(2)) {
                (0, _) => unit.to_string(),
                (below, Some(above)) => format!("{below} and {above}"),
                (below, None) => below.to_string(),
            };
            return Err(DataError::AdversaryCount {
                count: self.count,
                items,
                unit,
                nearest,
            });
        }
        Ok(items)
    }
}

/// Draws a random key.
#[derive(Clone, Copy)]
enum Draw {
    Bits,
    Values { low: i128, last: u64 },
}

impl Draw {
    fn key<T: SortKey>(self, random: &mut Random) -> T {
        match self {
            Self::Bits => T::from_bits64(random.bits()),
            // The range was checked, so every value in it is a key: the default is never used.
            Self::Values { low, last } => from_value(low + i128::from(random.up_to(last)))
                .unwrap_or_else(|| T::from_bits64(0)),
        }
    }
}

fn room<T: SortKey>(count: u64) -> Result<Vec<T>, DataError> {
    let no_room = || DataError::OutOfMemory {
        count,
        key: T::KEY_TYPE,
        bytes: count.saturating_mul(T::KEY_TYPE.bytes()),
    };
    let mut keys = Vec::new();
    let len = usize::try_from(count).map_err(|_| no_room())?;
    keys.try_reserve_exact(len).map_err(|_| no_room())?;
    Ok(keys)
}

/// Makes a data set.
///
/// The same `spec` always gives the same bytes, on every machine.
///
/// Values become keys as follows. If a pattern draws values from a range, a float key is the float
/// nearest to the value. If a pattern numbers its keys (`distinct`, `ascending`, `duplicates` and
/// so on), the number k is the float k while all integers up to k are floats (up to 2^24 for `f32`,
/// 2^53 for `f64`). From there each number is the next larger float, so that different numbers stay
/// different keys in the same order.
///
/// Time is O(n), and O(n log n) for `runs` and the partly sorted patterns. Only the adversary needs
/// memory besides the keys: the same amount again.
///
/// # Errors
///
/// [`DataError::UnusedParameter`], [`DataError::BadParameter`], [`DataError::TooFewValues`] or
/// [`DataError::AdversaryCount`] if the pattern, its parameters, the count and the key type are
/// incompatible, and [`DataError::OutOfMemory`].
///
/// # Examples
///
/// ```
/// use bcfsort_data::{Pattern, Spec, generate};
/// let keys: Vec<f32> = generate(&Spec::new(Pattern::OrganPipe, 6))?;
/// assert_eq!(keys, [1.0, 2.0, 3.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), bcfsort_data::DataError>(())
/// ```
pub fn generate<T: SortKey>(spec: &Spec) -> Result<Vec<T>, DataError> {
    spec.check_parameters()?;
    let count = spec.count;
    let random = &mut Random::new(spec.seed);
    let ranks = |last: u64| spec.check_ranks(last, T::KEY_TYPE);
    let fill = |key: &mut dyn FnMut(u64) -> T| -> Result<Vec<T>, DataError> {
        let mut keys = room(count)?;
        keys.extend((0..count).map(key));
        Ok(keys)
    };
    match spec.pattern {
        Pattern::Random | Pattern::Full | Pattern::Narrow => {
            let draw = spec.draw::<T>()?;
            fill(&mut |_| draw.key(random))
        }
        Pattern::HalfSorted => partly_sorted(spec, random, |n| n / 2),
        Pattern::MostlySorted => partly_sorted(spec, random, |n| n - n / 20),
        Pattern::Runs => sorted_runs(spec, random),
        Pattern::Distinct => {
            ranks(count)?;
            let mut keys = fill(&mut |i| from_rank(i + 1))?;
            random.shuffle(&mut keys);
            Ok(keys)
        }
        Pattern::ZeroOne => fill(&mut |_| from_rank(random.below(2))),
        Pattern::Duplicates => {
            let distinct = spec.distinct_keys(T::KEY_TYPE)?;
            let mut keys = fill(&mut |i| from_rank(i % distinct))?;
            random.shuffle(&mut keys);
            Ok(keys)
        }
        Pattern::FewDistinct => {
            let table = spread::<T>(spec.distinct_keys(T::KEY_TYPE)?);
            fill(&mut |_| table[random.below(table.len() as u64) as usize])
        }
        Pattern::Zipf => {
            let table = zipf_table(spec.distinct_keys(T::KEY_TYPE)?);
            let total = table.last().copied().unwrap_or(1);
            fill(&mut |_| {
                let drawn = random.below(total);
                from_rank(table.partition_point(|&upto| upto <= drawn) as u64 + 1)
            })
        }
        Pattern::Constant => fill(&mut |_| from_rank(7)),
        Pattern::Maximal => fill(&mut |_| largest()),
        Pattern::Ascending => {
            ranks(count)?;
            fill(&mut |i| from_rank(i + 1))
        }
        Pattern::Descending => {
            ranks(count)?;
            fill(&mut |i| from_rank(count - i))
        }
        Pattern::Saws => fill(&mut |i| from_rank(i % TOOTH + 1)),
        Pattern::SawsDescending => fill(&mut |i| from_rank(TOOTH - i % TOOTH)),
        Pattern::SawsMixed => fill(&mut |i| match i / TOOTH % 2 {
            0 => from_rank(i % TOOTH + 1),
            _ => from_rank(TOOTH - i % TOOTH),
        }),
        Pattern::OrganPipe => {
            ranks(count.div_ceil(2))?;
            fill(&mut |i| from_rank(i.min(count - 1 - i) + 1))
        }
        Pattern::Adversary => {
            let items = spec.check_adversary()?;
            ranks(count)?;
            Ok(adversary::fill(
                room(count)?,
                room(count)?,
                count,
                items,
                random,
            ))
        }
        Pattern::Special => {
            let corners = corners::<T>();
            fill(&mut |_| special(&corners, random))
        }
    }
}

fn partly_sorted<T: SortKey>(
    spec: &Spec,
    random: &mut Random,
    sorted: impl Fn(usize) -> usize,
) -> Result<Vec<T>, DataError> {
    let draw = spec.draw::<T>()?;
    let mut keys = room(spec.count)?;
    keys.extend((0..spec.count).map(|_| draw.key::<T>(random)));
    let sorted = sorted(keys.len());
    keys[..sorted].sort_unstable_by(T::total_order);
    Ok(keys)
}

fn sorted_runs<T: SortKey>(spec: &Spec, random: &mut Random) -> Result<Vec<T>, DataError> {
    let runs = spec.runs.unwrap_or(16);
    if runs == 0 {
        return Err(DataError::BadParameter {
            parameter: "runs",
            value: runs.to_string(),
            allowed: "at least one run".to_owned(),
        });
    }
    let draw = spec.draw::<T>()?;
    let mut keys = room(spec.count)?;
    keys.extend((0..spec.count).map(|_| draw.key::<T>(random)));
    let length = spec.count.div_ceil(runs).max(1) as usize;
    for run in keys.chunks_mut(length) {
        run.sort_unstable_by(T::total_order);
    }
    Ok(keys)
}

/// The prefix sums of the weights 1/1, 1/2, 1/3 and so on in units of 2^-40. They are integers
/// because float sums could differ in the last bit between platforms.
fn zipf_table(distinct: u64) -> Vec<u64> {
    (1..=distinct)
        .scan(0, |sum, k| {
            *sum += (1u64 << 40) / k;
            Some(*sum)
        })
        .collect()
}

/// The corner cases: bit patterns that sorts get wrong most easily.
fn corners<T: SortKey>() -> Vec<T> {
    let integers = |bits: u32, signed: bool| {
        let mut values = vec![0, 1, 2];
        let top = if signed { bits - 1 } else { bits };
        let last = u64::MAX >> (64 - top);
        values.extend([last, last - 1]);
        for power in (15..top).step_by(16) {
            values.extend([(1 << power) - 1, 1 << power, (1 << power) + 1]);
        }
        if signed {
            values.extend(values.clone().into_iter().map(|value: u64| !value));
        }
        values
    };
    // The magnitudes of floats, from zero to NaN: their bits have the same order.
    let floats = |infinity: u64, min_normal: u64, sign: u64, one: u64| {
        let quiet = min_normal >> 1;
        let mut values = vec![0, 1, 2, min_normal / 3, min_normal - 1, min_normal];
        values.extend([
            min_normal + 1,
            one - 1,
            one,
            one + 1,
            infinity - 1,
            infinity,
        ]);
        values.extend([infinity + 1, infinity + quiet - 1, infinity | quiet]);
        values.extend([(infinity | quiet) + 1, sign - 1]);
        values.extend(values.clone().into_iter().map(|value: u64| value | sign));
        values
    };
    let bits = match T::KEY_TYPE {
        KeyType::U32 => integers(32, false),
        KeyType::I32 => integers(32, true),
        KeyType::U64 => integers(64, false),
        KeyType::I64 => integers(64, true),
        KeyType::F32 => floats(
            f32::INFINITY.to_bits64(),
            f32::MIN_POSITIVE.to_bits64(),
            1 << 31,
            1f32.to_bits64(),
        ),
        KeyType::F64 => floats(
            f64::INFINITY.to_bits64(),
            f64::MIN_POSITIVE.to_bits64(),
            1 << 63,
            1f64.to_bits64(),
        ),
        other => unreachable!("no data set has {other} keys"),
    };
    bits.into_iter().map(T::from_bits64).collect()
}

/// A corner case or an ordinary key, each with probability 1/2.
fn special<T: SortKey>(corners: &[T], random: &mut Random) -> T {
    if random.below(2) == 0 {
        return corners[random.below(corners.len() as u64) as usize];
    }
    let magnitude = i128::from(random.up_to(1_000_000));
    // Unsigned types use the magnitude of a negative value.
    from_value(if random.below(2) == 0 {
        magnitude
    } else {
        -magnitude
    })
    .or_else(|| from_value(magnitude))
    .unwrap_or(corners[0])
}

#[cfg(test)]
mod tests;
