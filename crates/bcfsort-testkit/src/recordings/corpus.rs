//! All recordings, each on several inputs: what `wgpu-bcfsort audit --all` and the tests run.

use super::{Coloring, Execution, library, prefix_sums_library, prefix_sums_of, was_sorted};
use crate::data::{Pattern, Spec, generate};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use wgpu_bcfsort::internals::kernel::{Kernel, Specialised};
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording};
use wgpu_bcfsort::{BaseCase, Error, KeyType, Order, SortKey};
use wgsl_lockstep::{Config, Report};

/// The inputs of sorts. The order of keys decides which way merges go, few different keys put equal
/// ones everywhere, and the adversary was made to cause conflicts.
const PATTERNS: [Pattern; 5] = [
    Pattern::Random,
    Pattern::Ascending,
    Pattern::ZeroOne,
    Pattern::Constant,
    Pattern::Adversary,
];

/// Those of the default sorts besides.
const MORE_PATTERNS: [Pattern; 2] = [Pattern::Descending, Pattern::Special];

/// Which inputs each recording of a [`Corpus`] is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Random keys and one other pattern, the one that its kernels have met least often so far. The
    /// default sorts, which everybody runs, have all patterns. The colorings of prefix sums are
    /// shared out likewise.
    Some,
    /// All of them.
    All,
}

/// What a recording is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Keys(Pattern),
    Colors(Coloring),
}

/// The recordings of [`library`] for each key type and order and of [`prefix_sums_library`], and the
/// inputs of each.
#[derive(Debug)]
pub struct Corpus {
    jobs: Vec<(Recording, Vec<Input>)>,
}

/// What the kernels of a [`Corpus`] did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CorpusReport {
    /// Each kernel, in all its runs together: in the order of the kernels, then by name.
    pub kernels: Vec<(Specialised, Report)>,
    /// The sorts and prefix sums whose result is not the CPU's, each in one line.
    pub wrong: Vec<String>,
}

/// Whether a recording is of what a sort without options dispatches.
fn is_default(recording: &Recording) -> bool {
    recording.steps.iter().all(|step| match step.kernel {
        Kernel::BaseCase { form, warps, .. } => {
            form == BaseCase::default() && warps == form.warps()
        }
        Kernel::SampleSort(_) => false,
        _ => true,
    })
}

/// Whether it is of prefix sums: they begin with the sums of tiles.
fn adds_up(recording: &Recording) -> bool {
    (recording.steps.first()).is_some_and(|step| step.phase == Phase::TileSums)
}

impl Corpus {
    /// All recordings, on these inputs.
    #[must_use]
    pub fn new(inputs: Inputs) -> Self {
        let mut recordings = Vec::new();
        for key in KeyType::ALL {
            for order in [Order::Ascending, Order::Descending] {
                recordings.extend(library(key, order));
            }
            recordings.extend(prefix_sums_library(key));
        }
        // How often each kernel has met each input.
        let mut met: BTreeMap<(String, usize), u32> = BTreeMap::new();
        let jobs = recordings.into_iter().map(|recording| {
            let sums = adds_up(&recording);
            let all: Vec<Input> = if sums {
                Coloring::ALL.map(Input::Colors).to_vec()
            } else {
                PATTERNS.map(Input::Keys).to_vec()
            };
            if !sums && is_default(&recording) {
                let more = MORE_PATTERNS.map(Input::Keys);
                return (recording, [all, more.to_vec()].concat());
            }
            if inputs == Inputs::All {
                return (recording, all);
            }
            let labels = recording.steps.iter().map(|step| {
                let kernel = recording.specialised(step);
                kernel.label()
            });
            let labels: Vec<String> = labels.collect();
            let mut times = |input: usize, one_more| -> u32 {
                let each = labels.iter().map(|label| {
                    let times = met.entry((label.clone(), input)).or_default();
                    *times += one_more;
                    *times
                });
                each.sum()
            };
            let other = (1..all.len()).min_by_key(|&input| times(input, 0));
            let chosen = [Some(0), other].into_iter().flatten();
            let chosen = chosen.map(|input| {
                times(input, 1);
                all[input]
            });
            let chosen = chosen.collect();
            (recording, chosen)
        });
        Self {
            jobs: jobs.collect(),
        }
    }

    /// How many sorts and prefix sums it is.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.iter().map(|(_, inputs)| inputs.len()).sum()
    }

    /// Whether there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs all of it, on as many threads as there are cores, and compares each result with the CPU's.
    /// `progress` is told how many sorts and prefix sums are done.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if a kernel cannot be run.
    ///
    /// # Panics
    ///
    /// If `progress` does.
    pub fn run(
        &self,
        config: &Config,
        seed: u64,
        progress: impl FnMut(usize) + Send,
    ) -> Result<CorpusReport, Error> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        let progress = Mutex::new((0, progress));
        let outcomes: Vec<_> = self.jobs.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            while let Some(i) = Some(next.fetch_add(1, Relaxed)).filter(|&i| i < self.jobs.len()) {
                let (recording, inputs) = &self.jobs[i];
                let outcome = run(recording, inputs, config, seed);
                *outcomes[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
                let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
                progress.0 += inputs.len();
                let done = progress.0;
                (progress.1)(done);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        // In the order of the recordings, so that the same examples are told each time.
        let mut all: BTreeMap<(Kernel, String), (Specialised, Report)> = BTreeMap::new();
        let mut report = CorpusReport::default();
        for outcome in outcomes {
            let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
            let one = outcome.expect("every job is done")?;
            for (kernel, report) in one.kernels {
                let known = all.entry((kernel.kernel(), kernel.label()));
                let known = known.or_insert_with(|| (kernel, Report::default()));
                known.1.merge(&report);
            }
            report.wrong.extend(one.wrong);
        }
        report.kernels = all.into_values().collect();
        Ok(report)
    }
}

/// Runs one recording on its inputs.
fn run(
    recording: &Recording,
    inputs: &[Input],
    config: &Config,
    seed: u64,
) -> Result<CorpusReport, Error> {
    let mut report = CorpusReport::default();
    let mut execution = Execution::new(recording, &[], config.clone());
    for &input in inputs {
        let wrong = match input {
            Input::Keys(pattern) => {
                let keys = words(recording.key, pattern, recording.len, seed);
                execution.restart(&keys);
                report.add(&mut execution)?;
                let [after, values] = [Buffer::Keys, Buffer::Values].map(|b| execution.buffer(b));
                (!was_sorted(recording, &keys, after, values)).then(|| {
                    format!(
                        "sort of {} {} keys, payload {}, {pattern}, {}",
                        recording.len,
                        recording.key,
                        recording.payload.name(),
                        recording.order.name()
                    )
                })
            }
            Input::Colors(coloring) => {
                let numbers = words(KeyType::U32, Pattern::Random, recording.len, seed);
                // Of numbers up to 10^6, floats and their sums are rounded, and no bits are those
                // of a NaN.
                let float = |&v: &u32| (v as f32 / 3.0).to_bits();
                let values = match recording.key {
                    KeyType::F32 => numbers.iter().map(float).collect(),
                    _ => numbers,
                };
                let d = recording.steps[0].parameter("colors").unwrap_or(1);
                let colors = coloring.make(recording.len, d);
                execution.restart(&values);
                execution.set_buffer(Buffer::Colors, colors.clone());
                report.add(&mut execution)?;
                let sums = prefix_sums_of(recording, &values, &colors);
                (execution.buffer(Buffer::Keys) != sums).then(|| {
                    format!(
                        "prefix sums of {} {} values, {d} colors, {coloring:?}",
                        recording.len, recording.key
                    )
                })
            }
        };
        report.wrong.extend(wrong);
    }
    Ok(report)
}

impl CorpusReport {
    fn add(&mut self, execution: &mut Execution<'_>) -> Result<(), Error> {
        for one in execution.run()? {
            match self.kernels.iter_mut().find(|known| known.0 == one.kernel) {
                Some(known) => known.1.merge(&one.report),
                None => self.kernels.push((one.kernel, one.report)),
            }
        }
        Ok(())
    }
}

/// Keys of a pattern, as words. The adversary exists for few counts only: ascending keys follow it.
fn words(key: KeyType, pattern: Pattern, count: u32, seed: u64) -> Vec<u32> {
    fn keys<T: SortKey>(pattern: Pattern, count: u64, seed: u64) -> Vec<u32> {
        let make = |pattern, count| {
            let spec = Spec::new(pattern, count).seed(seed);
            generate::<T>(&spec).expect("a count that fits the pattern")
        };
        let fitting = Spec::new(pattern, count).fitting_count();
        let mut keys = if fitting == 0 {
            Vec::new()
        } else {
            make(pattern, fitting)
        };
        if fitting < count {
            keys.extend(&make(Pattern::Ascending, count)[fitting as usize..]);
        }
        bytemuck::pod_collect_to_vec(&keys)
    }
    let count = u64::from(count);
    match key {
        KeyType::U32 => keys::<u32>(pattern, count, seed),
        KeyType::I32 => keys::<i32>(pattern, count, seed),
        KeyType::F32 => keys::<f32>(pattern, count, seed),
        KeyType::U64 => keys::<u64>(pattern, count, seed),
        KeyType::I64 => keys::<i64>(pattern, count, seed),
        KeyType::F64 => keys::<f64>(pattern, count, seed),
        other => unreachable!("no Rust type for {other}"),
    }
}
