//! Every kernel there is: sorts with each engine, base case, key type, order and several patterns.

use super::sort::Kernels;
use super::{Args, Job as Any};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{Pattern, Spec, generate};
use bcfsort_testkit::recordings::{
    Coloring, Execution, library, prefix_sums_library, prefix_sums_of, was_sorted,
};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording};
use wgpu_bcfsort::{KeyType, Order, SortKey};
use wgsl_lockstep::Config;
use wgsl_lockstep::audit::Audit;

/// The order decides which way merges go, few keys put equal ones everywhere, and the adversary
/// was made to cause conflicts.
const PATTERNS: [Pattern; 5] = [
    Pattern::Random,
    Pattern::Ascending,
    Pattern::ZeroOne,
    Pattern::Constant,
    Pattern::Adversary,
];

/// Sorts that were run, prefix sums among them.
pub(crate) struct Job {
    pub(crate) sorts: usize,
    /// Those whose result is not the CPU's.
    pub(crate) unsorted: Vec<String>,
}

impl Job {
    pub(crate) fn wrong_result(&self) -> Option<String> {
        let first = self.unsorted.first()?;
        Some(format!(
            "{first}: the CPU gives another result ({} of {} sorts and prefix sums)",
            self.unsorted.len(),
            self.sorts
        ))
    }
}

/// What became of one recording with each pattern.
#[derive(Default)]
struct Outcome {
    kernels: Kernels,
    unsorted: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(Any, Audit), Fault> {
    let mut recordings = Vec::new();
    for key in KeyType::ALL {
        for order in [Order::Ascending, Order::Descending] {
            recordings.extend(library(key, order));
        }
        recordings.extend(prefix_sums_library(key));
    }
    let sorts = recordings.len() * PATTERNS.len();
    let started = Instant::now();
    let outcomes = in_parallel(&recordings, args)?;
    let time = started.elapsed();

    // In the order of the recordings, so that the same examples are told each time.
    let mut all = Outcome::default();
    for outcome in outcomes {
        all.kernels.add_all(&outcome.kernels);
        all.unsorted.extend(outcome.unsorted);
    }
    all.kernels.sort();
    let job = Job {
        sorts,
        unsorted: all.unsorted,
    };
    let audit = Audit::new(all.kernels.subjects(), args.config()).time(time);
    Ok((Any::All(job), audit))
}

fn in_parallel(recordings: &[Recording], args: &Args) -> Result<Vec<Outcome>, Fault> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let progress = Mutex::new(Progress::new(args.quiet));
    let outcomes: Vec<Mutex<Option<Result<Outcome, Fault>>>> =
        recordings.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(recording) = recordings.get(i) else {
                break;
            };
            let outcome = if adds_up(recording) {
                add_up(recording, args)
            } else {
                with_key_type!(recording.key, T => sort::<T>(recording, args))
            };
            // Nobody panics with these locks held.
            *outcomes[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.show(|| {
                let each = PATTERNS.len();
                format!("sort {} of {}", done * each, recordings.len() * each)
            });
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    outcomes
        .into_iter()
        .filter_map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Whether it is of prefix sums: they begin with the sums of tiles.
fn adds_up(recording: &Recording) -> bool {
    (recording.steps.first()).is_some_and(|step| step.phase == Phase::TileSums)
}

/// Prefix sums, once with each kind of colors.
fn add_up(recording: &Recording, args: &Args) -> Result<Outcome, Fault> {
    let mut outcome = Outcome::default();
    let numbers: Vec<u32> = keys(Pattern::Random, recording.len.into(), args.seed)?;
    // Of numbers up to 10^6, floats and their sums are rounded, and no bits are those of a NaN.
    let values: Vec<u32> = match recording.key {
        KeyType::F32 => numbers
            .iter()
            .map(|&v| (v as f32 / 3.0).to_bits())
            .collect(),
        _ => numbers,
    };
    let d = recording.steps[0].parameter("colors").unwrap_or(1);
    let mut execution = Execution::new(recording, &[], args.config());
    for coloring in Coloring::ALL {
        let colors = coloring.make(recording.len, d);
        execution.restart(&values);
        execution.set_buffer(Buffer::Colors, colors.clone());
        outcome.kernels.add(&mut execution, |_| ())?;
        if execution.buffer(Buffer::Keys) != prefix_sums_of(recording, &values, &colors) {
            outcome.unsorted.push(format!(
                "prefix sums of {} {} values, {d} colors, {coloring:?}",
                recording.len, recording.key
            ));
        }
    }
    Ok(outcome)
}

fn sort<T: SortKey>(recording: &Recording, args: &Args) -> Result<Outcome, Fault> {
    let config: Config = args.config();
    let mut outcome = Outcome::default();
    let mut execution = Execution::new(recording, &[], config);
    for pattern in PATTERNS {
        let keys: Vec<T> = keys(pattern, recording.len.into(), args.seed)?;
        execution.restart(bytemuck::cast_slice(&keys));
        outcome.kernels.add(&mut execution, |_| ())?;
        let sorted = was_sorted(
            recording,
            bytemuck::cast_slice(&keys),
            execution.buffer(Buffer::Keys),
            execution.buffer(Buffer::Values),
        );
        if !sorted {
            outcome.unsorted.push(format!(
                "sort of {} {} keys, payload {}, {pattern}, {}",
                recording.len,
                recording.key,
                recording.payload.name(),
                recording.order.name()
            ));
        }
    }
    Ok(outcome)
}

/// Keys of a pattern. The adversary exists for few counts only: keys above all of its own follow.
fn keys<T: SortKey>(pattern: Pattern, count: u64, seed: u64) -> Result<Vec<T>, Fault> {
    let make = |pattern, count| {
        generate::<T>(&Spec::new(pattern, count).seed(seed))
            .map_err(|error| Fault::Usage(error.to_string()))
    };
    let fitting = Spec::new(pattern, count).fitting_count();
    let mut keys = if fitting == 0 {
        Vec::new()
    } else {
        make(pattern, fitting)?
    };
    if fitting < count {
        keys.extend(&make(Pattern::Ascending, count)?[fitting as usize..]);
    }
    Ok(keys)
}
