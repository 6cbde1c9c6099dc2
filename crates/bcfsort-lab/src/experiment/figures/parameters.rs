//! The paper's parameters: P, t, and warps per workgroup.

use super::{PIVOTS, add, notes, ns_axis, ns_per_key, tasks, times_table};
use crate::experiment::plot::{Axis, Chart, Line, Point, Scale};
use crate::experiment::series::{Contender, Key, Metric, Series};
use crate::experiment::state::Results;
use crate::experiment::stats::{Spread, count, digits};
use crate::experiment::{Drawing, Figure, Scope, Task};
use bcfsort_data::{Pattern, Spec};
use bcfsort_testkit::PaperOptions;
use wgpu_bcfsort::internals::mergesort::Plan;
use wgpu_bcfsort::internals::recording::Phase;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, Options, SortKey};

pub(crate) struct Parameters;

/// The sweep of one parameter: all values are interleaved in one series, to be comparable.
struct Swept {
    /// Its name in files and columns.
    name: &'static str,
    suffix: &'static str,
    title: &'static str,
    axis: &'static str,
    /// The line, the value and the contender's name of each point.
    points: Vec<(String, u32, String)>,
    series: Series,
}

fn size(scope: &Scope) -> u64 {
    scope.size(1 << 24)
}

fn values(scope: &Scope) -> &'static [u32] {
    if scope.quick {
        &[4, 16, 64]
    } else {
        &[16, 32, 64, 128, 256, 512, 1024]
    }
}

fn sweep(
    scope: &Scope,
    parameter: &str,
    metric: Metric,
    settings: &[(String, u32, Options)],
) -> (Series, Vec<(String, u32, String)>) {
    let n = size(scope);
    let named = |(line, value, options): &(String, u32, Options)| {
        let name = format!("{line} {parameter}={value}");
        (
            Contender::gpu(&name, options.clone()),
            (line.clone(), *value, name),
        )
    };
    let (contenders, points) = settings.iter().map(named).unzip();
    let spec = Spec::new(Pattern::Random, n).seed(scope.seed);
    let series = Series {
        spec,
        metric,
        contenders,
        peers: false,
    };
    (series, points)
}

fn sweeps(scope: &Scope) -> Vec<Swept> {
    let n = size(scope);
    // A setting that the plan would lower, or cannot use, is left out.
    let planned = |options: &Options| {
        let plan = Plan::new(
            n as u32,
            <Key as SortKey>::KEY_TYPE,
            options.mergesort.parameters(options.engine),
        );
        let distribution = plan.distribution.as_ref();
        distribution.is_some_and(|d| {
            options
                .mergesort
                .buckets
                .is_none_or(|buckets| d.buckets == buckets)
                && options
                    .mergesort
                    .samples
                    .is_none_or(|samples| d.samples == samples)
        })
    };
    let engines = |set: fn(Options, u32) -> Options| -> Vec<(String, u32, Options)> {
        Engine::MERGESORTS
            .into_iter()
            .flat_map(|engine| {
                values(scope).iter().map(move |&value| {
                    let options = set(Options::default().engine(engine), value);
                    (engine.name().to_owned(), value, options)
                })
            })
            .filter(|(_, _, options)| planned(options))
            .collect()
    };
    let mut base_cases: Vec<BaseCase> = Engine::MERGESORTS
        .into_iter()
        .map(Engine::default_base_case)
        .collect();
    base_cases.sort_unstable();
    base_cases.dedup();
    let warps: Vec<(String, u32, Options)> = base_cases
        .into_iter()
        .flat_map(|base_case| {
            [1, 2, 4, 8]
                .into_iter()
                .filter(move |&warps| warps >= base_case.warps())
                .map(move |warps| {
                    let options = Options::default().base_case(base_case).warps(warps);
                    (base_case.name().to_owned(), warps, options)
                })
        })
        .collect();
    let whole = Metric::Sort;
    let base = Metric::Phase(Phase::BaseCase.name());
    [
        (
            "P",
            "-buckets",
            "Buckets P, with t = P samples",
            "buckets P",
            sweep(scope, "P", whole, &engines(PaperOptions::buckets)),
        ),
        (
            "t",
            "-samples",
            "Samples t of each run, P by default",
            "samples t of each run",
            sweep(scope, "t", whole, &engines(PaperOptions::samples)),
        ),
        (
            "warps",
            "-warps",
            "Warps per workgroup of the base case",
            "warps per workgroup",
            sweep(scope, "warps", base, &warps),
        ),
    ]
    .into_iter()
    .filter(|(.., (series, _))| !series.contenders.is_empty())
    .map(|(name, suffix, title, axis, (series, points))| Swept {
        name,
        suffix,
        title,
        axis,
        points,
        series,
    })
    .collect()
}

impl Swept {
    fn lines(&self, results: &Results) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for (line, value, contender) in &self.points {
            let outcome = self.series.outcome(results, contender);
            let Some(spread) = outcome.and_then(|outcome| Spread::of(&outcome.times_s)) else {
                continue;
            };
            let ns = |seconds| ns_per_key(&self.series, seconds);
            let point = Point {
                x: f64::from(*value),
                y: ns(spread.median),
                low: ns(spread.min),
                high: ns(spread.max),
            };
            add(&mut lines, line, point);
        }
        lines
    }

    /// Describes the best value of each line, and the cost of the worst.
    fn best(&self, lines: &[Line]) -> Vec<String> {
        let by_time = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
        lines
            .iter()
            .filter_map(|line| {
                let best = line.points.iter().min_by(by_time)?;
                let worst = line.points.iter().max_by(by_time)?;
                Some(format!(
                    "{}: best at {} = {} with {} ns a key; {} = {} takes {} times as long",
                    line.name,
                    self.name,
                    best.x,
                    digits(best.y),
                    self.name,
                    worst.x,
                    digits(worst.y / best.y)
                ))
            })
            .collect()
    }
}

impl Figure for Parameters {
    fn name(&self) -> &'static str {
        "parameters"
    }

    fn about(&self) -> &'static str {
        "time per key against P, t, and warps per workgroup"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        tasks(
            sweeps(scope)
                .into_iter()
                .map(|swept| swept.series)
                .collect(),
        )
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let n = size(scope);
        let mut charts = Vec::new();
        let mut found = Vec::new();
        let mut rows = Vec::new();
        let mut all = Vec::new();
        for swept in sweeps(scope) {
            let lines = swept.lines(results);
            if lines.is_empty() {
                continue;
            }
            found.push(format!(
                "{}: {}.",
                swept.title,
                swept.best(&lines).join("; ")
            ));
            rows.push((swept.series.clone(), swept.name.to_owned()));
            all.push(swept.series);
            let chart = Chart::Lines {
                title: format!("{}, n = {}", swept.title, count(n)),
                x: Axis::new(swept.axis, Scale::Log2),
                y: match swept.name {
                    // Too many buckets make a sort many times slower.
                    "P" => ns_axis(),
                    "t" => Axis::new("time per key (ns)", Scale::Linear),
                    _ => Axis::new("base case per key (ns)", Scale::Linear),
                },
                lines,
            };
            charts.push((swept.suffix.to_owned(), chart));
        }
        if charts.is_empty() {
            return None;
        }
        found.push(format!(
            "By default {PIVOTS} takes P = {} here. Tiles of more than M = 1024 keys are the long \
             base cases, in the figure of the base case.",
            scope.buckets(n)
        ));
        Some(Drawing {
            title: "Parameters".to_owned(),
            shows: format!(
                "{} random keys with other parameters than the default: P, the number of buckets, \
                 with as many samples t of each run; t alone; and the warps of a workgroup in the \
                 base case, each with a tile of its own. In the CSV, the contender's name ends \
                 with the value. Values that the sort has no use for at this n are left out.",
                count(n)
            ),
            paper:
                "Found by experiment: P = 8 P_h = 128 for P_h = 16 multiprocessors, and tiles of \
                    M = w^2 = 1024 keys."
                    .to_owned(),
            found,
            charts,
            tables: vec![(String::new(), times_table(self.name(), &rows, results))],
            notes: notes(&all, results),
        })
    }
}
