//! n/d copies of each of d keys: the number of duplicates from which pivot buckets pay off.

use super::{PIVOTS, PLAIN, curves, median_of, notes, ns_axis, ns_per_key, tasks, times_table};
use crate::experiment::plot::{Axis, Chart, Scale};
use crate::experiment::series::{Contender, Series};
use crate::experiment::state::Results;
use crate::experiment::stats::{count, digits};
use crate::experiment::{Drawing, Figure, Scope, Task};
use bcfsort_data::{Pattern, Spec};

pub(crate) struct Duplicates;

/// Numbers of distinct keys, up to the paper's 2250.
const DISTINCT: [u64; 14] = [
    2, 4, 8, 16, 32, 64, 128, 256, 400, 600, 900, 1250, 1750, 2250,
];
const FEWER: [u64; 5] = [2, 16, 128, 600, 2250];

fn size(scope: &Scope) -> u64 {
    scope.size(1 << 25)
}

fn series(scope: &Scope) -> Vec<Series> {
    let n = size(scope);
    let distinct: &[u64] = if scope.quick { &FEWER } else { &DISTINCT };
    distinct
        .iter()
        .filter(|&&distinct| distinct <= n)
        .map(|&distinct| {
            let spec = Spec::new(Pattern::Duplicates, n)
                .distinct(distinct)
                .seed(scope.seed);
            Series::sorts(spec, Contender::engines())
        })
        .collect()
}

fn distinct(series: &Series) -> u64 {
    series.spec.distinct.unwrap_or(series.spec.count)
}

/// The number of distinct keys at which the ratio of two times crosses 1, by linear interpolation
/// of logarithms between two measurements.
fn crossover(ratios: &[(u64, f64)]) -> Option<f64> {
    ratios.windows(2).find_map(|pair| {
        let [(d0, r0), (d1, r1)] = [pair[0], pair[1]];
        let (below, above) = (r0.ln(), r1.ln());
        if (below < 0.0) == (above < 0.0) {
            return None;
        }
        let share = below / (below - above);
        let (from, to) = ((d0 as f64).ln(), (d1 as f64).ln());
        Some((from + share * (to - from)).exp())
    })
}

impl Figure for Duplicates {
    fn name(&self) -> &'static str {
        "duplicates"
    }

    fn about(&self) -> &'static str {
        "time per key against the number of different keys, 2 to 2250, and where pivot buckets pay"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        tasks(series(scope))
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let series = series(scope);
        let lines = curves(&series, results, |s| distinct(s) as f64, ns_per_key);
        if lines.is_empty() {
            return None;
        }
        let n = size(scope);
        let ratios: Vec<(u64, f64)> = series
            .iter()
            .filter_map(|series| {
                let pivots = median_of(series, results, PIVOTS)?;
                Some((
                    distinct(series),
                    pivots / median_of(series, results, PLAIN)?,
                ))
            })
            .collect();
        let mut found = Vec::new();
        if let (Some(first), Some(last)) = (ratios.first(), ratios.last()) {
            found.push(format!(
                "At {} different keys {PIVOTS} takes {:.3} of {PLAIN}'s time ({} times as fast), \
                 at {} different keys {:.3} of it.",
                first.0,
                first.1,
                digits(1.0 / first.1),
                last.0,
                last.1
            ));
            found.push(match crossover(&ratios) {
                Some(crossover) => {
                    let buckets = scope.buckets(n);
                    let share = (f64::from(buckets.saturating_sub(1)) / crossover).min(1.0);
                    format!(
                        "The two cross at about {} different keys (interpolated). With P = \
                         {buckets} buckets there are {} splitters, so that up to {:.0} % of all \
                         keys are equal to a splitter there.",
                        digits(crossover),
                        buckets.saturating_sub(1),
                        share * 100.0
                    )
                }
                None if ratios.iter().all(|(_, ratio)| *ratio < 1.0) => format!(
                    "The two do not cross: {PIVOTS} is the faster one at every number of different \
                     keys measured."
                ),
                None => format!(
                    "The two do not cross: {PLAIN} is the faster one at every number of different \
                     keys measured."
                ),
            });
        }
        if found.is_empty() {
            found.push("Not both versions have been measured.".to_owned());
        }
        let rows: Vec<(Series, String)> = series
            .iter()
            .map(|series| (series.clone(), format!("distinct={}", distinct(series))))
            .collect();
        Some(Drawing {
            title: "Defined duplicates".to_owned(),
            shows: format!(
                "{} keys that are n/d copies of each of d keys, shuffled: from two different keys \
                 to the paper's 2250. {PIVOTS} gives the copies of each splitter a bucket of their \
                 own, which needs no merging.",
                count(n)
            ),
            paper: "With two different keys among 2^25, BCFMergesort takes 0.051 µs a key. \
                    BCFMergesortPB first surpasses it when a quarter of all keys are equal to a \
                    splitter (P = 128)."
                .to_owned(),
            found,
            charts: vec![(
                String::new(),
                Chart::Lines {
                    title: format!("Time per key by different keys, n = {}", count(n)),
                    x: Axis::new("different keys d", Scale::Log2),
                    y: ns_axis(),
                    lines,
                },
            )],
            tables: vec![(String::new(), times_table(self.name(), &rows, results))],
            notes: notes(&series, results),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossover_is_interpolated() {
        let middle = crossover(&[(2, 0.1), (100, 0.5), (400, 2.0), (1000, 3.0)]);
        assert!((middle.unwrap_or(0.0) - 200.0).abs() < 1e-6);
        assert_eq!(crossover(&[(2, 0.1), (4, 0.9)]), None);
        assert_eq!(crossover(&[]), None);
    }
}
