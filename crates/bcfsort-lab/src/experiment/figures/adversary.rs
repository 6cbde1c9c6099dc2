//! Beyond the paper: the order of keys with the most bank conflicts in serial merges.

use super::{
    PIVOTS, PLAIN, curves, keys_axis, median_of, notes, ns_axis, ns_per_key, plain_times_table,
    tasks,
};
use crate::experiment::plot::{Axis, Chart, Line, Point, Scale};
use crate::experiment::series::{Contender, Series};
use crate::experiment::state::Results;
use crate::experiment::stats::{count, digits};
use crate::experiment::{Drawing, Figure, Scope, Task};
use bcfsort_data::{Pattern, Spec};

pub(crate) struct Adversary;

/// The keys 1 to n in random and in adversarial order, for each n that has an adversarial order.
fn pairs(scope: &Scope) -> Vec<[Series; 2]> {
    let mut counts: Vec<u64> = scope
        .sizes()
        .into_iter()
        .map(|n| Spec::new(Pattern::Adversary, n).fitting_count())
        .filter(|&n| n > 0)
        .collect();
    counts.dedup();
    counts
        .into_iter()
        .map(|n| {
            [Pattern::Distinct, Pattern::Adversary].map(|pattern| {
                let spec = Spec::new(pattern, n).seed(scope.seed);
                Series::sorts(spec, Contender::engines())
            })
        })
        .collect()
}

impl Figure for Adversary {
    fn name(&self) -> &'static str {
        "adversary"
    }

    fn about(&self) -> &'static str {
        "time per key on the order with the most bank conflicts for serial merges, and on random \
         order"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        tasks(pairs(scope).into_iter().flatten().collect())
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let pairs = pairs(scope);
        let (random, adverse): (Vec<Series>, Vec<Series>) = pairs
            .iter()
            .cloned()
            .map(|[random, adverse]| (random, adverse))
            .unzip();
        let n = |series: &Series| series.spec.count as f64;
        let mut lines = curves(&random, results, n, ns_per_key);
        let contenders: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
        for line in &mut lines {
            line.name += ", random";
        }
        for line in curves(&adverse, results, n, ns_per_key) {
            let style = contenders.iter().position(|name| *name == line.name);
            lines.push(
                Line {
                    name: format!("{}, adverse", line.name),
                    style: style.unwrap_or(contenders.len()),
                    ..line
                }
                .dashed(),
            );
        }
        if lines.is_empty() {
            return None;
        }
        let mut slowdowns: Vec<Line> = Vec::new();
        for (style, name) in contenders.iter().enumerate() {
            let ratio = |[random, adverse]: &[Series; 2]| {
                let adverse_time = median_of(adverse, results, name)?;
                let ratio = adverse_time / median_of(random, results, name)?;
                Some(Point::exact(n(random), ratio))
            };
            let points: Vec<Point> = pairs.iter().filter_map(ratio).collect();
            if !points.is_empty() {
                slowdowns.push(Line::new(name, style, points));
            }
        }
        let found = if slowdowns.is_empty() {
            vec!["Not both orders have been measured.".to_owned()]
        } else {
            slowdowns.iter().filter_map(describe).collect()
        };
        let all: Vec<Series> = pairs.into_iter().flatten().collect();
        let mut charts = vec![(
            String::new(),
            Chart::Lines {
                title: "Time per key, random and adversarial order".to_owned(),
                x: keys_axis(),
                y: ns_axis(),
                lines,
            },
        )];
        if !slowdowns.is_empty() {
            charts.push((
                "-ratio".to_owned(),
                Chart::Lines {
                    title: "Adversarial against random order".to_owned(),
                    x: keys_axis(),
                    y: Axis::new("time, adversarial / random", Scale::Log10),
                    lines: slowdowns,
                },
            ));
        }
        Some(Drawing {
            title: "The adversary".to_owned(),
            shows: "The keys 1 to n in random order, and in an order made so that in nearly every \
                    merge of a sort whose lanes merge 17 keys each from workgroup memory, as CUB's \
                    and Thrust's merge sorts do, most lanes of a warp read the same bank (after \
                    Berney and Sitchinava, IPDPS 2020). The keys are the same, and only their \
                    order differs."
                .to_owned(),
            paper: "Not in the paper, which promises that no order of the keys causes bank \
                    conflicts in its sort."
                .to_owned(),
            found,
            charts,
            tables: vec![(String::new(), plain_times_table(self.name(), &all, results))],
            notes: notes(&all, results),
        })
    }
}

/// The effect of the adversary on one contender.
fn describe(line: &Line) -> Option<String> {
    let by_ratio = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
    let (least, most) = (
        line.points.iter().min_by(by_ratio)?,
        line.points.iter().max_by(by_ratio)?,
    );
    let kind = if [PLAIN, PIVOTS].contains(&line.name.as_str()) {
        ", in whose merges no order of the keys causes conflicts,"
    } else {
        ""
    };
    Some(format!(
        "{}{kind} takes {} to {} times as long on the adversary as on random order (at {} and {} \
         keys).",
        line.name,
        digits(least.y),
        digits(most.y),
        count(least.x as u64),
        count(most.x as u64)
    ))
}
