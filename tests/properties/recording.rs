//! Recordings are the paper's sort: its phases, rounds, runs, buckets and page merges.
//!
//! These tests need no GPU, since a recording is a list of dispatches.

use bcfsort_testkit::{LIMITS, PaperOptions};
use wgpu_bcfsort::internals::mergesort::kernels::RandomSamplesParams;
use wgpu_bcfsort::internals::mergesort::{self, Plan};
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::shader::MATRIX;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, KeyType, Options, Order};

pub(crate) fn options(engine: Engine, buckets: u32, samples: u32) -> Options {
    Options::default()
        .engine(engine)
        .buckets(buckets)
        .samples(samples)
}

fn record(len: u32, options: &Options) -> Recording {
    record_sort(len, KeyType::U32, Order::Ascending, options, &LIMITS)
}

pub(crate) fn parameter(step: &Step, name: &str) -> u32 {
    step.parameter(name)
        .unwrap_or_else(|| panic!("{} has no parameter {name}", step.kernel.name()))
}

/// The buffers in which a step reads and writes keys.
pub(crate) fn buffers(step: &Step) -> Option<(Buffer, Buffer)> {
    match step.buffer("keys") {
        Some(both) => Some((both, both)),
        None => Some((step.buffer("source")?, step.buffer("destination")?)),
    }
}

/// The steps of each pass over the keys. A pass is a round of a phase, in one or more dispatches.
pub(crate) fn passes(recording: &Recording) -> Vec<Vec<&Step>> {
    let mut passes: Vec<Vec<&Step>> = Vec::new();
    for step in &recording.steps {
        let pass = |s: &Step| (s.phase, s.round, s.kernel.clone(), buffers(s));
        match passes.last_mut() {
            Some(last) if pass(last[0]) == pass(step) => last.push(step),
            _ => passes.push(vec![step]),
        }
    }
    passes
}

/// The passes by name, e.g. `merge 0 page_merge`, without those that sort the samples.
fn outline(recording: &Recording) -> Vec<String> {
    passes(recording)
        .iter()
        .map(|pass| {
            let name = pass[0].kernel.name();
            let name = name.split('.').nth(1).unwrap_or_default();
            let keys =
                buffers(pass[0]).map_or(String::new(), |(from, to)| format!(" {from} > {to}"));
            format!("{} {} {name}{keys}", pass[0].phase, pass[0].round)
        })
        .collect()
}

#[test]
fn a_whole_sort_is_recorded_as_in_the_paper() {
    // 20 runs, P = 4: merged to 10, 5, 3 runs, distributed, and two more rounds for 3 runs.
    for engine in [Engine::BcfMergesort, Engine::BcfMergesortPb] {
        let recording = record(20_000, &options(engine, 4, 4));
        assert_eq!(
            outline(&recording),
            [
                "base case 0 bitonic_matrix keys > keys",
                "merge 0 page_merge keys > scratch",
                "merge 1 page_merge scratch > keys",
                "merge 2 page_merge keys > scratch",
                "splitters 0 sample_runs",
                "splitters 0 bitonic_matrix samples.0 > samples.0",
                "ranks 0 rank_splitters",
                "ranks 1 bucket_offsets",
                "distribution 0 distribute scratch > keys",
                "final merge 0 page_merge keys > scratch",
                "final merge 1 page_merge scratch > keys",
            ],
            "{engine}"
        );
    }
}

/// The same phases with other kernels: 40 tiles of 128 keys, merged to 20, 10, 5, 3 runs.
#[test]
fn warpsort_is_recorded_as_in_the_papers() {
    let options = options(Engine::Warpsort, 4, 40).seed(0x1234_5678_9abc_def0);
    let recording = record(5000, &options);
    assert_eq!(
        outline(&recording),
        [
            "copy 0 copy keys > scratch",
            "base case 0 warp_bitonic scratch > scratch",
            "merge 0 warp_merge scratch > keys",
            "merge 1 warp_merge keys > scratch",
            "merge 2 warp_merge scratch > keys",
            "merge 3 warp_merge keys > scratch",
            "splitters 0 random_samples",
            "splitters 0 warp_bitonic samples_scratch.0 > samples_scratch.0",
            "splitters 0 warp_merge samples_scratch.0 > samples.0",
            "ranks 0 rank_splitters",
            "ranks 1 bucket_offsets",
            "distribution 0 distribute scratch > keys",
            "final merge 0 warp_merge keys > scratch",
            "final merge 1 warp_merge scratch > keys",
        ]
    );
    let step = |name| recording.steps.iter().find(|s| s.kernel.is(name)).unwrap();
    let samples = step("baseline.random_samples");
    assert_eq!(
        samples.parameters,
        RandomSamplesParams {
            len: 5000,
            // P t samples; every t-th is a splitter.
            total: 4 * 40,
            seed_low: 0x9abc_def0,
            seed_high: 0x1234_5678,
            level: 0,
        }
        .into()
    );
    let ranks = step("buckets.rank_splitters");
    assert_eq!(parameter(ranks, "samples"), 160);
    assert_eq!(
        (parameter(ranks, "buckets"), parameter(ranks, "pivots")),
        (4, 0)
    );

    // Sorts of samples take their samples at another level. There are at most as many samples as
    // keys.
    let recording = record(1 << 17, &options.buckets(256).samples(1024));
    let levels: Vec<_> = recording
        .steps
        .iter()
        .filter(|s| s.kernel.is("baseline.random_samples"))
        .map(|s| (parameter(s, "level"), parameter(s, "total")))
        .collect();
    assert_eq!(levels[0], (0, 1 << 17));
    assert_eq!(levels[1].0, 1);
    assert!(levels[1].1 < 1 << 17);
}

/// The seed changes the positions of samples, and nothing else in the recording.
#[test]
fn a_seed_changes_only_the_positions_of_samples() {
    for engine in Engine::MERGESORTS {
        let of = |seed| record(100_000, &options(engine, 16, 9).seed(seed));
        assert_eq!(of(7), of(7));
        let differing: Vec<_> = of(7)
            .steps
            .into_iter()
            .zip(of(8).steps)
            .filter(|(a, b)| a != b)
            .map(|(step, _)| step.kernel.name().to_owned())
            .collect();
        if engine == Engine::Warpsort {
            assert_eq!(differing, ["baseline.random_samples"]);
        } else {
            assert_eq!(differing, [""; 0]);
        }
    }
}

#[test]
fn an_odd_number_of_moves_begins_in_the_scratch_buffer() {
    // 3 runs: two merges; 5 runs: three. One bucket: no distribution.
    assert_eq!(
        outline(&record(3000, &options(Engine::BcfMergesort, 1, 1))),
        [
            "base case 0 bitonic_matrix keys > keys",
            "merge 0 page_merge keys > scratch",
            "merge 1 page_merge scratch > keys"
        ]
    );
    assert_eq!(
        outline(&record(
            5000,
            &options(Engine::BcfMergesort, 1, 1).base_case(BaseCase::Transpose)
        )),
        [
            "copy 0 copy keys > scratch",
            "base case 0 shearsort_transpose scratch > scratch",
            "merge 0 page_merge scratch > keys",
            "merge 1 page_merge keys > scratch",
            "merge 2 page_merge scratch > keys"
        ]
    );
}

#[test]
fn short_sorts_have_no_unneeded_steps() {
    for len in [0, 1] {
        assert_eq!(record(len, &Options::default()).steps, []);
    }
    for len in [2, 31, 1023, 1024] {
        let recording = record(len, &Options::default());
        assert_eq!(
            outline(&recording),
            ["base case 0 bitonic_matrix keys > keys"]
        );
        assert_eq!(recording.scratch_bytes(), 0);
    }
    assert_eq!(record(1025, &Options::default()).steps.len(), 3);
}

/// The distribution finishes pivot buckets, so it must write to the buffer of the result.
#[test]
fn with_pivot_buckets_the_distribution_writes_to_the_result() {
    for runs in 1..=70 {
        for buckets in [2, 3, 4, 7, 16, 64] {
            let recording = record(runs * MATRIX, &options(Engine::BcfMergesortPb, buckets, 3));
            let passes = passes(&recording);
            let distribution = passes.iter().find(|p| p[0].phase == Phase::Distribution);
            if let Some(distribution) = distribution {
                assert_eq!(distribution[0].buffer("destination"), Some(Buffer::Keys));
            }
        }
    }
    // 7 runs would take three rounds, 4 take two.
    let recording = record(7 * MATRIX, &options(Engine::BcfMergesortPb, 8, 3));
    assert!(outline(&recording).contains(&"merge 0 page_merge keys > scratch".to_owned()));
    let recording = record(7 * MATRIX, &options(Engine::BcfMergesort, 8, 3));
    assert!(
        !outline(&recording)
            .iter()
            .any(|pass| pass.starts_with("merge"))
    );
}

#[test]
fn the_first_merge_phase_halves_the_runs_until_at_most_p_are_left() {
    for (len, buckets, rounds, runs) in [
        (1 << 20, 64, 4, 64),
        (1 << 20, 100, 4, 64),
        (1 << 20, 1024, 0, 1024),
        (1 << 20, 1, 10, 1),
        (200 * MATRIX, 128, 1, 100),
        (200 * MATRIX - 1, 50, 2, 50),
        (200 * MATRIX + 1, 50, 3, 26),
        (9 * MATRIX, 8, 1, 5),
    ] {
        let recording = record(len, &options(Engine::BcfMergesort, buckets, 4));
        let merges: Vec<_> = passes(&recording)
            .into_iter()
            .filter(|p| p[0].phase == Phase::Merge)
            .collect();
        assert_eq!(merges.len(), rounds, "{len} keys, P = {buckets}");
        for (round, pass) in merges.iter().enumerate() {
            let run = MATRIX << round;
            assert_eq!(parameter(pass[0], "run"), run);
            assert_eq!(parameter(pass[0], "len"), len);
            assert_eq!(parameter(pass[0], "substreams"), 0);
            assert_eq!(parameter(pass[0], "end"), len.div_ceil(run).div_ceil(2));
        }
        let ranks = recording
            .steps
            .iter()
            .find(|s| s.kernel.is("buckets.rank_splitters"));
        assert_eq!(ranks.map_or(1, |step| parameter(step, "runs")), runs);
    }
}

#[test]
fn the_distribution_has_p_buckets_or_2p_minus_1() {
    for (engine, all) in [(Engine::BcfMergesort, 16), (Engine::BcfMergesortPb, 31)] {
        let recording = record(1 << 20, &options(engine, 16, 8));
        let step = |name| recording.steps.iter().find(|s| s.kernel.is(name)).unwrap();
        let samples = step("buckets.sample_runs");
        assert_eq!(parameter(samples, "run"), 1 << 16);
        assert_eq!(parameter(samples, "samples"), 8);
        assert_eq!(parameter(samples, "total"), 16 * 8);
        let ranks = step("buckets.rank_splitters");
        assert_eq!(parameter(ranks, "buckets"), 16);
        assert_eq!(parameter(ranks, "samples"), 128);
        assert_eq!(parameter(ranks, "pivots"), u32::from(all == 31));
        assert_eq!(recording.buffers[&Buffer::Ranks(0)], (all + 1) * 16 * 4);
        assert_eq!(
            parameter(step("buckets.bucket_offsets"), "buckets"),
            all as u32
        );
        assert_eq!(recording.buffers[&Buffer::Separators(0)], all * 17 * 4);
        assert_eq!(u64::from(step("buckets.distribute").workgroups[1]), all);

        // log2(16) rounds. In a round all buckets have equally many pairs, and pivot buckets none.
        let rounds: Vec<_> = passes(&recording)
            .into_iter()
            .filter(|p| p[0].phase == Phase::FinalMerge)
            .collect();
        assert_eq!(rounds.len(), 4);
        for (round, pass) in rounds.iter().enumerate() {
            assert_eq!(parameter(pass[0], "substreams"), 16);
            assert_eq!(parameter(pass[0], "span"), 1 << round);
            assert_eq!(parameter(pass[0], "pairs"), 8 >> round);
            assert_eq!(
                parameter(pass[0], "bucket_step"),
                if all == 31 { 2 } else { 1 }
            );
            assert_eq!(parameter(pass.last().unwrap(), "end"), 16 * (8 >> round));
        }
    }
}

/// Samples beyond 1024 are merged, and beyond 2^15 distributed, by the same phases.
#[test]
fn the_samples_are_sorted_by_the_same_sort() {
    let recording = record(1 << 20, &options(Engine::BcfMergesortPb, 256, 512));
    let samples = 256 * 512;
    let inner = record(samples, &Options::default().engine(Engine::BcfMergesortPb));
    assert!(
        inner
            .steps
            .iter()
            .any(|s| s.kernel.is("buckets.distribute"))
    );
    let kernels = |steps: &[Step]| {
        steps
            .iter()
            .map(|s| (s.kernel.clone(), s.parameters))
            .collect::<Vec<_>>()
    };
    let begin = recording
        .steps
        .iter()
        .position(|s| s.kernel.is("buckets.sample_runs"))
        .unwrap();
    let end = recording
        .steps
        .iter()
        .position(|s| s.phase == Phase::Ranks)
        .unwrap();
    let within = &recording.steps[begin + 1..end];
    assert!(within.iter().all(|s| s.phase == Phase::Splitters));
    assert_eq!(kernels(within), kernels(&inner.steps));
    // The sort of samples has its own buffers, and the ranks are computed from its result.
    assert_eq!(
        recording.steps[end].buffer("sampled"),
        Some(Buffer::Samples(0))
    );
    let last = buffers(within.last().unwrap()).unwrap();
    assert_eq!(last, (Buffer::SamplesScratch(0), Buffer::Samples(0)));
    assert!(recording.buffers.contains_key(&Buffer::Ranks(1)));
    assert_eq!(
        recording.buffers[&Buffer::Samples(0)],
        u64::from(samples) * 4
    );
}

/// Lemma 2: one pass for the base case, log(n / M P) passes of binary merges, one for the
/// distribution, and log(P) of the final phase. M is the number of keys in a tile, which is smaller
/// in warpsort.
#[test]
fn the_passes_over_the_keys_are_those_of_lemma_2() {
    for engine in Engine::MERGESORTS {
        for (log_n, log_p) in [(20, 4), (20, 6), (22, 8), (26, 2), (26, 8)] {
            let options = options(engine, 1 << log_p, 16);
            let log_m = options
                .mergesort
                .base_case_of(options.engine)
                .keys()
                .ilog2();
            let expected = 1 + (log_n - log_m - log_p) + 1 + log_p;
            let plan = Plan::new(
                1 << log_n,
                KeyType::U32,
                options.mergesort.parameters(options.engine),
            );
            assert_eq!(plan.passes(), expected);
            let recording = record(1 << log_n, &options);
            let of_keys = |pass: &&Vec<&Step>| {
                pass[0].phase != Phase::Copy
                    && buffers(pass[0]).is_some_and(|(from, _)| from <= Buffer::Scratch)
            };
            assert_eq!(
                passes(&recording).iter().filter(of_keys).count(),
                expected as usize
            );
        }
    }
}

#[test]
fn more_workgroups_than_a_dimension_holds_make_a_second_one() {
    let base_case = |recording: &Recording| {
        let mut steps = recording.steps.iter();
        steps.find(|step| step.phase == Phase::BaseCase).cloned()
    };
    let recording = record(1 << 27, &options(Engine::BcfMergesort, 1024, 4));
    let first = base_case(&recording).unwrap();
    assert_eq!(parameter(&first, "end"), 1 << 17);
    assert_eq!(first.workgroups, [65_535, 3]);
    for step in &recording.steps {
        assert!(
            step.workgroups
                .iter()
                .all(|&count| (1..=65_535).contains(&count)),
            "{step:?}"
        );
    }
    let exact = record(65_535 * MATRIX, &Options::default());
    assert_eq!(base_case(&exact).unwrap().workgroups, [65_535, 1]);
    let beyond = record(65_535 * MATRIX + 1, &Options::default());
    assert_eq!(base_case(&beyond).unwrap().workgroups, [65_535, 2]);
}

/// The best P is a matter of measurement. The default is used, and grows with n.
#[test]
fn default_p_and_t_depend_on_the_number_of_keys() {
    let lens: Vec<u32> = (0..32).map(|log_n| 1 << log_n).chain([u32::MAX]).collect();
    let buckets: Vec<u32> = lens
        .iter()
        .map(|&len| mergesort::default_buckets(len))
        .collect();
    assert!(buckets.is_sorted());
    assert!(buckets.iter().all(|p| p.is_power_of_two() && *p <= 1024));
    for (&len, &buckets) in lens[..26].iter().zip(&buckets) {
        let plan = Plan::new(
            len,
            KeyType::U32,
            Options::default().mergesort.parameters(Engine::Auto),
        );
        let Some(distribution) = plan.distribution else {
            assert!(buckets == 1 || len <= MATRIX * 2, "{len} keys");
            continue;
        };
        assert_eq!(distribution.buckets, buckets);
        assert_eq!(distribution.samples, mergesort::default_samples(buckets));
        assert!(distribution.pivots);
    }
}
