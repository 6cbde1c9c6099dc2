//! Colored prefix sums, the paper's opening example: the cost of bank conflicts.

use super::{add, notes_of};
use crate::experiment::csv::Table;
use crate::experiment::plot::{Axis, Chart, Line, Point, Scale};
use crate::experiment::series::{Metric, left_out};
use crate::experiment::state::{Outcome, Results};
use crate::experiment::stats::{Spread, count, digits, median};
use crate::experiment::{Drawing, Figure, Lab, Scope, Task};
use crate::measure::{Timed, filled, interleave, restore, submit};
use bcfsort_data::{Pattern, Range, Spec, generate};
use bcfsort_term::fault::Fault;
use bcfsort_testkit::recordings::{Coloring, Execution};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::prefix_sums::MOST_COLORS;
use wgpu_bcfsort::internals::prefix_sums::record_prefix_sums;
use wgpu_bcfsort::internals::recording::{Buffer, Phase};
use wgpu_bcfsort::internals::shader::MATRIX;
use wgpu_bcfsort::paper::{
    PrefixSums, PrefixSumsMethod, PrefixSumsOptions, PreparedPrefixSums, prefix_sums_on_cpu,
};
use wgpu_bcfsort::{Detail, Error, KeyType, wgpu};
use wgsl_lockstep::Config;

pub(crate) struct ColoredPrefixSums;

/// The measurement of one number of colors: both methods, interleaved.
struct Sums {
    n: u64,
    colors: u32,
    seed: u64,
}

/// The second part of an outcome's name, after the method: all phases, or the third.
const TOTAL: &str = "total";
const THIRD: &str = "phase three";

fn name(method: PrefixSumsMethod, what: &str) -> String {
    format!("{method}, {what}")
}

fn sums(scope: &Scope) -> Vec<Sums> {
    let (n, seed) = (scope.size(1 << 27), scope.seed);
    let step = if scope.quick { 5 } else { 1 };
    (1..=MOST_COLORS)
        .step_by(step)
        .map(|colors| Sums { n, colors, seed })
        .collect()
}

impl Sums {
    fn id(&self) -> String {
        format!("prefix sums {} u32 colors={}", self.n, self.colors)
    }

    fn options(&self, method: PrefixSumsMethod) -> PrefixSumsOptions {
        PrefixSumsOptions::default()
            .colors(self.colors)
            .method(method)
    }

    fn outcome<'a>(&self, results: &'a Results, name: &str) -> Option<&'a Outcome> {
        let part = results.get(&self.id())?;
        part.outcomes
            .iter()
            .find(|outcome| outcome.contender == name)
    }

    /// Cycles that the third phase loses to bank conflicts in a page of 1024 values. The lock-step
    /// executor counts them in the kernel itself.
    fn conflicts(&self, method: PrefixSumsMethod) -> Result<u64, Error> {
        let limits = DeviceLimits {
            buffer_bytes: 1 << 27,
            ..bcfsort_testkit::LIMITS
        };
        let recording = record_prefix_sums(MATRIX, KeyType::U32, &self.options(method), &limits);
        let mut execution = Execution::new(&recording, &[1; MATRIX as usize], Config::default());
        execution.set_buffer(Buffer::Colors, Coloring::Random.make(MATRIX, self.colors));
        let reports = execution.run()?;
        let third = reports
            .iter()
            .filter(|kernel| kernel.phase == Phase::PrefixSums);
        let banks = third.map(|kernel| kernel.report.banks());
        Ok(banks.map(|banks| banks.cycles - banks.min_cycles).sum())
    }

    fn measure(&self, lab: &mut Lab<'_>) -> Result<Vec<Outcome>, Fault> {
        use wgpu::BufferUsages as Usage;
        let made = |spec: Spec| generate(&spec).map_err(|error| Fault::Usage(error.to_string()));
        let values: Vec<u32> = made(Spec::new(Pattern::Random, self.n).seed(self.seed))?;
        let colors = Spec::new(Pattern::Random, self.n)
            .seed(self.seed + 1)
            .range(Range::Values {
                low: 0,
                high: i128::from(self.colors) - 1,
            });
        let colors: Vec<u32> = made(colors)?;
        let failed = |error: &Error| {
            PrefixSumsMethod::ALL
                .map(|method| left_out(&name(method, TOTAL), error))
                .into_iter()
                .collect()
        };
        let sorter = &lab.sorter;
        let buffers = || -> Result<_, Error> {
            let from = filled(sorter, "values", &values, Usage::COPY_SRC)?;
            let sums = filled(sorter, "sums", &values, Usage::STORAGE | Usage::COPY_SRC)?;
            let colors = filled(sorter, "colors", &colors, Usage::STORAGE)?;
            Ok((from, sums, colors))
        };
        let (from, to, by) = match buffers() {
            Ok(made) => made,
            Err(error) => return failed(&error),
        };
        let mut expected = values;
        prefix_sums_on_cpu(
            &mut expected,
            &colors,
            &self.options(PrefixSumsMethod::default()),
        )?;

        let engine = PrefixSums::new(sorter);
        let prepare =
            |method| engine.prepare(&to, &by, self.n, KeyType::U32, &self.options(method));
        let prepared =
            PrefixSumsMethod::ALL.map(|method| Ok::<_, Error>((method, prepare(method)?)));
        let prepared = prepared.into_iter().collect::<Result<Vec<_>, _>>()?;
        let run = |sums: &PreparedPrefixSums| {
            restore(sorter, &from, &to);
            sums.profile(Detail::Phases)
        };
        for (method, sums) in &prepared {
            run(sums)?;
            if !crate::measure::holds(sorter, &to, &expected)? {
                return Err(Fault::Device(format!(
                    "{method} prefix sums of {} values on {} are wrong: please report this",
                    self.n, lab.adapter
                )));
            }
        }
        let busy = |times| {
            submit(sorter, |encoder| {
                for _ in 0..times {
                    prepared[0].1.record(encoder);
                }
            });
        };
        let timed: Vec<_> = prepared.iter().map(|(_, sums)| || run(sums)).collect();
        let contenders: Vec<Timed<'_>> = timed.iter().map(|run| run as Timed<'_>).collect();
        let profiles = interleave(lab.pace, lab.scope.repeats, &busy, &contenders, |_| {})?;

        let mut outcomes = Vec::new();
        for (method, profiles) in PrefixSumsMethod::ALL.into_iter().zip(&profiles) {
            let outcome = |what, metric: Metric| metric.outcome(name(method, what), lab, profiles);
            outcomes.push(outcome(TOTAL, Metric::Sort));
            let mut of_third = outcome(THIRD, Metric::Phase(Phase::PrefixSums.name()));
            let conflicts = self.conflicts(method)? as f64;
            of_third.values.insert(CONFLICTS.to_owned(), conflicts);
            outcomes.push(of_third);
        }
        Ok(outcomes)
    }
}

const CONFLICTS: &str = "conflict cycles a page";

impl Task for Sums {
    fn what(&self) -> String {
        format!("{} values of {} colors", count(self.n), self.colors)
    }

    fn parts(&self, _peers: &[&str]) -> Vec<String> {
        vec![self.id()]
    }

    fn weight(&self) -> f64 {
        0.6 + self.n as f64 * 2e-8
    }

    fn run(&self, lab: &mut Lab<'_>) -> Result<(), Fault> {
        let outcomes = self.measure(lab)?;
        lab.state.keep(self.id(), outcomes, false)
    }
}

/// The lines of `what`, one of the two times.
fn lines(all: &[Sums], results: &Results, what: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for sums in all {
        for method in PrefixSumsMethod::ALL {
            let outcome = sums.outcome(results, &name(method, what));
            let Some(spread) = outcome.and_then(|outcome| Spread::of(&outcome.times_s)) else {
                continue;
            };
            let ns = |seconds: f64| seconds * 1e9 / sums.n as f64;
            let point = Point {
                x: f64::from(sums.colors),
                y: ns(spread.median),
                low: ns(spread.min),
                high: ns(spread.max),
            };
            add(&mut lines, method.name(), point);
        }
    }
    lines
}

fn conflicts(all: &[Sums], results: &Results) -> Vec<Line> {
    let mut lines = Vec::new();
    for sums in all {
        for method in PrefixSumsMethod::ALL {
            let outcome = sums.outcome(results, &name(method, THIRD));
            if let Some(cycles) = outcome.and_then(|outcome| outcome.value(CONFLICTS)) {
                add(
                    &mut lines,
                    method.name(),
                    Point::exact(f64::from(sums.colors), cycles),
                );
            }
        }
    }
    lines
}

fn table(figure: &str, all: &[Sums], results: &Results) -> Table {
    let mut table = Table::new([
        "figure",
        "values",
        "type",
        "colors",
        "method",
        "phases",
        "device",
        "clock",
        "min_s",
        "q1_s",
        "median_s",
        "q3_s",
        "max_s",
        "runs",
        "conflict_cycles_a_page",
        "verified",
    ]);
    for sums in all {
        for method in PrefixSumsMethod::ALL {
            for what in [TOTAL, THIRD] {
                let Some(outcome) = sums.outcome(results, &name(method, what)) else {
                    continue;
                };
                let Some(spread) = Spread::of(&outcome.times_s) else {
                    continue;
                };
                let seconds = |seconds: f64| format!("{seconds:e}");
                let conflicts = outcome.value(CONFLICTS);
                table.row([
                    figure.to_owned(),
                    sums.n.to_string(),
                    KeyType::U32.to_string(),
                    sums.colors.to_string(),
                    method.to_string(),
                    what.to_owned(),
                    outcome.device.clone(),
                    outcome.clock.clone(),
                    seconds(spread.min),
                    seconds(spread.q1),
                    seconds(spread.median),
                    seconds(spread.q3),
                    seconds(spread.max),
                    outcome.times_s.len().to_string(),
                    conflicts.map_or("-".to_owned(), |cycles| cycles.to_string()),
                    // Wrong sums end the run.
                    "true".to_owned(),
                ]);
            }
        }
    }
    table
}

/// The paper's finding.
const PAPER: &str = "With 2^29 values, the naive method's time grows with the number of colors, \
    and that of its third phase along with the number of bank conflicts; without them it is \
    constant.";

impl Figure for ColoredPrefixSums {
    fn name(&self) -> &'static str {
        "prefix-sums"
    }

    fn about(&self) -> &'static str {
        "colored prefix sums against the number of colors, with and without bank conflicts"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        let task = |sums| Box::new(sums) as Box<dyn Task>;
        sums(scope).into_iter().map(task).collect()
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let all = sums(scope);
        let (total, third) = (lines(&all, results, TOTAL), lines(&all, results, THIRD));
        if total.is_empty() {
            return None;
        }
        let growth = |sums: &[&Sums], method, what| -> Option<f64> {
            let of = |sums: &Sums| {
                let outcome = sums.outcome(results, &name(method, what))?;
                (!outcome.times_s.is_empty()).then(|| median(&outcome.times_s))
            };
            Some(of(sums.last()?)? / of(sums.first()?)?)
        };
        let measured: Vec<&Sums> = all
            .iter()
            .filter(|sums| {
                sums.outcome(results, &name(PrefixSumsMethod::Naive, TOTAL))
                    .is_some()
            })
            .collect();
        let mut found = Vec::new();
        for (what, phases) in [(TOTAL, "All three phases"), (THIRD, "Phase three")] {
            let of = PrefixSumsMethod::ALL
                .into_iter()
                .filter_map(|method| {
                    let growth = growth(&measured, method, what)?;
                    Some(format!("{} times with the {method} method", digits(growth)))
                })
                .collect::<Vec<_>>();
            if let (Some(first), Some(last)) = (measured.first(), measured.last()) {
                found.push(format!(
                    "{phases}: {} colors take, compared with {}, {} the time.",
                    last.colors,
                    first.colors,
                    of.join(" and ")
                ));
            }
        }
        let worst = measured.last().and_then(|sums| {
            let of = |method| {
                sums.outcome(results, &name(method, THIRD))?
                    .value(CONFLICTS)
            };
            Some((
                sums.colors,
                of(PrefixSumsMethod::Naive)?,
                of(PrefixSumsMethod::ConflictFree)?,
            ))
        });
        if let Some((colors, naive, free)) = worst {
            found.push(format!(
                "Counted on the kernels by the lock-step executor: with {colors} colors a page of \
                 1024 values takes {naive} cycles more than its accesses would without conflicts, \
                 and {free} with the conflict-free method."
            ));
        }
        let n = count(all.first()?.n);
        let chart = |title: String, y: Axis, lines| Chart::Lines {
            title,
            x: Axis::new("colors d", Scale::Linear),
            y,
            lines,
        };
        let ns = || Axis::new("time per value (ns)", Scale::Linear);
        Some(Drawing {
            title: "Colored prefix sums".to_owned(),
            shows: format!(
                "{n} values of random colors: d prefix sums, one for each color, in three phases. \
                 Both methods keep a sum for each lane and color in workgroup memory; the naive \
                 one goes through the sums where they lie, with all of its lanes in one bank, and \
                 the other transposes them first. The first chart is the time of all phases, the \
                 second that of phase three alone, the third its bank conflicts."
            ),
            paper: PAPER.to_owned(),
            found,
            charts: vec![
                (
                    "-total".to_owned(),
                    chart(format!("Colored prefix sums of {n} values"), ns(), total),
                ),
                (
                    "-phase-three".to_owned(),
                    chart(format!("Phase three, {n} values"), ns(), third),
                ),
                (
                    "-conflicts".to_owned(),
                    chart(
                        "Bank conflicts of phase three".to_owned(),
                        Axis::new("cycles for conflicts, a page of 1024", Scale::Linear),
                        conflicts(&all, results),
                    ),
                ),
            ],
            tables: vec![(String::new(), table(self.name(), &all, results))],
            notes: notes_of(all.iter().flat_map(|sums| {
                let part = results.get(&sums.id());
                part.into_iter()
                    .flat_map(|part| part.outcomes.iter().map(|outcome| (sums.n, outcome)))
            })),
        })
    }
}
