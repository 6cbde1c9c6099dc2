//! Time against n for one pattern: the paper's figures of random, distinct and 0-1 keys.

use super::{
    PIVOTS, PLAIN, curves, everyone, keys_axis, notes, ns_axis, ns_per_key, plain_times_table,
    ranking, ratios, tasks,
};
use crate::experiment::plot::{Axis, Chart, Scale};
use crate::experiment::series::Series;
use crate::experiment::state::Results;
use crate::experiment::stats::{count, digits, median};
use crate::experiment::{Drawing, Figure, Scope, Task};
use bcfsort_data::{Pattern, Spec};

/// A data set in all sizes.
pub(crate) struct Sweep {
    pattern: Pattern,
    about: &'static str,
    keys: &'static str,
    paper: &'static str,
}

pub(crate) static RANDOM: Sweep = Sweep {
    pattern: Pattern::Random,
    about: "time per key and runtime against n, random keys",
    keys: "random keys from 0 to 10^6",
    paper: "BCFMergesort beats Thrust's mergesort by up to 64 %, and loses 5 % to it on the \
            smallest input; the pivot buckets of BCFMergesortPB cost 6 %, and warpsort lies \
            between the two.",
};

pub(crate) static DISTINCT: Sweep = Sweep {
    pattern: Pattern::Distinct,
    about: "time per key and runtime against n, keys 1 to n shuffled",
    keys: "the keys 1 to n, shuffled",
    paper: "BCFMergesort beats Thrust's mergesort by up to 54 %; warpsort, with its random \
            splitters, is on a par with BCFMergesort and surpasses it on two inputs.",
};

pub(crate) static ZERO_ONE: Sweep = Sweep {
    pattern: Pattern::ZeroOne,
    about: "time per key and runtime against n, random zeros and ones",
    keys: "random zeros and ones",
    paper: "With pivot buckets nothing is left to do after the distribution: BCFMergesortPB beats \
            BCFMergesort by a factor of up to 15.5 and Thrust's mergesort by up to 2.7. warpsort \
            fails to sort these keys at all.",
};

/// The series of a pattern for each n. The fit of Lemma 2 uses them as well.
pub(crate) fn series(pattern: Pattern, scope: &Scope) -> Vec<Series> {
    scope
        .sizes()
        .into_iter()
        .map(|n| {
            let spec = Spec::new(pattern, n).seed(scope.seed);
            Series::sorts(spec, everyone(scope, n))
        })
        .collect()
}

impl Figure for Sweep {
    fn name(&self) -> &'static str {
        self.pattern.name()
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        tasks(series(self.pattern, scope))
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let series = series(self.pattern, scope);
        let n = |series: &Series| series.spec.count as f64;
        let lines = curves(&series, results, n, ns_per_key);
        let mut found = vec![series.iter().rev().find_map(|s| ranking(s, results))?];
        let pivots = ratios(&series, results, PIVOTS, PLAIN);
        let by_ratio = |a: &&(u64, f64), b: &&(u64, f64)| a.1.total_cmp(&b.1);
        if let (Some(least), Some(most)) = (
            pivots.iter().min_by(by_ratio),
            pivots.iter().max_by(by_ratio),
        ) {
            let all: Vec<f64> = pivots.iter().map(|(_, ratio)| *ratio).collect();
            found.push(format!(
                "{PIVOTS} takes {:.3} of {PLAIN}'s time in the median over n: least at {} keys \
                 ({:.3}), most at {} keys ({:.3}).",
                median(&all),
                count(least.0),
                least.1,
                count(most.0),
                most.1
            ));
        }
        let others: Vec<&str> = lines
            .iter()
            .map(|line| line.name.as_str())
            .filter(|name| ![PLAIN, PIVOTS].contains(name))
            .collect();
        let words: Vec<String> = others
            .iter()
            .filter_map(|other| {
                let ratios = ratios(&series, results, other, PIVOTS);
                let (least, most) = (
                    ratios.iter().min_by(by_ratio)?,
                    ratios.iter().max_by(by_ratio)?,
                );
                Some(format!(
                    "{other} {} to {} times (at {} and {} keys)",
                    digits(least.1),
                    digits(most.1),
                    count(least.0),
                    count(most.0)
                ))
            })
            .collect();
        if !words.is_empty() {
            found.push(format!(
                "Compared with {PIVOTS}'s time, the others take: {}.",
                words.join("; ")
            ));
        }
        let runtime = curves(&series, results, n, |_, seconds| seconds * 1e3);
        let name = self.name();
        Some(Drawing {
            title: format!("Time against n, {name} keys"),
            shows: format!(
                "How long a sort of {} takes, by the number of keys: per key, and in all.",
                self.keys
            ),
            paper: self.paper.to_owned(),
            found,
            charts: vec![
                (
                    String::new(),
                    Chart::Lines {
                        title: format!("Time per key, {name} keys"),
                        x: keys_axis(),
                        y: ns_axis(),
                        lines,
                    },
                ),
                (
                    "-runtime".to_owned(),
                    Chart::Lines {
                        title: format!("Runtime, {name} keys"),
                        x: keys_axis(),
                        y: Axis::new("runtime (ms)", Scale::Log10),
                        lines: runtime,
                    },
                ),
            ],
            tables: vec![(String::new(), plain_times_table(name, &series, results))],
            notes: notes(&series, results),
        })
    }
}
