//! All recordings, each with several inputs, as `wgpu-bcfsort audit --all` and the tests run them.

use super::{
    Coloring, Execution, KernelReport, library, payload_buffer, prefix_sums_library,
    prefix_sums_of, was_sorted,
};
use bcfsort_data::{Pattern, Spec, generate};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use wgpu_bcfsort::internals::mergesort;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Error, KeyType, Order, SortKey};
use wgsl_lockstep::{Config, Report};

/// The inputs of sorts. The order of the keys decides the branches of merges, two different keys
/// give many equal ones, and the adversary causes bank conflicts.
const PATTERNS: [Pattern; 5] = [
    Pattern::Random,
    Pattern::Ascending,
    Pattern::ZeroOne,
    Pattern::Constant,
    Pattern::Adversary,
];

/// The place of [`Pattern::Constant`].
const CONSTANT: usize = 3;

/// Further inputs of the default sorts.
const MORE_PATTERNS: [Pattern; 2] = [Pattern::Descending, Pattern::Special];

/// The choice of inputs for each recording of a [`Corpus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Random keys and one other pattern: the one that the recording's kernels have had least often
    /// so far. The default sorts, which everybody runs, have all patterns, and sample sorts with
    /// bins have a constant key, too. The colorings of prefix sums are chosen likewise.
    Some,
    /// The inputs of `Some`, then all others.
    All,
}

/// One input of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Keys(Pattern),
    Colors(Coloring),
}

/// The recordings of [`library`] for each key type and order, and of [`prefix_sums_library`], and
/// the inputs of each.
#[derive(Debug)]
pub struct Corpus {
    jobs: Vec<Job>,
}

#[derive(Debug)]
struct Job {
    recording: Recording,
    /// The inputs of [`Inputs::Some`], and the others.
    inputs: [Vec<Input>; 2],
}

/// The results of a [`Corpus`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CorpusReport {
    /// One report per kernel for all its runs on [`Inputs::Some`], in the order of the labels.
    pub kernels: Vec<(Kernel, Report)>,
    /// The same for the other inputs. Empty if there are none.
    pub more: Vec<(Kernel, Report)>,
    /// The sorts and prefix sums whose result differs from the CPU's, one line each.
    pub wrong: Vec<String>,
}

/// True if a sort with default options may dispatch all kernels of the recording.
fn is_default(recording: &Recording) -> bool {
    let default = BaseCase::default();
    let base_case = mergesort::kernels::base_case(default, default.warps(), recording.key);
    recording.steps.iter().all(|step| {
        let is_other = step.phase == Phase::BaseCase && step.kernel != base_case;
        !is_other && !step.kernel.is("samplesort")
    })
}

/// True if the recording is of prefix sums: they begin with the sums of tiles.
fn is_prefix_sums(recording: &Recording) -> bool {
    (recording.steps.first()).is_some_and(|step| step.phase == Phase::TileSums)
}

impl Corpus {
    /// All recordings, with these inputs.
    #[must_use]
    pub fn new(inputs: Inputs) -> Self {
        let mut recordings = Vec::new();
        for key in KeyType::WHOLE_WORDS {
            for order in [Order::Ascending, Order::Descending] {
                recordings.extend(library(key, order));
            }
            recordings.extend(prefix_sums_library(key));
        }
        // How often each kernel has had each input.
        let mut uses: BTreeMap<(String, usize), u32> = BTreeMap::new();
        let jobs = recordings.into_iter().map(|recording| {
            let sums = is_prefix_sums(&recording);
            let all: Vec<Input> = if sums {
                Coloring::ALL.map(Input::Colors).to_vec()
            } else {
                PATTERNS.map(Input::Keys).to_vec()
            };
            if !sums && is_default(&recording) {
                let more = MORE_PATTERNS.map(Input::Keys);
                let inputs = [[all, more.to_vec()].concat(), Vec::new()];
                return Job { recording, inputs };
            }
            let labels = recording
                .steps
                .iter()
                .map(|step| step.kernel.label().to_owned());
            let labels: Vec<String> = labels.collect();
            let times = |input: usize| -> u32 {
                let times = |label: &String| uses.get(&(label.clone(), input)).copied();
                labels.iter().filter_map(times).sum()
            };
            let other = (1..all.len()).min_by_key(|&input| times(input));
            // The bins of one key are as narrow as bins may be.
            let has_bins = |step: &Step| step.parameter("bins").is_some_and(|bins| bins > 0);
            let constant = Some(CONSTANT).filter(|_| recording.steps.iter().any(has_bins));
            let chosen = [Some(0), other, constant.filter(|_| constant != other)];
            let chosen: Vec<usize> = chosen.into_iter().flatten().collect();
            for &input in &chosen {
                for label in &labels {
                    *uses.entry((label.clone(), input)).or_default() += 1;
                }
            }
            let (some, mut others) = (0..all.len()).partition(|input| chosen.contains(input));
            if inputs == Inputs::Some {
                others = Vec::new();
            }
            let inputs = [some, others].map(|set| set.iter().map(|&input| all[input]).collect());
            Job { recording, inputs }
        });
        Self {
            jobs: jobs.collect(),
        }
    }

    /// The number of sorts and prefix sums.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.iter().map(Job::len).sum()
    }

    /// True if there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs everything, with one thread per core, and compares each result with the CPU's. Calls
    /// `progress` with the number of sorts and prefix sums that are done.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if a kernel cannot be run.
    ///
    /// # Panics
    ///
    /// If `progress` panics.
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
                let job = &self.jobs[i];
                let outcome = job.run(config, seed);
                *outcomes[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
                let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
                progress.0 += job.len();
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
        // Merged in the order of the recordings, so that reports show the same examples each time.
        let mut all: [BTreeMap<Kernel, Report>; 2] = Default::default();
        let mut report = CorpusReport::default();
        for outcome in outcomes {
            let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
            let one = outcome.expect("every job is done")?;
            for (all, kernels) in all.iter_mut().zip([one.kernels, one.more]) {
                for (kernel, report) in kernels {
                    all.entry(kernel).or_default().merge(&report);
                }
            }
            report.wrong.extend(one.wrong);
        }
        [report.kernels, report.more] = all.map(|all| all.into_iter().collect());
        Ok(report)
    }
}

impl Job {
    fn len(&self) -> usize {
        self.inputs.iter().map(Vec::len).sum()
    }

    fn run(&self, config: &Config, seed: u64) -> Result<CorpusReport, Error> {
        let mut report = CorpusReport::default();
        let mut execution = Execution::new(&self.recording, &[], *config);
        for (inputs, all) in self
            .inputs
            .iter()
            .zip([&mut report.kernels, &mut report.more])
        {
            for &input in inputs {
                report
                    .wrong
                    .extend(run(&mut execution, &self.recording, input, seed, all)?);
            }
        }
        Ok(report)
    }
}

/// Runs one recording on one input, adds the reports of its kernels, and describes a wrong result.
fn run(
    execution: &mut Execution<'_>,
    recording: &Recording,
    input: Input,
    seed: u64,
    kernels: &mut Vec<(Kernel, Report)>,
) -> Result<Option<String>, Error> {
    let words = |key, pattern| words(key, pattern, recording.len, seed);
    Ok(match input {
        Input::Keys(pattern) => {
            let keys = words(recording.key, pattern);
            execution.restart(&keys);
            add(kernels, execution.run()?);
            let [after, values] =
                [Buffer::Keys, payload_buffer(recording)].map(|b| execution.buffer(b));
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
            let numbers = words(KeyType::U32, Pattern::Random);
            // Thirds of numbers up to 10^6: the floats and their sums are rounded, and none is a
            // NaN.
            let float = |&v: &u32| (v as f32 / 3.0).to_bits();
            let values = match recording.key {
                KeyType::F32 => numbers.iter().map(float).collect(),
                key if key.words() == 2 => words(key, Pattern::Random),
                _ => numbers,
            };
            let d = recording.steps[0].parameter("colors").unwrap_or(1);
            let colors = coloring.make(recording.len, d);
            execution.restart(&values);
            execution.set_buffer(Buffer::Colors, colors.clone());
            add(kernels, execution.run()?);
            let sums = prefix_sums_of(recording, &values, &colors);
            (execution.buffer(Buffer::Keys) != sums).then(|| {
                format!(
                    "prefix sums of {} {} values, {d} colors, {coloring:?}",
                    recording.len, recording.key
                )
            })
        }
    })
}

fn add(kernels: &mut Vec<(Kernel, Report)>, reports: Vec<KernelReport>) {
    for one in reports {
        match kernels.iter_mut().find(|known| known.0 == one.kernel) {
            Some(known) => known.1.merge(&one.report),
            None => kernels.push((one.kernel, one.report)),
        }
    }
}

/// Keys of a pattern, as 32-bit words. The adversary exists only for few counts: ascending keys
/// fill the rest.
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
