//! The base case alone: sorts in registers and in workgroup memory.

use super::{notes, ns_per_key, plain_times_table, tasks};
use crate::experiment::plot::{Axis, Chart, Point, Scale};
use crate::experiment::series::{Contender, Metric, Series};
use crate::experiment::state::Results;
use crate::experiment::stats::{Spread, count, digits};
use crate::experiment::{Drawing, Figure, Scope, Task};
use bcfsort_data::{Pattern, Spec};
use bcfsort_testkit::PaperOptions;
use wgpu_bcfsort::internals::recording::Phase;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, Options};

pub(crate) struct BaseCases;

fn series(scope: &Scope) -> Series {
    let n = scope.size(1 << 25);
    let contenders = BaseCase::ALL.map(|base_case| {
        let options = Options::default().engine(Engine::BcfMergesort);
        Contender::gpu(base_case.name(), options.base_case(base_case))
    });
    Series {
        spec: Spec::new(Pattern::Random, n).seed(scope.seed),
        metric: Metric::Phase(Phase::BaseCase.name()),
        contenders: contenders.into(),
        peers: false,
    }
}

impl Figure for BaseCases {
    fn name(&self) -> &'static str {
        "base-case"
    }

    fn about(&self) -> &'static str {
        "the base case alone over 2^25 keys: with and without registers, and other networks"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        tasks(vec![series(scope)])
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let series = series(scope);
        let ns = |seconds| ns_per_key(&series, seconds);
        let bars: Vec<(String, Point)> = series
            .outcomes(results)
            .into_iter()
            .filter_map(|outcome| {
                let spread = Spread::of(&outcome.times_s)?;
                let point = Point {
                    x: 0.0,
                    y: ns(spread.median),
                    low: ns(spread.min),
                    high: ns(spread.max),
                };
                Some((outcome.contender.clone(), point))
            })
            .collect();
        let fastest = bars.iter().min_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
        let mut found = vec![format!(
            "The fastest is {}, with {} ns a key ({} Mkeys/s).",
            fastest.0,
            digits(fastest.1.y),
            digits(1e3 / fastest.1.y)
        )];
        // The reference of the paper: ShearSort with transpositions and rows in registers.
        let reference = BaseCase::Transpose.name();
        if let Some((_, paper)) = bars.iter().find(|(name, _)| name == reference) {
            let parts: Vec<String> = bars
                .iter()
                .filter(|(name, _)| name != reference)
                .map(|(name, point)| format!("{name} {}", digits(point.y / paper.y)))
                .collect();
            if !parts.is_empty() {
                found.push(format!(
                    "Compared with the time of {reference}, which is the paper's ShearSort with \
                     rows in registers, the others take: {} (1 is as long).",
                    parts.join(", ")
                ));
            }
        }
        let n = count(series.spec.count);
        Some(Drawing {
            title: "The base case".to_owned(),
            shows: format!(
                "The first phase of a sort of {n} random keys: every tile of 1024 keys (the long \
                 ones: of more) is sorted in workgroup memory and registers. Bars are the \
                 time of this phase alone."
            ),
            paper: "A chart of 2^25 keys in tiles of 1024, without numbers in the text: ShearSort \
                    is faster with rows and columns sorted in registers than in shared memory, and \
                    odd-even transposition sort, which has bank conflicts, shows what these cost."
                .to_owned(),
            found,
            charts: vec![(
                String::new(),
                Chart::Bars {
                    title: format!("Base case of {n} keys"),
                    x: Axis::new("time per key (ns)", Scale::Linear),
                    bars,
                },
            )],
            tables: vec![(
                String::new(),
                plain_times_table(self.name(), std::slice::from_ref(&series), results),
            )],
            notes: notes(std::slice::from_ref(&series), results),
        })
    }
}
