//! Passes over memory and times, compared with Lemma 2.

use super::{keys_axis, notes, sweep, tasks};
use crate::experiment::csv::Table;
use crate::experiment::plot::{Axis, Chart, Line, NEUTRAL, Point, Scale};
use crate::experiment::series::{Key, Series};
use crate::experiment::state::Results;
use crate::experiment::stats::{Spread, count, digits};
use crate::experiment::{Drawing, Figure, Scope, Task};
use bcfsort_data::Pattern;
use bcfsort_testkit::PaperOptions;
use std::collections::BTreeSet;
use wgpu_bcfsort::internals::mergesort::Plan;
use wgpu_bcfsort::internals::shader::{MATRIX, W};
use wgpu_bcfsort::{Engine, Options, SortKey};

pub(crate) struct Passes;

/// The smallest n of the fit: shorter sorts depend too much on the time to start one.
const LONG: u64 = 1 << 20;

/// The lemma's N/w (1 + log^2(w) log(N/w)). Its P, the number of multiprocessors, is constant for a
/// device, and so part of the fitted constant.
fn work(n: u64) -> f64 {
    let (n, w) = (n as f64, f64::from(W));
    n / w * (1.0 + w.log2().powi(2) * (n / w).log2())
}

/// Fits the constant c of the model c * work(n) by least squares of logarithms, so that a factor
/// counts the same for small and for large n.
fn fit(points: &[(u64, f64)]) -> Option<f64> {
    let logarithms = points.iter().map(|&(n, time)| (time / work(n)).ln());
    (!points.is_empty()).then(|| (logarithms.sum::<f64>() / points.len() as f64).exp())
}

/// An engine's times, and the fitted lemma.
struct Fitted {
    engine: Engine,
    style: usize,
    sizes: Vec<Size>,
    constant: f64,
    /// The number of points fitted: those with the largest n.
    long: usize,
}

struct Size {
    n: u64,
    passes: u32,
    time: Spread,
}

impl Size {
    /// Bytes per second: each pass reads and writes every key.
    fn bandwidth(&self) -> f64 {
        let bytes = self.n * <Key as SortKey>::KEY_TYPE.bytes();
        2.0 * f64::from(self.passes) * bytes as f64 / self.time.median
    }
}

impl Fitted {
    fn new(engine: Engine, style: usize, scope: &Scope, results: &Results) -> Option<Self> {
        let sizes: Vec<Size> = series(scope)
            .iter()
            .filter_map(|series| {
                let n = series.spec.count;
                let options = Options::default().engine(engine).buckets(scope.buckets(n));
                let outcome = series.outcome(results, engine.name())?;
                Some(Size {
                    n,
                    passes: Plan::new(
                        n as u32,
                        <Key as SortKey>::KEY_TYPE,
                        options.mergesort.parameters(options.engine),
                    )
                    .passes(),
                    time: Spread::of(&outcome.times_s)?,
                })
            })
            .collect();
        let long = sizes.iter().filter(|size| size.n >= LONG).count();
        let long = if long < 2 { sizes.len() } else { long };
        let points: Vec<(u64, f64)> = sizes[sizes.len() - long..]
            .iter()
            .map(|size| (size.n, size.time.median))
            .collect();
        Some(Self {
            engine,
            style,
            constant: fit(&points)?,
            sizes,
            long,
        })
    }

    /// The sizes that the lemma is fitted to.
    fn fitted(&self) -> &[Size] {
        &self.sizes[self.sizes.len() - self.long..]
    }

    /// The deviation of the measured time from the lemma's, in percent.
    fn residual(&self, n: u64, seconds: f64) -> f64 {
        (seconds / (self.constant * work(n)) - 1.0) * 100.0
    }

    fn rows(&self, figure: &str, table: &mut Table) {
        let first = self.fitted().first().map_or(0, |size| size.n);
        for size in &self.sizes {
            table.row([
                figure.to_owned(),
                size.n.to_string(),
                <Key as SortKey>::KEY_TYPE.to_string(),
                self.engine.to_string(),
                size.passes.to_string(),
                format!("{:.4}", 1.0 + lemma_passes(size.n)),
                format!("{:e}", size.time.median),
                format!("{:e}", self.constant * work(size.n)),
                format!("{:.3}", self.residual(size.n, size.time.median)),
                (size.n >= first).to_string(),
                format!("{:.4}", size.bandwidth() / 1e9),
            ]);
        }
    }

    fn line(&self, point: impl Fn(&Size) -> Point) -> Line {
        let points = self.sizes.iter().map(point).collect();
        Line::new(self.engine.name(), self.style, points)
    }

    fn passes(&self) -> Line {
        self.line(|size| Point::exact(size.n as f64, f64::from(size.passes)))
    }

    /// The measured times and the lemma's, in milliseconds.
    fn times(&self) -> [Line; 2] {
        let measured = self.line(|size| Point {
            x: size.n as f64,
            y: size.time.median * 1e3,
            low: size.time.min * 1e3,
            high: size.time.max * 1e3,
        });
        let lemma = |size: &Size| Point::exact(size.n as f64, self.constant * work(size.n) * 1e3);
        let mut lemma = self.line(lemma).model();
        lemma.name = format!("Lemma 2 for {}", self.engine);
        [measured, lemma]
    }

    fn residuals(&self) -> Line {
        self.line(|size| Point {
            x: size.n as f64,
            y: self.residual(size.n, size.time.median),
            low: self.residual(size.n, size.time.min),
            high: self.residual(size.n, size.time.max),
        })
    }

    fn describe(&self) -> Option<String> {
        let off = |size: &Size| (size.n, self.residual(size.n, size.time.median));
        let worst = self
            .fitted()
            .iter()
            .map(off)
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let (first, last) = (self.fitted().first()?, self.sizes.last()?);
        Some(format!(
            "{}: T = {} ns · n/w (1 + log²(w) log(n/w)), fitted to the {} of {} sizes from {} \
             keys on. Of these, {} keys lie furthest off, by {:+.1} %. At {} keys it makes {} \
             passes, and moves {} GB a second through them.",
            self.engine,
            digits(self.constant * 1e9),
            self.long,
            self.sizes.len(),
            count(first.n),
            count(worst.0),
            worst.1,
            count(last.n),
            last.passes,
            digits(last.bandwidth() / 1e9)
        ))
    }
}

fn series(scope: &Scope) -> Vec<Series> {
    sweep::series(Pattern::Distinct, scope)
}

/// log2(N/M), the lemma's number of passes without its constant.
fn lemma_passes(n: u64) -> f64 {
    (n as f64 / f64::from(MATRIX)).log2().max(0.0)
}

impl Figure for Passes {
    fn name(&self) -> &'static str {
        "passes"
    }

    fn about(&self) -> &'static str {
        "passes over memory and time against n, with Lemma 2 fitted and the residuals"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        tasks(series(scope))
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let fitted: Vec<Fitted> = Engine::MERGESORTS
            .into_iter()
            .enumerate()
            .filter_map(|(style, engine)| Fitted::new(engine, style, scope, results))
            .collect();
        let sizes = fitted.iter().flat_map(|fit| &fit.sizes).map(|size| size.n);
        let sizes: BTreeSet<u64> = sizes.collect();
        if sizes.is_empty() {
            return None;
        }
        let model = |name: &str, y: fn(u64) -> f64| {
            let points = sizes
                .iter()
                .map(|&n| Point::exact(n as f64, y(n)))
                .collect();
            Line::new(name, NEUTRAL, points).model()
        };
        let chart = |suffix: &str, title: &str, y: Axis, lines| {
            let chart = Chart::Lines {
                title: title.to_owned(),
                x: keys_axis(),
                y,
                lines,
            };
            (suffix.to_owned(), chart)
        };
        let mut of_passes: Vec<Line> = fitted.iter().map(Fitted::passes).collect();
        of_passes.push(model("1 + log2(n / M)", |n| 1.0 + lemma_passes(n)));
        let of_times: Vec<Line> = fitted.iter().flat_map(Fitted::times).collect();
        let mut of_residuals: Vec<Line> = fitted.iter().map(Fitted::residuals).collect();
        of_residuals.push(model("Lemma 2", |_| 0.0));
        let mut table = Table::new([
            "figure",
            "keys",
            "type",
            "engine",
            "passes",
            "lemma_passes",
            "median_s",
            "lemma_s",
            "residual_percent",
            "fitted",
            "gb_per_s",
        ]);
        for fit in &fitted {
            fit.rows(self.name(), &mut table);
        }
        let mut found: Vec<String> = fitted.iter().filter_map(Fitted::describe).collect();
        found.push(
            "Passes beyond 1 + log2(n/M) are the distribution's, or the one that makes the number \
             of rounds even where the result must end in the buffer of the keys. What small inputs \
             take beyond the lemma is the time to start their dispatches, which it does not count."
                .to_owned(),
        );
        Some(Drawing {
            title: "Passes over memory, and Lemma 2".to_owned(),
            shows: "How often a sort reads and writes all keys, by its plan; and its time on \
                    distinct keys against the lemma's expression, with one constant fitted for \
                    each engine, which takes in the lemma's P. The residuals are what the measured \
                    time has beyond the fitted one."
                .to_owned(),
            paper: "Lemma 2: BCFMergesort takes O(N/(P w) (1 + log²(w) log(N/w))) time, and O(1 + \
                    log(N/M)) parallel scans of the data in global memory."
                .to_owned(),
            found,
            charts: vec![
                chart(
                    "",
                    "Passes over memory",
                    Axis::new("passes", Scale::Linear),
                    of_passes,
                ),
                chart(
                    "-time",
                    "Time against Lemma 2",
                    Axis::new("runtime (ms)", Scale::Log10),
                    of_times,
                ),
                chart(
                    "-residuals",
                    "Residuals of Lemma 2",
                    Axis::new("measured beyond fitted (%)", Scale::Linear),
                    of_residuals,
                ),
            ],
            tables: vec![(String::new(), table)],
            notes: notes(&series(scope), results),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_is_found() {
        let points: Vec<(u64, f64)> = (10..20)
            .map(|log| (1 << log, 3e-9 * work(1 << log)))
            .collect();
        assert!((fit(&points).unwrap_or(0.0) / 3e-9 - 1.0).abs() < 1e-9);
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn the_work_is_the_lemmas() {
        // w = 32: n/w = 32, log2(n/w) = 5.
        assert!((work(1024) - 32.0 * (1.0 + 25.0 * 5.0)).abs() < 1e-9);
    }
}
