//! Every recording is valid and within the bound of scratch memory, for random lengths and options.

use crate::recording::{buffers, options, parameter, passes};
use bcfsort_testkit::LIMITS;
use proptest::prelude::*;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::mergesort::{self, Plan, kernels};
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Step};
use wgpu_bcfsort::internals::shader::{LARGEST_TILE, MATRIX, W};
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, KeyType, Options, Order};

/// Checks that each item of a pass is in one dispatch, or in one chain of dispatches.
fn check_items(
    pass: &[&Step],
    limits: &DeviceLimits,
    (len, key): (u32, KeyType),
    options: &Options,
) {
    let page = options.engine.page();
    let first = pass[0];
    let workgroups = |step: &Step| u64::from(step.workgroups[0]) * u64::from(step.workgroups[1]);
    for step in pass {
        assert!(step.workgroups[0] <= limits.workgroups);
    }
    let form = options.mergesort.base_case_of(options.engine);
    match &first.kernel {
        kernel if kernel.constant("TILES").is_some() => {
            let base_case = options.mergesort.base_case_kernel(options.engine, key);
            assert_eq!(*kernel, base_case);
            let warps = kernel.constant("LANES").unwrap() / W;
            let tiles_a_workgroup = u64::from(warps / form.warps());
            let tile = u64::from(form.keys());
            let most = u64::from(limits.keys_per_dispatch).max(tile * tiles_a_workgroup);
            let mut next = 0;
            for step in pass {
                let (from, to) = (parameter(step, "first"), parameter(step, "end"));
                assert_eq!(from, next);
                assert!(workgroups(step) * tiles_a_workgroup >= u64::from(to - from));
                // The last workgroup may be partly used.
                let tiles = u64::from(to - from).next_multiple_of(tiles_a_workgroup);
                assert!(tiles * tile < most + tile * tiles_a_workgroup);
                next = to;
            }
            assert_eq!(next, parameter(first, "len").div_ceil(form.keys()));
        }
        kernel if *kernel == kernels::merge(options.engine, key) => {
            let most = (limits.keys_per_dispatch / page).min(1 << 14);
            let (mut pairs, mut done, mut chain) = ((0, 0), 0, None);
            for step in pass {
                let range = (parameter(step, "first"), parameter(step, "end"));
                if range != pairs {
                    // Ranges of pairs are contiguous, and their chains have equal length.
                    if pairs.1 > 0 {
                        assert_eq!(*chain.get_or_insert(done), done);
                    }
                    assert_eq!(range.0, pairs.1);
                    assert!(range.0 < range.1);
                    (pairs, done) = (range, 0);
                }
                assert_eq!(parameter(step, "done"), done);
                assert!((1..=most).contains(&parameter(step, "steps")));
                done += parameter(step, "steps");
                assert!(workgroups(step) >= u64::from(range.1 - range.0));
            }
            assert_eq!(chain.unwrap_or(done), done);
            let substreams = parameter(first, "substreams");
            if substreams == 0 {
                let run = parameter(first, "run");
                let len = parameter(first, "len");
                assert_eq!(pairs.1, len.div_ceil(run).div_ceil(2));
                // The first pair is the longest. A run without a partner is copied.
                let merges =
                    mergesort::page_merges(run.min(len), run.min(len - run.min(len)), page);
                assert_eq!(done, merges.max(1));
            } else {
                let span = parameter(first, "span");
                assert_eq!(parameter(first, "pairs"), substreams.div_ceil(2 * span));
                assert_eq!(pairs.1 % parameter(first, "pairs"), 0);
            }
        }
        kernel if kernel.is("buckets.distribute") => {
            let runs = parameter(first, "runs");
            let mut next = 0;
            for step in pass {
                assert_eq!(parameter(step, "first"), next);
                next += step.workgroups[0] / step.parameter("pieces").unwrap_or(1);
            }
            assert_eq!(next, runs);
            assert!(runs <= len.div_ceil(form.keys()));
        }
        kernel if kernel.is("layout") => {
            let mut next = 0;
            for step in pass {
                assert_eq!(parameter(step, "first"), next);
                next = parameter(step, "end");
            }
            // An item is a key, or a copied word.
            let words = match first.phase {
                Phase::Copy => key.words(),
                _ => 1,
            };
            let items = u64::from(len) * u64::from(words);
            assert_eq!(u64::from(next), items.div_ceil(MOVED.into()));
            assert!(u64::from(next) * u64::from(MOVED) <= 1 << 32);
        }
        _ => assert_eq!(pass.len(), 1),
    }
}

/// Keys that a workgroup encodes or decodes, or words that it copies.
const MOVED: u32 = 2048;

/// Checks the properties of every recording.
fn check(len: u32, key: KeyType, options: &Options, limits: &DeviceLimits) {
    let len = len.min(limits.max_len(key) as u32);
    let recording = record_sort(len, key, Order::Ascending, options, limits);
    let plan = Plan::new(len, key, options.mergesort.parameters(options.engine));
    let bytes = u64::from(len) * key.bytes();
    let bound = bytes + bytes / 10 + (16 << 20);
    let scratch = recording.scratch_bytes();
    assert!(
        scratch <= bound,
        "{scratch} bytes of scratch, {bound} promised: {:?}",
        recording.buffers
    );

    // Keys alternate between two buffers. Each pass reads the buffer that the last one wrote, and
    // the result is in the keys' buffer.
    let mut buffer = Buffer::Keys;
    let mut moves = 0;
    for pass in passes(&recording) {
        check_items(&pass, limits, (len, key), options);
        for step in &pass {
            // wgpu refuses a buffer in two bindings of a dispatch.
            for (i, a) in step.bindings.iter().enumerate() {
                assert!(
                    step.bindings[i + 1..].iter().all(|b| a.1 != b.1),
                    "{step:?}"
                );
            }
            for (_, buffer) in &step.bindings {
                assert!(*buffer == Buffer::Keys || recording.buffers.contains_key(buffer));
            }
        }
        let is_pass = |&(from, _): &(Buffer, Buffer)| {
            matches!(from, Buffer::Keys | Buffer::Scratch | Buffer::EncodedKeys)
        };
        if let Some((from, to)) = buffers(pass[0]).filter(is_pass) {
            assert_eq!(from, buffer);
            buffer = to;
            moves += 1;
        }
        let samples = [
            "buckets.sample_runs",
            "baseline.random_samples",
            "buckets.rank_splitters",
        ];
        if samples.iter().any(|name| pass[0].kernel.is(name))
            && !matches!(
                pass[0].buffer("source"),
                Some(Buffer::Samples(_) | Buffer::SamplesScratch(_))
            )
        {
            assert_eq!(pass[0].buffer("source"), Some(buffer));
        }
    }
    assert_eq!(buffer, Buffer::Keys);
    let encoded = recording.buffers.contains_key(&Buffer::EncodedKeys);
    let maps = if encoded { 2 } else { 0 };
    // An extra copy if the passes alone would end in the other buffer.
    let copies = plan.moves() % 2;
    let expected = plan.passes() + maps + copies;
    assert_eq!(moves, if len < 2 { 0 } else { expected });
    assert_eq!(encoded, len > 1 && key.map(Order::Ascending).flip != 0);
    let rounds = plan.merge_rounds.len() as u32;
    let left = rounds_left(
        len,
        rounds,
        options.mergesort.base_case_of(options.engine).keys(),
    );
    match &plan.distribution {
        None => assert!(left <= 1),
        Some(d) => {
            assert_eq!(d.runs, left);
            assert!(d.runs <= d.buckets);
            assert_eq!(d.final_rounds(), d.runs.next_power_of_two().ilog2());
            assert!(d.buckets <= options.mergesort.buckets.unwrap_or(1024));
            assert!(d.likely_bucket <= d.largest_bucket && d.largest_bucket <= len);
            assert!(d.likely_bucket >= len / d.buckets);
        }
    }
}

fn rounds_left(len: u32, rounds: u32, tile: u32) -> u32 {
    (0..rounds).fold(len.div_ceil(tile), |runs, _| runs.div_ceil(2))
}

fn any_options() -> impl Strategy<Value = Options> {
    let buckets = prop_oneof![
        Just(None),
        (0u32..=10).prop_map(|p| Some(1 << p)),
        (1u32..=1024).prop_map(Some)
    ];
    let samples = prop_oneof![Just(None), (1u32..=1024).prop_map(Some), Just(Some(1024))];
    let engine = prop::sample::select(&Engine::MERGESORTS[..]);
    // `None` is the engine's default.
    let base_case = prop_oneof![
        Just(None),
        prop::sample::select(&BaseCase::ALL[..]).prop_map(Some)
    ];
    // The warps of one tile, or up to eight times as many.
    let tiles = 0..4u32;
    (engine, base_case, tiles, buckets, samples).prop_map(
        |(engine, base_case, tiles, buckets, samples)| {
            let mut options = Options::default().engine(engine);
            options.mergesort.base_case = base_case;
            let fewest = options.mergesort.base_case_of(options.engine).warps();
            options.mergesort.warps = (tiles > 0).then(|| (fewest << tiles).min(8));
            options.mergesort.buckets = buckets;
            options.mergesort.samples = samples;
            options.validate().unwrap();
            options
        },
    )
}

/// Lengths of every magnitude up to the largest.
fn any_len() -> impl Strategy<Value = u32> {
    let most = u32::MAX - 2 * LARGEST_TILE + 1;
    prop_oneof![
        (0u32..32, any::<u32>()).prop_map(move |(shift, len)| (len >> shift).min(most)),
        (0..MATRIX * 4).prop_map(move |below| most - below),
        (1u32..1 << 14, 0u32..3).prop_map(|(runs, off)| (runs * MATRIX).saturating_sub(1) + off),
    ]
}

proptest! {
    #![proptest_config(
        ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() }
    )]

    #[test]
    fn every_recording_is_valid_and_within_the_scratch_bound(
        len in any_len(), key in 0..6usize, options in any_options(), cut in 0u32..8,
    ) {
        // Several dispatches, but few enough for the recording to fit in memory.
        let keys_per_dispatch = (len >> cut).max(MATRIX).max(1 << 22);
        let limits = DeviceLimits {
            keys_per_dispatch: if len > 1 << 27 { u32::MAX } else { keys_per_dispatch },
            ..LIMITS
        };
        check(len, KeyType::WHOLE_WORDS[key], &options, &limits);
    }

    #[test]
    fn every_recording_with_many_dispatches_is_valid(
        len in 0u32..300_000, key in 0..6usize, options in any_options(),
        keys_per_dispatch in prop_oneof![1024u32..5000, 1024u32..100_000],
        workgroups in 16u32..2000,
    ) {
        let limits = DeviceLimits { keys_per_dispatch, workgroups, ..LIMITS };
        check(len, KeyType::WHOLE_WORDS[key], &options, &limits);
    }
}

/// Extreme cases of scratch memory: all powers of two for P, many t, and lengths with relatively
/// large tables.
#[test]
fn scratch_memory_is_within_bounds_in_extreme_cases() {
    for engine in Engine::MERGESORTS {
        for log_p in 0..=10 {
            for samples in [1, 2, 16, 128, 500, 600, 700, 800, 1024] {
                for len in [
                    1025,
                    32_769,
                    1 << 20,
                    (1 << 20) + 1,
                    1 << 24,
                    u32::MAX - 2047,
                ] {
                    for key in [KeyType::U32, KeyType::F64] {
                        let limits = DeviceLimits {
                            keys_per_dispatch: if len < 1 << 24 { 1 << 16 } else { u32::MAX },
                            ..LIMITS
                        };
                        check(len, key, &options(engine, 1 << log_p, samples), &limits);
                    }
                }
            }
        }
    }
}
