//! Scratch memory, and the largest input.

use super::{add, keys_axis, sweep, tasks};
use crate::experiment::csv::Table;
use crate::experiment::plot::{Axis, Chart, Line, NEUTRAL, Point, Scale};
use crate::experiment::series::{Key, Series, left_out};
use crate::experiment::state::{Outcome, Results};
use crate::experiment::stats::{bytes, count, digits};
use crate::experiment::{Drawing, Figure, Lab, Scope, Task};
use crate::measure::{buffer, scratch_size};
use bcfsort_data::Pattern;
use bcfsort_term::fault::Fault;
use wgpu_bcfsort::{Engine, Error, KeyType, Keys, Options, Order, SortJob, SortKey, Sorter, wgpu};

pub(crate) struct Memory;

const KEY: KeyType = <Key as SortKey>::KEY_TYPE;

/// Names of values of an outcome.
const SCRATCH: &str = "scratch_bytes";
const MOST: &str = "most_keys_of_a_buffer";
const HELD: &str = "most_keys_held";

/// The scratch memory of one engine for each n, and its largest input.
struct Sizes {
    engine: Engine,
    sizes: Vec<u64>,
}

impl Sizes {
    fn scratch_id(&self, n: u64) -> String {
        format!("scratch {} {n} {KEY}", self.engine)
    }

    fn largest_id(&self) -> String {
        format!("largest input {} {KEY}", self.engine)
    }

    fn sorter(&self, lab: &Lab<'_>) -> Result<Sorter, Error> {
        lab.sorter
            .with_options(Options::default().engine(self.engine))
    }

    fn outcome(
        &self,
        lab: &Lab<'_>,
        values: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Outcome {
        Outcome {
            contender: self.engine.name().to_owned(),
            device: lab.adapter.clone(),
            values: values
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value as f64))
                .collect(),
            ..Outcome::default()
        }
    }
}

/// True if the device has memory for `n` keys and the scratch memory of their sort. Buffers are
/// created, but nothing is sorted: a sort of this size would take long without showing more.
fn holds(sorter: &Sorter, n: u64) -> Result<bool, Error> {
    use wgpu::BufferUsages as Usage;
    let made = buffer(
        sorter,
        "largest",
        n * KEY.bytes(),
        Usage::STORAGE | Usage::COPY_DST,
    )
    .and_then(|keys| {
        SortJob::new(Keys::new(&keys, KEY), n)
            .order(Order::Ascending)
            .prepare(sorter)
            .map(drop)
    });
    // Frees the dropped buffers.
    let _ = sorter.device().poll(wgpu::PollType::wait_indefinitely());
    match made {
        Ok(()) => Ok(true),
        Err(Error::OutOfMemory { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The largest input that fits in memory, to within a sixteenth.
fn most_held(sorter: &Sorter) -> Result<u64, Error> {
    let most = sorter.max_len(KEY);
    if holds(sorter, most)? {
        return Ok(most);
    }
    let mut refused = most;
    let mut held = most / 2;
    while held > 1 << 10 && !holds(sorter, held)? {
        refused = held;
        held /= 2;
    }
    for _ in 0..3 {
        let middle = held.midpoint(refused);
        if holds(sorter, middle)? {
            held = middle;
        } else {
            refused = middle;
        }
    }
    Ok(held)
}

impl Task for Sizes {
    fn what(&self) -> String {
        format!("{}: scratch memory", self.engine)
    }

    fn parts(&self, _peers: &[&str]) -> Vec<String> {
        let scratch = self.sizes.iter().map(|&n| self.scratch_id(n));
        scratch.chain([self.largest_id()]).collect()
    }

    fn weight(&self) -> f64 {
        0.5
    }

    fn run(&self, lab: &mut Lab<'_>) -> Result<(), Fault> {
        let sorter = match self.sorter(lab) {
            Ok(sorter) => sorter,
            Err(error) => {
                let failed = left_out(self.engine.name(), &error)?;
                return lab.state.keep(self.largest_id(), vec![failed], false);
            }
        };
        for &n in &self.sizes {
            let id = self.scratch_id(n);
            if lab.state.lacks(&id) {
                let outcome = match scratch_size(&sorter, n, KEY) {
                    Ok(bytes) => self.outcome(lab, [(SCRATCH, bytes)]),
                    Err(error) => left_out(self.engine.name(), &error)?,
                };
                lab.state.keep(id, vec![outcome], false)?;
            }
        }
        if lab.state.lacks(&self.largest_id()) {
            let most = sorter.max_len(KEY);
            let outcome = match most_held(&sorter) {
                Ok(held) => self.outcome(lab, [(MOST, most), (HELD, held)]),
                Err(error) => left_out(self.engine.name(), &error)?,
            };
            lab.state.keep(self.largest_id(), vec![outcome], false)?;
        }
        Ok(())
    }
}

fn engines(scope: &Scope) -> impl Iterator<Item = Sizes> {
    let sizes = scope.sizes();
    Engine::MERGESORTS.into_iter().map(move |engine| Sizes {
        engine,
        sizes: sizes.clone(),
    })
}

/// The series with the scratch sizes of peers, which report them with their times.
fn peers_series(scope: &Scope) -> Vec<Series> {
    sweep::series(Pattern::Random, scope)
}

/// The scratch bytes of all contenders that report them, by n.
fn measured<'a>(scope: &Scope, results: &'a Results) -> Vec<(&'a str, u64, f64)> {
    let mut all = Vec::new();
    for sizes in engines(scope) {
        for &n in &sizes.sizes {
            let part = results.get(&sizes.scratch_id(n)).into_iter();
            let outcomes = part.flat_map(|part| &part.outcomes);
            all.extend(outcomes.filter_map(|outcome| {
                Some((outcome.contender.as_str(), n, outcome.value(SCRATCH)?))
            }));
        }
    }
    for series in peers_series(scope) {
        all.extend(series.outcomes(results).into_iter().filter_map(|outcome| {
            let bytes = outcome.value(SCRATCH)?;
            Some((outcome.contender.as_str(), series.spec.count, bytes))
        }));
    }
    all
}

/// Describes the largest input of one engine.
fn describe_largest(outcome: &Outcome) -> Option<String> {
    let (most, held) = (outcome.value(MOST)?, outcome.value(HELD)?);
    let keys = |keys: f64| format!("{} keys", count(keys as u64));
    let limit = if held >= most {
        "all that one buffer of this device may hold".to_owned()
    } else {
        format!("while one buffer of this device might hold {}", keys(most))
    };
    Some(format!(
        "{} gets memory for {} ({}), {limit}.",
        outcome.contender,
        keys(held),
        bytes(held * KEY.bytes() as f64)
    ))
}

impl Figure for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn about(&self) -> &'static str {
        "scratch memory per key against n, and the largest input this device holds"
    }

    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>> {
        let own = engines(scope).map(|sizes| Box::new(sizes) as Box<dyn Task>);
        let mut all: Vec<Box<dyn Task>> = own.collect();
        all.extend(tasks(peers_series(scope)));
        all
    }

    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing> {
        let mut table = Table::new([
            "figure",
            "keys",
            "type",
            "contender",
            "scratch_bytes",
            "scratch_bytes_per_key",
            "scratch_to_keys",
        ]);
        let mut lines: Vec<Line> = Vec::new();
        for (name, n, scratch) in measured(scope, results) {
            let per_key = scratch / n as f64;
            table.row([
                self.name().to_owned(),
                n.to_string(),
                KEY.to_string(),
                name.to_owned(),
                scratch.to_string(),
                format!("{per_key:.4}"),
                format!("{:.4}", per_key / KEY.bytes() as f64),
            ]);
            let point = Point::exact(n as f64, per_key);
            add(&mut lines, name, point);
        }
        if lines.is_empty() {
            return None;
        }
        let parts: Vec<String> = lines
            .iter()
            .filter_map(|line| {
                let last = line.points.last()?;
                Some(format!(
                    "{} {} bytes a key ({} times the keys)",
                    line.name,
                    digits(last.y),
                    digits(last.y / KEY.bytes() as f64)
                ))
            })
            .collect();
        let mut found = vec![format!(
            "Scratch memory at the greatest n of each: {}.",
            parts.join(", ")
        )];
        found.extend(
            engines(scope)
                .filter_map(|sizes| results.get(&sizes.largest_id()))
                .flat_map(|part| &part.outcomes)
                .filter_map(describe_largest),
        );
        found.push(
            "More keys than that are sorted from host memory in chunks, which the host merges."
                .to_owned(),
        );
        lines.push(
            Line::new("the keys themselves", NEUTRAL, {
                let sizes = scope.sizes();
                let ends = [sizes.first(), sizes.last()].into_iter().flatten();
                ends.map(|&n| Point::exact(n as f64, KEY.bytes() as f64))
                    .collect()
            })
            .model(),
        );
        Some(Drawing {
            title: "Memory".to_owned(),
            shows: "Bytes of device memory that a sort takes beside its keys, for each key; peers \
                    say for themselves what they take. The largest input is found by making the \
                    buffers of ever fewer keys until the device has them all; nothing is run."
                .to_owned(),
            paper: "BCFMergesort needs less extra space than the others: on a GPU with 3 GB it \
                    sorts up to 1 GiB of keys, Thrust's mergesort 512 MiB and warpsort 256 MiB."
                .to_owned(),
            found,
            charts: vec![(
                String::new(),
                Chart::Lines {
                    title: "Scratch memory per key".to_owned(),
                    x: keys_axis(),
                    y: Axis::new("scratch memory per key (bytes)", Scale::Linear),
                    lines,
                },
            )],
            tables: vec![(String::new(), table)],
            notes: super::notes_of(
                engines(scope)
                    .filter_map(|sizes| results.get(&sizes.largest_id()))
                    .flat_map(|part| part.outcomes.iter().map(|outcome| (scope.max_n, outcome))),
            ),
        })
    }
}
