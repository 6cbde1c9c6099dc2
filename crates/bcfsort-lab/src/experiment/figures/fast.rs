//! Beyond the paper: the fast engine and third-party sorters, interleaved.

use super::{Outcome, add, keys_axis, notes_of, ns_axis};
use crate::experiment::csv::Table;
use crate::experiment::plot::{Axis, Chart, Line, Point, Scale};
use crate::experiment::series::{Metric, left_out};
use crate::experiment::state::Results;
use crate::experiment::stats::{Spread, count, digits, median};
use crate::experiment::{Drawing, Figure, Lab, Scope, Task};
use crate::measure::Resident;
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::fault::Fault;
use rayon::slice::ParallelSliceMut;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::{Detail, Engine, KeyType, Options, SortKey};

pub(crate) struct Fast;

const OURS: &str = Engine::SampleSort.name();

/// Each contender's timed sorts are divided among this number of interleaved rounds, so that
/// changes during a run, as of clocks, affect all contenders alike.
const ROUNDS: u32 = 2;

/// Random keys, with which other data sets are compared: all bits are random.
const RANDOM: Pattern = Pattern::Full;

/// Orders of the same number of keys, sorted without peers.
const PATTERNS: [Pattern; 16] = [
    Pattern::Random,
    Pattern::Full,
    Pattern::Distinct,
    Pattern::ZeroOne,
    Pattern::Duplicates,
    Pattern::FewDistinct,
    Pattern::Zipf,
    Pattern::Narrow,
    Pattern::Constant,
    Pattern::Ascending,
    Pattern::Descending,
    Pattern::HalfSorted,
    Pattern::MostlySorted,
    Pattern::Saws,
    Pattern::OrganPipe,
    Pattern::Runs,
];

/// One data set.
#[derive(Clone, Debug)]
struct Row {
    spec: Spec,
    key: KeyType,
    payload: PayloadKind,
    peers: bool,
}

impl Row {
    /// A unique description.
    fn name(&self) -> String {
        let pairs = match self.payload {
            PayloadKind::None => "",
            PayloadKind::Indices => " indices",
            PayloadKind::Values => " pairs",
        };
        let (n, pattern) = (count(self.spec.count), self.spec.pattern);
        format!("{n} {}{pairs} {pattern}", self.key)
    }

    fn prefix(&self) -> String {
        let (n, key, payload) = (self.spec.count, self.key, self.payload.name());
        format!("fast {n} {key} {payload} {} with ", self.spec.pattern)
    }

    fn id(&self, peers: &[&str]) -> String {
        let peers = if self.peers { peers } else { &[] };
        format!("{}{}", self.prefix(), peers.join(","))
    }

    /// The results. If there are several runs with different peers, the one with the most outcomes.
    fn outcomes<'a>(&self, results: &'a Results) -> &'a [Outcome] {
        results
            .starting_with(self.prefix())
            .max_by_key(|part| part.outcomes.len())
            .map_or(&[], |part| &part.outcomes)
    }

    fn ours(&self, results: &Results) -> Option<f64> {
        let outcomes = self.outcomes(results).iter();
        let mut ours = outcomes.filter(|o| o.contender == OURS && !o.times_s.is_empty());
        ours.next().map(|outcome| median(&outcome.times_s))
    }

    fn measure<T: SortKey>(&self, lab: &mut Lab<'_>) -> Result<Vec<Outcome>, Fault> {
        let what = self.name();
        lab.tell(|| format!("{what}: making keys"));
        let input: Vec<T> =
            generate(&self.spec).map_err(|error| Fault::Usage(error.to_string()))?;
        let mut expected = input.clone();
        expected.par_sort_unstable_by(T::total_order);
        let files = (self.peers && !lab.peers.list.is_empty())
            .then(|| lab.peers.files(&input, &expected))
            .transpose()?;

        let options = Options::default().engine(Engine::SampleSort);
        let sorter = lab.sorter.with_options(options)?;
        let resident = Resident::upload_with_payload(&sorter, &input, self.payload);
        let resident = match resident {
            Ok(resident) => resident,
            Err(error) => return Ok(vec![left_out(OURS, &error)?]),
        };
        lab.tell(|| format!("{what}: checking"));
        resident.sort(&sorter)?;
        let bytes = bytemuck::cast_slice::<T, u8>;
        if !resident.holds_result(bytes(&input), bytes(&expected))? {
            return Err(Fault::Device(format!(
                "{OURS} on {} sorts {what} wrong: please report this",
                lab.adapter
            )));
        }
        let repeats = lab.scope.repeats.div_ceil(ROUNDS);
        let mut profiles = Vec::new();
        let mut found: Vec<Outcome> = Vec::new();
        for round in 1..=ROUNDS {
            lab.tell(|| format!("{what}: round {round} of {ROUNDS}"));
            let timed =
                resident.interleaved(&[&sorter], Detail::Whole, repeats, lab.pace, |_| {})?;
            profiles.extend(timed.into_iter().flatten());
            let Some(files) = &files else { continue };
            for i in 0..lab.peers.list.len() {
                let name = lab.peers.list[i].name.clone();
                lab.tell(|| format!("{what}: round {round} of {ROUNDS}, {name}"));
                let (key, payload, n) = (self.key, self.payload, input.len());
                let measured = lab.peers.run(i, files, key, payload, n, repeats);
                measured
                    .outcomes
                    .into_iter()
                    .for_each(|o| join(&mut found, o));
            }
        }
        let mut outcomes = vec![Metric::Sort.outcome(OURS, lab, &profiles)];
        outcomes.extend(found);
        Ok(outcomes)
    }
}

/// Appends the times of a round to those of earlier rounds. If a round failed, only its error is
/// kept.
fn join(found: &mut Vec<Outcome>, round: Outcome) {
    let Some(before) = found.iter_mut().find(|o| o.contender == round.contender) else {
        found.push(round);
        return;
    };
    if before.error.is_none() && round.error.is_none() {
        before.times_s.extend(round.times_s);
    } else if before.error.is_none() {
        *before = round;
    }
}

impl Task for Row {
    fn what(&self) -> String {
        self.name()
    }

    fn parts(&self, peers: &[&str]) -> Vec<String> {
        vec![self.id(peers)]
    }

    fn weight(&self) -> f64 {
        let peers = if self.peers { 8.0 } else { 1.0 };
        peers + self.spec.count as f64 * 3e-8
    }

    fn run(&self, lab: &mut Lab<'_>) -> Result<(), Fault> {
        let outcomes = match self.key {
            KeyType::U64 => self.measure::<u64>(lab)?,
            _ => self.measure::<u32>(lab)?,
        };
        let id = self.id(&lab.peers.names());
        lab.state.keep(id, outcomes, false)
    }
}

/// Random 32-bit keys in all sizes.
fn sweep(scope: &Scope) -> Vec<Row> {
    let sizes = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28].map(|log| 1u64 << log);
    let row = |n| row(scope, n, KeyType::U32, PayloadKind::None, RANDOM);
    let all = sizes.into_iter().filter(|&n| n <= scope.size(1 << 28));
    all.map(row).collect()
}

fn row(scope: &Scope, n: u64, key: KeyType, payload: PayloadKind, pattern: Pattern) -> Row {
    Row {
        spec: Spec::new(pattern, n).seed(scope.seed),
        key,
        payload,
        peers: true,
    }
}

/// The other data sets that peers sort.
fn others(scope: &Scope) -> Vec<Row> {
    let mut rows = Vec::new();
    for log in [20, 24, 26] {
        let n = scope.size(1 << log);
        // Indices: a stable sort of keys with their indices. Peers sort pairs.
        for payload in [PayloadKind::Values, PayloadKind::Indices] {
            rows.push(row(scope, n, KeyType::U32, payload, RANDOM));
        }
        rows.push(row(scope, n, KeyType::U64, PayloadKind::None, RANDOM));
    }
    let n = Spec::new(Pattern::Adversary, scope.size(35_651_584)).fitting_count();
    if n > 0 {
        for pattern in [Pattern::Distinct, Pattern::Adversary] {
            rows.push(row(scope, n, KeyType::U32, PayloadKind::None, pattern));
        }
    }
    rows.dedup_by_key(|row| row.prefix());
    rows
}

/// One number of keys in various orders.
fn patterns(scope: &Scope) -> Vec<Row> {
    let n = scope.size(1 << 25);
    let row = |pattern| Row {
        peers: false,
        ..row(scope, n, KeyType::U32, PayloadKind::None, pattern)
    };
    PATTERNS.into_iter().map(row).collect()
}

fn rows(scope: &Scope) -> Vec<Row> {
    let mut rows = sweep(scope);
    for row in others(scope).into_iter().chain(patterns(scope)) {
        if rows.iter().all(|there| there.prefix() != row.prefix()) {
            rows.push(row);
        }
    }
    rows
}

impl Figure for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn about(&self) -> &'static str {
        "the fast engine against other people's sorters, interleaved: keys, pairs, sizes, orders"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        let task = |row| Box::new(row) as Box<dyn Task>;
        rows(scope).into_iter().map(task).collect()
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let rows = rows(scope);
        let table = table(self.name(), &rows, results);
        if table.rows.is_empty() {
            return None;
        }
        let mut lines: Vec<Line> = Vec::new();
        for row in sweep(scope) {
            for outcome in row.outcomes(results) {
                if let Some(spread) = Spread::of(&outcome.times_s) {
                    let n = row.spec.count as f64;
                    let ns = |seconds: f64| seconds * 1e9 / n;
                    let point = Point {
                        x: n,
                        y: ns(spread.median),
                        low: ns(spread.min),
                        high: ns(spread.max),
                    };
                    add(&mut lines, &outcome.contender, point);
                }
            }
        }
        let mut charts = Vec::new();
        if !lines.is_empty() {
            charts.push((
                String::new(),
                Chart::Lines {
                    title: "Time per key, random 32-bit keys".to_owned(),
                    x: keys_axis(),
                    y: ns_axis(),
                    lines,
                },
            ));
        }
        let orders: Vec<(String, Point)> = patterns(scope)
            .iter()
            .filter_map(|row| {
                let ms = row.ours(results)? * 1e3;
                Some((row.spec.pattern.to_string(), Point::exact(0.0, ms)))
            })
            .collect();
        if !orders.is_empty() {
            charts.push((
                "-orders".to_owned(),
                Chart::Bars {
                    title: format!("{} keys in any order", count(scope.size(1 << 25))),
                    x: Axis::new("runtime (ms)", Scale::Linear),
                    bars: orders.clone(),
                },
            ));
        }
        let mut found: Vec<String> = rows
            .iter()
            .filter_map(|row| describe(row, results))
            .collect();
        found.extend(slowest(&orders));
        if found.is_empty() {
            found.push("Nobody else has been measured.".to_owned());
        }
        let outcomes = rows.iter().flat_map(|row| {
            let outcomes = row.outcomes(results).iter();
            outcomes.map(move |outcome| (row.spec.count, outcome))
        });
        Some(Drawing {
            title: "The fast engine".to_owned(),
            shows: format!(
                "How long {OURS} takes, as a whole, in one compute pass, and how long others take \
                 for the same keys, or pairs of a key and a 32-bit value. The measurements are \
                 interleaved: {ROUNDS} rounds, with half of the timed sorts in each."
            ),
            paper: "Not in the paper.".to_owned(),
            found,
            charts,
            tables: vec![(String::new(), table)],
            notes: notes_of(outcomes),
        })
    }
}

fn table(figure: &str, rows: &[Row], results: &Results) -> Table {
    let mut table = Table::new([
        "figure",
        "keys",
        "type",
        "moves",
        "pattern",
        "contender",
        "device",
        "clock",
        "min_s",
        "median_s",
        "max_s",
        "runs",
        "ns_per_key",
        "of_sample_sort",
        "verified",
    ]);
    for row in rows {
        for outcome in row.outcomes(results) {
            let Some(spread) = Spread::of(&outcome.times_s) else {
                continue;
            };
            let seconds = |seconds: f64| format!("{seconds:e}");
            let ratio = row.ours(results).map(|ours| spread.median / ours);
            table.row([
                figure.to_owned(),
                row.spec.count.to_string(),
                row.key.to_string(),
                row.payload.name().to_owned(),
                row.spec.pattern.to_string(),
                outcome.contender.clone(),
                outcome.device.clone(),
                outcome.clock.clone(),
                seconds(spread.min),
                seconds(spread.median),
                seconds(spread.max),
                outcome.times_s.len().to_string(),
                format!("{:.5}", spread.median * 1e9 / row.spec.count as f64),
                ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
                // Unverified results are left out.
                "true".to_owned(),
            ]);
        }
    }
    table
}

/// Describes a data set that peers sorted, too: "2^26 u32 random: sample-sort 2.65 ms. The others,
/// 1 being as long: cub-merge 1.10, ...".
fn describe(row: &Row, results: &Results) -> Option<String> {
    let ours = row.ours(results)?;
    let mut others: Vec<(&str, f64)> = row
        .outcomes(results)
        .iter()
        .filter(|outcome| outcome.contender != OURS && !outcome.times_s.is_empty())
        .map(|outcome| (outcome.contender.as_str(), median(&outcome.times_s) / ours))
        .collect();
    if others.is_empty() {
        return None;
    }
    others.sort_by(|a, b| a.1.total_cmp(&b.1));
    let others: Vec<String> = others
        .iter()
        .map(|(name, ratio)| format!("{name} {}", digits(*ratio)))
        .collect();
    Some(format!(
        "{}: {OURS} {} ms. The others, 1 being as long: {}.",
        row.name(),
        digits(ours * 1e3),
        others.join(", ")
    ))
}

/// Compares the slowest order with random order.
fn slowest(orders: &[(String, Point)]) -> Option<String> {
    let random = orders.iter().find(|(name, _)| name == RANDOM.name())?;
    let slowest = orders.iter().max_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    Some(format!(
        "Of {} orders the slowest is {}, with {:.3} times the time of random keys.",
        orders.len(),
        slowest.0,
        slowest.1.y / random.1.y
    ))
}
