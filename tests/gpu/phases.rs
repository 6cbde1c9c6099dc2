//! Each phase of the sort on this machine's adapter, checked after every pass.

use crate::device::{Gpu, gpu};
use crate::execution::Execution;
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::{LIMITS, PaperOptions};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::mergesort::{Distribution, Plan, sample_position};
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, KeyType, Options, Order};

fn options(engine: Engine, buckets: u32, samples: u32) -> Options {
    Options::default()
        .engine(engine)
        .buckets(buckets)
        .samples(samples)
}

pub(crate) fn random(count: u64, seed: u64) -> Vec<u32> {
    generate(&Spec::new(Pattern::Full, count).seed(seed)).unwrap()
}

/// The passes of a recording: one for each round of a phase, and one for all dispatches that choose
/// splitters.
fn passes(recording: &Recording) -> Vec<&[Step]> {
    let pass = |step: &Step| match step.phase {
        Phase::Splitters => (step.phase, 0),
        phase => (phase, step.round),
    };
    recording
        .steps
        .chunk_by(|a, b| pass(a) == pass(b))
        .collect()
}

/// A sort of `u32` keys whose every intermediate result is compared with the paper's definition.
struct Inspection<'a> {
    execution: Execution<'a>,
    distribution: Option<Distribution>,
    options: Options,
    input: Vec<u32>,
}

impl Inspection<'_> {
    fn check(&self, step: &Step) {
        let buffer = step.buffer("destination").or(step.buffer("keys"));
        let run = step.parameter("run").unwrap_or(0) as usize;
        match step.phase {
            // Runs of one key: unchanged.
            Phase::Copy => self.check_runs(buffer.unwrap(), 1),
            Phase::BaseCase => {
                let tile = self
                    .options
                    .mergesort
                    .base_case_of(self.options.engine)
                    .keys();
                self.check_runs(buffer.unwrap(), tile as usize);
            }
            Phase::Merge => self.check_runs(buffer.unwrap(), 2 * run),
            Phase::Splitters => self.check_samples(),
            Phase::Ranks if step.kernel.is("buckets.rank_splitters") => self.check_ranks(),
            Phase::Ranks => self.check_separators(),
            Phase::Distribution => self.check_parts(buffer.unwrap(), 1),
            Phase::FinalMerge => self.check_parts(buffer.unwrap(), 2 << step.round),
            other => panic!("phase {other}"),
        }
    }

    /// Each run holds the same keys as that part of the input, sorted.
    fn check_runs(&self, buffer: Buffer, run: usize) {
        let mut expected = self.input.clone();
        expected.chunks_mut(run).for_each(<[u32]>::sort_unstable);
        assert!(self.execution.read(buffer) == expected, "runs of {run}");
    }

    /// The sorted runs that are distributed.
    fn runs(&self) -> Vec<Vec<u32>> {
        let run = self.distribution.as_ref().unwrap().run as usize;
        let mut runs: Vec<_> = self.input.chunks(run).map(<[u32]>::to_vec).collect();
        for run in &mut runs {
            run.sort_unstable();
        }
        runs
    }

    fn samples(&self) -> Vec<u32> {
        let d = self.distribution.as_ref().unwrap();
        let t = d.samples as usize;
        let runs = self.runs();
        let mut samples: Vec<u32> = if d.random {
            let keys = runs.concat();
            let position =
                |i| sample_position(self.options.mergesort.seed, 0, i, keys.len() as u32);
            (0..d.total_samples())
                .map(|i| keys[position(i) as usize])
                .collect()
        } else {
            runs.iter()
                .flat_map(|run| (0..t).map(|i| run[i * run.len() / t]))
                .collect()
        };
        samples.sort_unstable();
        samples
    }

    fn check_samples(&self) {
        assert!(
            self.execution.read(Buffer::Samples(0)) == self.samples(),
            "samples"
        );
    }

    /// The start of each bucket in each run, by linear search.
    fn ranks(&self) -> Vec<Vec<usize>> {
        let d = self.distribution.as_ref().unwrap();
        let samples = self.samples();
        let splitters: Vec<u32> = (1..d.buckets as usize)
            .map(|c| samples[c * samples.len() / d.buckets as usize])
            .collect();
        let start = |k: usize| k * d.run as usize;
        let runs = self.runs();
        let row = |f: &dyn Fn(&[u32]) -> usize| -> Vec<usize> {
            let of = |(k, run): (usize, &Vec<u32>)| start(k) + f(run);
            runs.iter().enumerate().map(of).collect()
        };
        let mut rows = vec![row(&|_| 0)];
        let mut last = None;
        for splitter in splitters {
            let below = |run: &[u32]| run.iter().filter(|key| **key < splitter).count();
            let upto = |run: &[u32]| run.iter().filter(|key| **key <= splitter).count();
            if d.pivots && last == Some(splitter) {
                rows.push(rows.last().unwrap().clone());
            } else if d.pivots {
                rows.push(row(&below));
            }
            rows.push(row(&upto));
            last = Some(splitter);
        }
        rows.push(row(&<[u32]>::len));
        rows
    }

    fn check_ranks(&self) {
        let expected = self.ranks().concat();
        let found = self.execution.read(Buffer::Ranks(0));
        assert!(found.iter().map(|r| *r as usize).eq(expected), "ranks");
    }

    /// The table of separators, with a row per bucket.
    fn separators(&self) -> Vec<Vec<usize>> {
        let d = self.distribution.as_ref().unwrap();
        self.execution
            .read(Buffer::Separators(0))
            .chunks(d.runs as usize + 1)
            .map(|row| row.iter().map(|s| *s as usize).collect())
            .collect()
    }

    /// Parts are stored bucket by bucket, and in each bucket run by run. The ranks give their
    /// lengths.
    fn check_separators(&self) {
        let d = self.distribution.as_ref().unwrap();
        let (ranks, separators) = (self.ranks(), self.separators());
        assert_eq!(separators.len(), d.all_buckets() as usize);
        let mut begin = 0;
        for (bucket, row) in separators.iter().enumerate() {
            for k in 0..d.runs as usize {
                assert_eq!(row[k], begin, "bucket {bucket}, run {k}");
                begin += ranks[bucket + 1][k] - ranks[bucket][k];
            }
            assert_eq!(row[d.runs as usize], begin, "end of bucket {bucket}");
        }
        assert_eq!(begin, self.input.len());
        self.check_bucket_sizes();
    }

    /// Lemma 1: at most N/P + N/t keys if P divides the number of samples and t divides the runs.
    /// In general, a bucket holds the keys between ceil(T/P) of the T samples, and in every run up
    /// to one more gap between samples.
    fn check_bucket_sizes(&self) {
        let d = self.distribution.as_ref().unwrap();
        let gap = d.run.div_ceil(d.samples) as usize;
        let bound = (d.total_samples().div_ceil(d.buckets) + d.runs) as usize * gap;
        if d.pivots {
            assert!(d.largest_bucket as usize >= bound.min(self.input.len()));
        }
        let mut keys = self.input.clone();
        keys.sort_unstable();
        let distinct = keys.windows(2).all(|pair| pair[0] < pair[1]);
        for (bucket, row) in self.separators().iter().enumerate() {
            let size = row.last().unwrap() - row[0];
            if d.pivots && bucket % 2 == 1 {
                let pivots = &keys[row[0]..row[0] + size];
                assert!(
                    pivots.windows(2).all(|pair| pair[0] == pair[1]),
                    "pivots of {bucket}"
                );
            } else if (d.pivots || distinct) && !d.random {
                assert!(
                    size <= bound,
                    "bucket {bucket} holds {size} keys, Lemma 1 {bound}"
                );
            }
        }
    }

    /// In every bucket, each group of `span` parts is sorted. A bucket holds the keys of its range
    /// in the result, so each of its keys precedes every key of the next bucket.
    fn check_parts(&self, buffer: Buffer, span: usize) {
        let d = self.distribution.as_ref().unwrap();
        let keys = self.execution.read(buffer);
        let mut result = self.input.clone();
        result.sort_unstable();
        for (bucket, row) in self.separators().iter().enumerate() {
            let pivots = d.pivots && bucket % 2 == 1;
            // Pivot buckets are not moved again, and may be in the other buffer.
            if pivots && buffer != Buffer::Keys {
                continue;
            }
            let (start, end) = (row[0], row[d.runs as usize]);
            let mut expected = keys[start..end].to_vec();
            expected.sort_unstable();
            assert!(expected == result[start..end], "keys of bucket {bucket}");
            for first in (0..d.runs as usize).step_by(span) {
                let last = (first + span).min(d.runs as usize);
                let part = &keys[row[first]..row[last]];
                assert!(part.is_sorted(), "bucket {bucket}, {span} parts");
            }
        }
    }
}

/// Sorts step by step, and checks the buffers after every pass.
fn inspect(gpu: &Gpu, input: &[u32], options: &Options) {
    inspect_with(gpu, input, options, &LIMITS);
}

fn inspect_with(gpu: &Gpu, input: &[u32], options: &Options, limits: &DeviceLimits) {
    let len = input.len() as u32;
    let recording = record_sort(len, KeyType::U32, Order::Ascending, options, limits);
    let inspection = Inspection {
        execution: Execution::new(gpu, &recording, input),
        distribution: Plan::new(
            len,
            KeyType::U32,
            options.mergesort.parameters(options.engine),
        )
        .distribution,
        options: options.clone(),
        input: input.to_vec(),
    };
    for pass in passes(&recording) {
        for step in pass {
            inspection.execution.step(step);
        }
        inspection.check(pass.last().unwrap());
    }
    let mut expected = input.to_vec();
    expected.sort_unstable();
    assert!(
        inspection.execution.read(Buffer::Keys) == expected,
        "the result"
    );
}

#[test]
fn every_phase_matches_the_paper() {
    let Some(gpu) = gpu() else { return };
    for engine in Engine::MERGESORTS {
        // Tiles of every size. The result of a base case does not depend on its algorithm.
        for base_case in gpu.cases(
            &[BaseCase::Bitonic, BaseCase::Diagonal, BaseCase::Long2],
            &[BaseCase::Long4, BaseCase::LongDiagonal8],
        ) {
            for (len, buckets, samples) in [
                (20_000, 4, 4),
                (40_961, 16, 16),
                (70_001, 64, 5),
                (65_535, 7, 100),
                (9 * 1024 + 1, 1024, 3),
                // 18,900 samples, which are distributed themselves.
                (63 * 1024 + 5, 64, 300),
            ] {
                println!("{engine} {base_case} {len} {buckets} {samples}");
                let options = options(engine, buckets, samples)
                    .base_case(base_case)
                    .seed(len);
                inspect(gpu, &random(len, len), &options);
            }
        }
    }
}

/// Inputs with uninformative samples, and with repeated keys.
#[test]
fn every_phase_holds_on_skewed_and_repeated_keys() {
    let Some(gpu) = gpu() else { return };
    let patterns = [
        Pattern::ZeroOne,
        Pattern::Constant,
        Pattern::Maximal,
        Pattern::FewDistinct,
        Pattern::Zipf,
        Pattern::Ascending,
        Pattern::Descending,
        Pattern::OrganPipe,
        Pattern::Saws,
        Pattern::Special,
    ];
    for (number, pattern) in patterns.into_iter().enumerate() {
        // Each pattern with each engine, or with alternating engines.
        let engines = Engine::MERGESORTS.into_iter().enumerate();
        for (i, engine) in engines {
            if i != number % Engine::MERGESORTS.len() && !gpu.runs_all_cases() {
                continue;
            }
            println!("{pattern} {engine}");
            let input: Vec<u32> = generate(&Spec::new(pattern, 50_003)).unwrap();
            let options = options(engine, 16, 8);
            inspect(gpu, &input, &options);
        }
    }
}

/// P divides the number of samples and t divides the runs, so the bound is exactly N/P + N/t.
/// Random samples have no bound.
#[test]
fn buckets_are_within_the_bound_of_lemma_1() {
    let Some(gpu) = gpu() else { return };
    let n = 1u32 << 17;
    let runs = 16;
    let run = n / runs;
    let distinct = generate(&Spec::new(Pattern::Distinct, n.into())).unwrap();
    let inputs: [(&str, Vec<u32>); 5] = [
        ("random", distinct),
        ("sorted", (0..n).collect()),
        ("reversed", (0..n).rev().collect()),
        (
            "interleaved",
            (0..n).map(|i| i % run * runs + i / run).collect(),
        ),
        // Every sample of a run is followed by many close keys.
        (
            "crowded",
            (0..n)
                .map(|i| {
                    let gap = run / 16;
                    let (part, within) = (i % run / gap, i % gap);
                    part * n + if within == 0 { 0 } else { 1 << 16 | i }
                })
                .collect(),
        ),
    ];
    for (name, input) in inputs {
        for engine in [Engine::BcfMergesort, Engine::BcfMergesortPb] {
            println!("{name} {engine}");
            let options = options(engine, 16, 16);
            let plan = Plan::new(
                n,
                KeyType::U32,
                options.mergesort.parameters(options.engine),
            );
            let d = plan.distribution.unwrap();
            assert_eq!((d.runs, d.run), (runs, run));
            let bound =
                (d.total_samples().div_ceil(d.buckets) + d.runs) * d.run.div_ceil(d.samples);
            assert_eq!(bound, n / 16 + n / 16, "N/P + N/t");
            inspect(gpu, &input, &options);
        }
    }
}

#[test]
fn cut_dispatches_and_two_dimensional_grids_change_nothing() {
    let Some(gpu) = gpu() else { return };
    for engine in Engine::MERGESORTS {
        for (workgroups, keys_per_dispatch, len, buckets) in [
            (33, u32::MAX, 60_007, 8),
            (20, 5000, 60_007, 8),
            // Long pairs: two page merges per dispatch, and sixteen of several pairs.
            (65_535, 1024, 60_007, 8),
            (65_535, 1 << 15, 200_003, 4),
        ] {
            let limits = DeviceLimits {
                workgroups,
                keys_per_dispatch,
                ..LIMITS
            };
            let input = random(len, workgroups.into());
            let options = options(engine, buckets, 9);
            inspect_with(gpu, &input, &options, &limits);
        }
    }
}

/// The paper's claim for pivot buckets: on zeros and ones nothing is left to merge.
#[test]
fn on_zeros_and_ones_nothing_is_merged_after_the_distribution() {
    let Some(gpu) = gpu() else { return };
    for (len, buckets) in [(100_003, 16), (40_000, 4), (1 << 17, 64)] {
        let input: Vec<u32> = generate(&Spec::new(Pattern::ZeroOne, len)).unwrap();
        let options = options(Engine::BcfMergesortPb, buckets, 32);
        let len = len as u32;
        let recording = record_sort(len, KeyType::U32, Order::Ascending, &options, &LIMITS);
        let execution = Execution::new(gpu, &recording, &input);
        let mut expected = input.clone();
        expected.sort_unstable();
        let (final_merge, before): (Vec<_>, Vec<_>) = recording
            .steps
            .iter()
            .partition(|step| step.phase == Phase::FinalMerge);
        assert!(!final_merge.is_empty());
        for step in before {
            execution.step(step);
        }
        assert!(
            execution.read(Buffer::Keys) == expected,
            "after the distribution"
        );

        let d = Plan::new(
            len,
            KeyType::U32,
            options.mergesort.parameters(options.engine),
        )
        .distribution
        .unwrap();
        let separators = execution.read(Buffer::Separators(0));
        for (bucket, row) in separators.chunks(d.runs as usize + 1).enumerate() {
            let size = row[d.runs as usize] - row[0];
            assert!(
                bucket % 2 == 1 || size == 0,
                "bucket {bucket} holds {size} keys"
            );
        }
        // Empty buckets are not merged: the other buffer is not written.
        let marks = vec![0xdead_beef_u32; len as usize];
        execution.write(Buffer::Scratch, &marks);
        for step in final_merge {
            execution.step(step);
        }
        assert!(execution.read(Buffer::Scratch) == marks);
        assert!(
            execution.read(Buffer::Keys) == expected,
            "after the final phase"
        );
    }
}
