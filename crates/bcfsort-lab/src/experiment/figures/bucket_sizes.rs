//! Bucket sizes, compared with the bound of Lemma 1.

use super::notes_of;
use crate::experiment::csv::Table;
use crate::experiment::plot::{Axis, Chart, Line, NEUTRAL, Point, Scale};
use crate::experiment::series::{Key, left_out};
use crate::experiment::state::{Outcome, Results};
use crate::experiment::stats::{count, digits};
use crate::experiment::{Drawing, Figure, Lab, Scope, Task};
use crate::measure::{Resident, read};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::fault::Fault;
use bcfsort_testkit::PaperOptions;
use std::collections::BTreeMap;
use wgpu_bcfsort::internals::mergesort::{Distribution, Plan};
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::internals::scratch;
use wgpu_bcfsort::{Engine, Error, Options, SortKey, Sorter};

pub(crate) struct BucketSizes;

/// Distinct keys in random order and sorted, and repeated keys, which the lemma does not cover.
const PATTERNS: [Pattern; 6] = [
    Pattern::Distinct,
    Pattern::Ascending,
    Pattern::Saws,
    Pattern::Random,
    Pattern::Zipf,
    Pattern::ZeroOne,
];

/// The largest bucket, the lemma's bound and the mean, in keys.
const LARGEST: &str = "largest";
const BOUND: &str = "bound";
const MEAN: &str = "mean";

fn size(scope: &Scope) -> u64 {
    scope.size(1 << 22)
}

/// The paper's P, and the values of t to measure.
fn samples(scope: &Scope) -> (u32, Vec<u32>) {
    let buckets = scope.buckets(size(scope)).max(2);
    let samples = (2..=10).map(|log| 1 << log);
    (buckets, samples.collect())
}

fn options(engine: Engine, buckets: u32, samples: u32) -> Options {
    Options::default()
        .engine(engine)
        .buckets(buckets)
        .samples(samples)
}

/// The plan of the distribution, or `None` if it would not use tables of this size.
fn planned(n: u64, options: &Options) -> Option<Distribution> {
    let plan = Plan::new(
        n as u32,
        <Key as SortKey>::KEY_TYPE,
        options.mergesort.parameters(options.engine),
    );
    let wanted = |d: &Distribution| {
        Some(d.buckets) == options.mergesort.buckets
            && Some(d.samples) == options.mergesort.samples
            && d.samples <= d.run
    };
    plan.distribution.filter(wanted)
}

/// The bucket sizes of one data set for each t.
struct Sizes {
    engine: Engine,
    spec: Spec,
    buckets: u32,
    samples: Vec<u32>,
}

impl Sizes {
    fn id(&self) -> String {
        let samples: Vec<String> = self.samples.iter().map(u32::to_string).collect();
        format!(
            "bucket sizes {} {} {} P={} t={}",
            self.engine,
            self.spec.count,
            self.spec.pattern,
            self.buckets,
            samples.join(",")
        )
    }

    /// Adds a row to the CSV, if there are results.
    fn row(&self, figure: &str, outcome: &Outcome, table: &mut Table) {
        let values = [LARGEST, MEAN, BOUND].map(|name| outcome.value(name));
        let [Some(largest), Some(mean), Some(bound)] = values else {
            return;
        };
        table.row([
            figure.to_owned(),
            self.spec.count.to_string(),
            <Key as SortKey>::KEY_TYPE.to_string(),
            self.spec.pattern.to_string(),
            self.engine.to_string(),
            self.buckets.to_string(),
            outcome.contender.clone(),
            largest.to_string(),
            mean.to_string(),
            bound.to_string(),
            format!("{:.4}", largest / mean),
            (largest <= bound).to_string(),
        ]);
    }

    fn at(&self, lab: &Lab<'_>, resident: &Resident<'_>, samples: u32) -> Result<Outcome, Error> {
        let name = samples.to_string();
        let options = options(self.engine, self.buckets, samples);
        let sorter = lab.sorter.with_options(options.clone())?;
        let Some(plan) = planned(self.spec.count, &options) else {
            return Ok(Outcome::failed(
                name,
                "this engine plans no such distribution",
            ));
        };
        let prepared = resident.sort_prepared(&sorter)?;
        let Some(table) = scratch(&prepared, Buffer::Separators(0)) else {
            return Ok(Outcome::failed(
                name,
                "this engine keeps no table of its buckets",
            ));
        };
        let largest = largest(&sorter, &plan, table)?;
        let numbers = [
            (LARGEST, f64::from(largest)),
            (BOUND, f64::from(plan.likely_bucket)),
            (MEAN, self.spec.count as f64 / f64::from(plan.buckets)),
        ];
        Ok(Outcome {
            contender: name,
            device: lab.adapter.clone(),
            values: numbers.map(|(name, value)| (name.to_owned(), value)).into(),
            ..Outcome::default()
        })
    }
}

/// The size of the largest bucket to be merged. A row of the table has the start of the bucket's
/// part in each run, then the end of the bucket.
fn largest(
    sorter: &Sorter,
    plan: &Distribution,
    table: &wgpu_bcfsort::wgpu::Buffer,
) -> Result<u32, Error> {
    let row = plan.runs as usize + 1;
    let words = read(sorter, table, 0, plan.separator_words() * 4)?;
    let words: Vec<u32> = words
        .chunks_exact(4)
        .map(|word| {
            word.iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | u32::from(byte))
        })
        .collect();
    // Every other bucket holds copies of one splitter, and needs no merge.
    let step = if plan.pivots { 2 } else { 1 };
    let sizes = words.chunks_exact(row).step_by(step).map(|row| {
        let (first, last) = (row.first().copied(), row.last().copied());
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
    });
    Ok(sizes.max().unwrap_or(0))
}

impl Task for Sizes {
    fn what(&self) -> String {
        format!("{} {} {}", self.engine, self.spec.count, self.spec.pattern)
    }

    fn parts(&self, _peers: &[&str]) -> Vec<String> {
        vec![self.id()]
    }

    fn weight(&self) -> f64 {
        self.samples.len() as f64 * self.spec.count as f64 * 1e-8
    }

    fn run(&self, lab: &mut Lab<'_>) -> Result<(), Fault> {
        let input: Vec<Key> =
            generate(&self.spec).map_err(|error| Fault::Usage(error.to_string()))?;
        let mut outcomes = Vec::new();
        match Resident::upload(&lab.sorter, &input) {
            Ok(resident) => {
                for &samples in &self.samples {
                    outcomes.push(match self.at(lab, &resident, samples) {
                        Ok(outcome) => outcome,
                        Err(error) => left_out(&samples.to_string(), &error)?,
                    });
                }
            }
            Err(error) => outcomes.push(left_out(self.engine.name(), &error)?),
        }
        lab.state.keep(self.id(), outcomes, false)
    }
}

fn sizes(scope: &Scope) -> Vec<Sizes> {
    let (n, (buckets, samples)) = (size(scope), samples(scope));
    Engine::MERGESORTS
        .into_iter()
        .flat_map(|engine| {
            let samples: Vec<u32> = samples
                .iter()
                .copied()
                .filter(|&t| planned(n, &options(engine, buckets, t)).is_some())
                .collect();
            PATTERNS.map(|pattern| Sizes {
                engine,
                spec: Spec::new(pattern, n).seed(scope.seed),
                buckets,
                samples: samples.clone(),
            })
        })
        .filter(|sizes| !sizes.samples.is_empty())
        .collect()
}

/// The lines of one engine and the bound, as multiples of the mean size.
fn lines(of: &[(&Sizes, Vec<&Outcome>)]) -> Vec<Line> {
    let point = |outcome: &Outcome, what: &str| {
        let t: f64 = outcome.contender.parse().ok()?;
        Some(Point::exact(t, outcome.value(what)? / outcome.value(MEAN)?))
    };
    let mut lines: Vec<Line> = Vec::new();
    for (i, (sizes, outcomes)) in of.iter().enumerate() {
        // If nothing is left to merge, there is no point to plot.
        let points: Vec<Point> = outcomes
            .iter()
            .filter_map(|outcome| point(outcome, LARGEST))
            .filter(|point| point.y > 0.0)
            .collect();
        if !points.is_empty() {
            lines.push(Line::new(sizes.spec.pattern.name(), i, points));
        }
    }
    let mut bound: BTreeMap<u32, Point> = BTreeMap::new();
    for outcome in of.iter().flat_map(|(_, outcomes)| outcomes) {
        if let (Some(point), Ok(samples)) = (point(outcome, BOUND), outcome.contender.parse()) {
            bound.insert(samples, point);
        }
    }
    if !bound.is_empty() {
        lines.push(Line::new("Lemma 1's bound", NEUTRAL, bound.into_values().collect()).model());
    }
    lines
}

impl Figure for BucketSizes {
    fn name(&self) -> &'static str {
        "bucket-sizes"
    }

    fn about(&self) -> &'static str {
        "the largest bucket against Lemma 1's bound, by the number of samples t"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        let task = |sizes| Box::new(sizes) as Box<dyn Task>;
        sizes(scope).into_iter().map(task).collect()
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let all = sizes(scope);
        let (n, (buckets, _)) = (size(scope), samples(scope));
        let mut charts = Vec::new();
        let mut found = Vec::new();
        let mut table = Table::new([
            "figure",
            "keys",
            "type",
            "pattern",
            "engine",
            "buckets",
            "samples",
            "largest_keys",
            "mean_keys",
            "bound_keys",
            "largest_to_mean",
            "within_bound",
        ]);
        for engine in Engine::MERGESORTS {
            let of: Vec<(&Sizes, Vec<&Outcome>)> = all
                .iter()
                .filter(|sizes| sizes.engine == engine)
                .filter_map(|sizes| {
                    let part = results.get(&sizes.id())?;
                    Some((sizes, part.outcomes.iter().collect()))
                })
                .collect();
            for (sizes, outcomes) in &of {
                for outcome in outcomes {
                    sizes.row(self.name(), outcome, &mut table);
                }
            }
            let lines = lines(&of);
            if lines.is_empty() {
                continue;
            }
            found.push(describe(engine, buckets, &of, &lines));
            charts.push((
                format!("-{engine}"),
                Chart::Lines {
                    title: format!("Largest bucket, {engine}, n = {}, P = {buckets}", count(n)),
                    x: Axis::new("samples t of each run", Scale::Log2),
                    y: Axis::new("largest bucket / (n / P)", Scale::Log10),
                    lines,
                },
            ));
        }
        if charts.is_empty() {
            return None;
        }
        let outcomes = all.iter().filter_map(|sizes| results.get(&sizes.id()));
        let outcomes = outcomes.flat_map(|part| part.outcomes.iter().map(|outcome| (n, outcome)));
        Some(Drawing {
            title: "Bucket sizes and Lemma 1".to_owned(),
            shows: format!(
                "The largest bucket that is still to be merged, compared with an even share of the \
                 {} keys, as the tables of a sort on this device have it. Buckets that hold copies \
                 of one splitter are finished and not counted. The dashed line is the lemma's \
                 bound with its roundings; it is proven where all keys are distinct, as those of \
                 distinct and ascending are. Sizes do not depend on chance: there is nothing to \
                 repeat.",
                count(n)
            ),
            paper:
                "Lemma 1: where all keys are distinct, a bucket holds O(N/t (1 + t/P)) keys, so \
                    that t = P samples of each run keep it at O(N/P). Duplicates skew the buckets \
                    of BCFMergesort, and buckets for the splitters' copies mend that."
                    .to_owned(),
            found,
            charts,
            tables: vec![(String::new(), table)],
            notes: notes_of(outcomes),
        })
    }
}

/// Describes the buckets of one engine.
fn describe(
    engine: Engine,
    buckets: u32,
    of: &[(&Sizes, Vec<&Outcome>)],
    lines: &[Line],
) -> String {
    let (mut finished, mut within, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for (sizes, outcomes) in of {
        let pattern = sizes.spec.pattern;
        let to_bound = |outcome: &&Outcome| Some(outcome.value(LARGEST)? / outcome.value(BOUND)?);
        match outcomes.iter().filter_map(to_bound).max_by(f64::total_cmp) {
            Some(most) if most <= 0.0 => finished.push(pattern.name()),
            Some(most) if most <= 1.0 => within.push(pattern.name()),
            Some(most) => beyond.push(format!("{pattern} (by a factor of up to {})", digits(most))),
            None => {}
        }
    }
    let mut text = format!("{engine} stays within the bound on {} keys", list(&within));
    if beyond.is_empty() {
        text += ".";
    } else {
        text += &format!(", and exceeds it on {}.", beyond.join(", "));
    }
    if !finished.is_empty() {
        text += &format!(
            " On {} keys nothing is left to merge after the distribution.",
            finished.join(", ")
        );
    }
    // The paper chooses t = P.
    let at_p = |line: &Line| {
        let point = line.points.iter().find(|p| p.x >= f64::from(buckets))?;
        Some((line.name.clone(), *point))
    };
    if let Some((name, point)) = lines.iter().find_map(at_p) {
        text += &format!(
            " With t = {} samples, on {name} keys the largest bucket is {} times the mean.",
            point.x,
            digits(point.y)
        );
    }
    text
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none of these".to_owned()
    } else {
        names.join(", ")
    }
}
