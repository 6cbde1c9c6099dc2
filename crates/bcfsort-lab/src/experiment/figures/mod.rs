//! The figures, one file each, and shared code.

mod adversary;
mod base_case;
mod bucket_sizes;
mod duplicates;
mod fast;
mod memory;
mod parameters;
mod passes;
mod prefix_sums;
mod sweep;

use super::csv::Table;
use super::plot::{Axis, Line, Point, Scale};
use super::series::{Contender, Key, Series};
use super::state::{Outcome, Results};
use super::stats::{self, Spread, digits};
use super::{Figure, Scope, Task};
use std::collections::BTreeMap;
use wgpu_bcfsort::{Engine, SortKey};

/// All figures, in the order of the report. A new figure needs a file in this folder and a line
/// here.
pub(crate) static FIGURES: [&dyn Figure; 12] = [
    &prefix_sums::ColoredPrefixSums,
    &sweep::RANDOM,
    &sweep::DISTINCT,
    &sweep::ZERO_ONE,
    &duplicates::Duplicates,
    &base_case::BaseCases,
    &parameters::Parameters,
    &bucket_sizes::BucketSizes,
    &memory::Memory,
    &passes::Passes,
    &adversary::Adversary,
    &fast::Fast,
];

/// The mergesorts that the paper compares: without and with pivot buckets.
const PLAIN: &str = Engine::BcfMergesort.name();
const PIVOTS: &str = Engine::BcfMergesortPb.name();

/// All contenders for this number of keys: the engines, and the CPU unless it would be too slow.
fn everyone(scope: &Scope, n: u64) -> Vec<Contender> {
    let mut all = Contender::engines();
    if n <= scope.cpu_max_n {
        all.extend(Contender::cpus());
    }
    all
}

fn tasks(series: Vec<Series>) -> Vec<Box<dyn Task>> {
    let task = |series| Box::new(series) as Box<dyn Task>;
    series.into_iter().map(task).collect()
}

/// One line for each contender, in the order of first appearance. `x` maps a series to the x
/// coordinate, `y` a time in seconds to the y coordinate.
fn curves(
    series: &[Series],
    results: &Results,
    x: impl Fn(&Series) -> f64,
    y: impl Fn(&Series, f64) -> f64,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for series in series {
        for outcome in series.outcomes(results) {
            let Some(spread) = Spread::of(&outcome.times_s) else {
                continue;
            };
            let point = Point {
                x: x(series),
                y: y(series, spread.median),
                low: y(series, spread.min),
                high: y(series, spread.max),
            };
            add(&mut lines, &outcome.contender, point);
        }
    }
    lines
}

/// Adds a point to the line of this name, or to a new line.
fn add(lines: &mut Vec<Line>, name: &str, point: Point) {
    if let Some(line) = lines.iter_mut().find(|line| line.name == name) {
        line.points.push(point);
    } else {
        lines.push(Line::new(name, lines.len(), vec![point]));
    }
}

/// Nanoseconds per key.
fn ns_per_key(series: &Series, seconds: f64) -> f64 {
    seconds * 1e9 / series.spec.count as f64
}

fn keys_axis() -> Axis {
    Axis::new("keys n", Scale::Log2)
}

fn ns_axis() -> Axis {
    Axis::new("time per key (ns)", Scale::Log10)
}

/// The times of some series, each with the value of the parameter that it was measured for.
fn times_table(figure: &str, series: &[(Series, String)], results: &Results) -> Table {
    let mut table = Table::new([
        "figure",
        "keys",
        "type",
        "pattern",
        "parameter",
        "contender",
        "device",
        "clock",
        "min_s",
        "q1_s",
        "median_s",
        "q3_s",
        "max_s",
        "runs",
        "ns_per_key",
        "verified",
    ]);
    for (series, parameter) in series {
        for outcome in series.outcomes(results) {
            let Some(spread) = Spread::of(&outcome.times_s) else {
                continue;
            };
            let seconds = |seconds: f64| format!("{seconds:e}");
            table.row([
                figure.to_owned(),
                series.spec.count.to_string(),
                <Key as SortKey>::KEY_TYPE.to_string(),
                series.spec.pattern.to_string(),
                parameter.clone(),
                outcome.contender.clone(),
                outcome.device.clone(),
                outcome.clock.clone(),
                seconds(spread.min),
                seconds(spread.q1),
                seconds(spread.median),
                seconds(spread.q3),
                seconds(spread.max),
                outcome.times_s.len().to_string(),
                format!("{:.5}", ns_per_key(series, spread.median)),
                // Unverified results are left out.
                "true".to_owned(),
            ]);
        }
    }
    table
}

/// The times of series without a parameter.
fn plain_times_table(figure: &str, series: &[Series], results: &Results) -> Table {
    let series: Vec<(Series, String)> =
        series.iter().map(|s| (s.clone(), "-".to_owned())).collect();
    times_table(figure, &series, results)
}

/// The contenders left out, each reason once, with the sizes of the data sets.
fn notes(series: &[Series], results: &Results) -> Vec<String> {
    let outcomes = series.iter().flat_map(|series| {
        let outcomes = series.outcomes(results).into_iter();
        outcomes.map(move |outcome| (series.spec.count, outcome))
    });
    notes_of(outcomes)
}

fn notes_of<'a>(outcomes: impl Iterator<Item = (u64, &'a Outcome)>) -> Vec<String> {
    let mut reasons: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for (keys, outcome) in outcomes {
        if let Some(error) = &outcome.error {
            let counts = reasons
                .entry((&outcome.contender, error.as_str()))
                .or_default();
            if !counts.contains(&keys) {
                counts.push(keys);
            }
        }
    }
    reasons
        .into_iter()
        .map(|((contender, error), keys)| {
            let keys: Vec<String> = keys.into_iter().map(stats::count).collect();
            format!("{contender} at {} keys ({error})", keys.join(", "))
        })
        .collect()
}

/// The median time of a contender in a series.
fn median_of(series: &Series, results: &Results, contender: &str) -> Option<f64> {
    let outcome = series.outcome(results, contender)?;
    Some(stats::median(&outcome.times_s))
}

/// The ratio of two contenders' times, for each series with both.
fn ratios(series: &[Series], results: &Results, over: &str, under: &str) -> Vec<(u64, f64)> {
    let ratio = |series: &Series| {
        let over = median_of(series, results, over)?;
        Some((series.spec.count, over / median_of(series, results, under)?))
    };
    series.iter().filter_map(ratio).collect()
}

/// Ranks the contenders of a series, fastest first: "bcf 0.19 ns (5200 Mkeys/s), ...".
fn ranking(series: &Series, results: &Results) -> Option<String> {
    let mut all: Vec<(&str, f64)> = series
        .outcomes(results)
        .into_iter()
        .filter(|outcome| !outcome.times_s.is_empty())
        .map(|outcome| {
            let median = stats::median(&outcome.times_s);
            (outcome.contender.as_str(), ns_per_key(series, median))
        })
        .collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let parts: Vec<String> = all
        .iter()
        .map(|(name, ns)| format!("{name} {} ns ({} Mkeys/s)", digits(*ns), digits(1e3 / ns)))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "At {} keys, time per key, fastest first: {}.",
            stats::count(series.spec.count),
            parts.join(", ")
        )
    })
}
