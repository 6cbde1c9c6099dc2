//! Whole sorts on this machine's adapter, compared with the CPU's bit for bit.

use crate::device::{bits, check_sort, gpu};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::{PaperOptions, covering};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wgpu_bcfsort::internals::mergesort::PAGE;
use wgpu_bcfsort::internals::shader::MATRIX;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, KeyType, Options, Order, SortKey, Sorter};

fn options(engine: Engine, buckets: u32, samples: u32) -> Options {
    Options::default()
        .engine(engine)
        .buckets(buckets)
        .samples(samples)
}

fn types_and_orders() -> Vec<(KeyType, Order)> {
    let of_type = |key| ORDERS.map(|order| (key, order));
    KeyType::WHOLE_WORDS.into_iter().flat_map(of_type).collect()
}

/// Calls a generic function with the Rust type of a key type.
macro_rules! with_type {
    ($key:expr, $function:ident($($argument:expr),*)) => {
        match $key {
            KeyType::U32 => $function::<u32>($($argument),*),
            KeyType::I32 => $function::<i32>($($argument),*),
            KeyType::F32 => $function::<f32>($($argument),*),
            KeyType::U64 => $function::<u64>($($argument),*),
            KeyType::I64 => $function::<i64>($($argument),*),
            KeyType::F64 => $function::<f64>($($argument),*),
            other => panic!("key type {other}"),
        }
    };
}

/// A data set of any count. Patterns that exist only for some counts are filled up.
fn data<T: SortKey>(pattern: Pattern, distinct: Option<u64>, count: u64, seed: u64) -> Vec<T> {
    let mut spec = Spec::new(pattern, count).seed(seed);
    spec.count = spec.fitting_count();
    if spec.count > 0 {
        spec.distinct = distinct.map(|distinct| distinct.min(spec.count));
    }
    let mut keys: Vec<T> = match spec.count {
        0 => Vec::new(),
        _ => generate(&spec).unwrap(),
    };
    let rest = count - keys.len() as u64;
    keys.extend(generate::<T>(&Spec::new(Pattern::Random, rest).seed(seed)).unwrap());
    keys
}

/// Sizes with bugs in the past, and edge cases: the warp, the bank matrix, odd numbers of runs.
const SIZES: [u64; 24] = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    255,
    256,
    257,
    1023,
    1024,
    1025,
    3072,
    3073,
    5120,
    7167,
    7168,
    9216,
    9217,
    32_769,
    (1 << 16) - 1220,
    100_000,
    (1 << 20) + 123,
];

fn patterns() -> Vec<(Pattern, Option<u64>)> {
    let mut patterns: Vec<_> = Pattern::ALL.into_iter().map(|p| (p, None)).collect();
    patterns.extend([2, 4, 8, 311, 1024].map(|d| (Pattern::FewDistinct, Some(d))));
    patterns.extend([2, 47, 2250].map(|d| (Pattern::Duplicates, Some(d))));
    patterns
}

const BUCKETS: [Option<u32>; 8] = [
    None,
    Some(1),
    Some(2),
    Some(3),
    Some(5),
    Some(16),
    Some(64),
    Some(1024),
];
const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];
const SAMPLES: [Option<u32>; 4] = [None, Some(1), Some(7), Some(64)];
/// The number of dispatches of a pass over the keys; 0 is the library's default.
const CUTS: [u64; 3] = [0, 4, 64];

/// True if the shared device has the workgroup memory that a sort needs.
fn fits(options: &Options, key: KeyType) -> bool {
    let limit = gpu().map_or(0, |gpu| {
        gpu.device.limits().max_compute_workgroup_storage_size
    });
    let kernel = options.mergesort.base_case_kernel(options.engine, key);
    kernel.workgroup_bytes() <= limit
}

/// Every pair of engine, base case, type and order, size, pattern, P, t and cut occurs in some
/// sort. There are two exceptions for base cases that are not the paper's. They sort only 32-bit
/// keys, since their 64-bit kernels compile slowly on a CPU; the portability gates run those.
/// Larger sorts use the default base case instead, since some others are slow on a CPU. A million
/// keys are sorted only if all cases are run.
#[test]
fn a_covering_set_of_sorts_equals_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (patterns, types) = (patterns(), types_and_orders());
    let sizes = if gpu.runs_all_cases() {
        &SIZES[..]
    } else {
        &SIZES[..SIZES.len() - 1]
    };
    let levels = [
        sizes.len(),
        patterns.len(),
        types.len(),
        BUCKETS.len(),
        SAMPLES.len(),
        CUTS.len(),
        Engine::MERGESORTS.len(),
        BaseCase::ALL.len(),
    ];
    let cases = covering::pairs(&levels);
    println!("{} sorts", cases.len());
    for case in cases {
        let (size, (pattern, distinct)) = (sizes[case[0]], patterns[case[1]]);
        let (mut key, order) = types[case[2]];
        let mut options = Options::default()
            .engine(Engine::MERGESORTS[case[6]])
            .base_case(BaseCase::ALL[case[7]]);
        // Large sorts with many buckets or many dispatches take long and test nothing new.
        let most = if size > 1 << 17 { 128 } else { 1024 };
        let is_of_paper = [BaseCase::Bitonic, BaseCase::Diagonal, BaseCase::Transpose]
            .contains(&options.mergesort.base_case_of(options.engine));
        if !is_of_paper && key.words() == 2 {
            key = KeyType::U32;
        }
        if !fits(&options, key) {
            println!(
                "{key} {}: too large for this device",
                options.mergesort.base_case_of(options.engine)
            );
            options.mergesort.base_case = None;
        }
        if !is_of_paper && size > 1 << 16 {
            options.mergesort.base_case = None;
        }
        options.mergesort.buckets = BUCKETS[case[3]].map(|buckets| buckets.min(most));
        options.mergesort.samples = SAMPLES[case[4]];
        let cut = if size > 40_000 {
            CUTS[case[5]].min(4)
        } else {
            CUTS[case[5]]
        };
        options.keys_per_dispatch = (cut > 0).then(|| (size / cut.max(1)).max(1024) as u32);
        let what = format!(
            "{size} {key} {pattern} {distinct:?} {} {} {} P={:?} t={:?} \
             keys_per_dispatch={:?}",
            order.name(),
            options.engine,
            options.mergesort.base_case_of(options.engine),
            options.mergesort.buckets,
            options.mergesort.samples,
            options.keys_per_dispatch,
        );
        println!("{what}");
        let sorter = gpu.first.with_options(options).unwrap();
        with_type!(
            key,
            sort_pattern(&sorter, pattern, distinct, size, order, &what)
        );
    }
}

fn sort_pattern<T: SortKey>(
    sorter: &Sorter,
    pattern: Pattern,
    distinct: Option<u64>,
    size: u64,
    order: Order,
    what: &str,
) {
    check_sort(
        sorter,
        &data::<T>(pattern, distinct, size, size + 1),
        order,
        what,
    );
}

/// 2^22 + 1 keys: pytorch#183885.
#[test]
fn four_million_and_one_keys_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (engine, key) in gpu.cases(
        &[(Engine::BcfMergesortPb, KeyType::U32)],
        &[
            (Engine::BcfMergesort, KeyType::I64),
            (Engine::Warpsort, KeyType::F32),
        ],
    ) {
        let sorter = gpu.sorter(&Options::default().engine(engine));
        let what = format!("2^22+1 {key} {engine}");
        with_type!(
            key,
            sort_pattern(
                &sorter,
                Pattern::Full,
                None,
                (1 << 22) + 1,
                Order::Ascending,
                &what
            )
        );
    }
}

/// Every ragged tail: all lengths from one bank matrix to two, with all types and both orders.
#[test]
fn every_length_from_one_tile_to_two_equals_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for n in u64::from(MATRIX)..=u64::from(2 * MATRIX) {
        let order = ORDERS[n as usize % 2];
        let of_one_tile = [BaseCase::Bitonic, BaseCase::Diagonal, BaseCase::Transpose];
        let base_case = of_one_tile[n as usize / 2 % 3];
        let sorter = gpu.sorter(&Options::default().base_case(base_case));
        for key in [
            KeyType::WHOLE_WORDS[n as usize % 3],
            KeyType::WHOLE_WORDS[3 + n as usize / 3 % 3],
        ] {
            let what = format!("tail {n} {key} {} {base_case}", order.name());
            with_type!(
                key,
                sort_pattern(&sorter, Pattern::Full, None, n, order, &what)
            );
            // Padding of the tail must not replace a key of equal value.
            with_type!(
                key,
                sort_pattern(&sorter, Pattern::Maximal, None, n, order, &what)
            );
        }
    }
}

/// Tiles of every size, one or several per workgroup: lengths around one, two and three tiles.
#[test]
fn lengths_around_tiles_of_every_base_case_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let one_tile = BaseCase::ALL.map(|base_case| (base_case, base_case.warps()));
    let more_tiles = [
        (BaseCase::Bitonic, 2),
        (BaseCase::Bitonic, 4),
        (BaseCase::Long2, 4),
        (BaseCase::LongDiagonal2, 8),
    ];
    for (base_case, warps) in one_tile.into_iter().chain(more_tiles) {
        let options = Options::default().base_case(base_case).warps(warps);
        let tile = u64::from(base_case.keys());
        // Larger tiles of 64-bit keys compile slowly on lavapipe; the portability gates run them.
        let wide = (tile == u64::from(MATRIX)).then_some(KeyType::F64);
        for key in [KeyType::U32].into_iter().chain(wide) {
            if !fits(&options, key) {
                println!("{key} {base_case} {warps} warps: too large for this device");
                continue;
            }
            let sorter = gpu.sorter(&options);
            for n in [
                tile / 2 + 1,
                tile - 1,
                tile,
                tile + 1,
                2 * tile - 7,
                3 * tile + 33,
            ] {
                for pattern in [Pattern::Full, Pattern::Maximal] {
                    let what = format!("{n} {key} {pattern} {base_case} {warps} warps");
                    let order = ORDERS[n as usize % 2];
                    with_type!(key, sort_pattern(&sorter, pattern, None, n, order, &what));
                }
            }
        }
    }
}

#[test]
fn lengths_around_pages_and_runs_with_few_buckets_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for pages in 4..=40usize {
        // 33 keys below a page, up to 31 above.
        for off in [0, 32, 33, 34, 64] {
            let n = (pages * PAGE as usize - 33 + off) as u64;
            let engine = Engine::MERGESORTS[pages % Engine::MERGESORTS.len()];
            let buckets = [2, 3, 4, 8][pages / 2 % 4];
            let sorter = gpu.sorter(&options(engine, buckets, 5));
            let what = format!("{n} keys, {engine}, P={buckets}");
            sort_pattern::<u32>(&sorter, Pattern::Full, None, n, Order::Ascending, &what);
            sort_pattern::<f64>(&sorter, Pattern::Special, None, n, Order::Descending, &what);
        }
    }
}

#[test]
fn maximal_keys_with_ragged_tails_do_not_mix_with_padding() {
    let Some(gpu) = gpu() else { return };
    for engine in Engine::MERGESORTS {
        let sorter = gpu.sorter(&options(engine, 8, 4));
        for n in [2u64, 33, 1025, 5000, 9217, 20_001, 40_000] {
            for (key, order) in types_and_orders() {
                let what = format!("maximal {n} {key} {engine} {}", order.name());
                with_type!(key, sort_maximal(&sorter, n, order, &what));
            }
        }
    }
}

/// The largest keys, and a few of the smallest, which pad the front of a run.
fn sort_maximal<T: SortKey>(sorter: &Sorter, n: u64, order: Order, what: &str) {
    let mut keys = data::<T>(Pattern::Maximal, None, n, 1);
    let smallest = match T::KEY_TYPE {
        KeyType::U32 | KeyType::U64 => 0,
        KeyType::I32 => 1 << 31,
        KeyType::I64 => 1 << 63,
        // The NaN with every bit set.
        _ => u64::MAX,
    };
    check_sort(sorter, &keys, order, what);
    keys.iter_mut()
        .step_by(7)
        .for_each(|key| *key = T::from_bits64(smallest));
    check_sort(sorter, &keys, order, what);
}

/// Long pairs are merged in several dispatches that resume each other, at unaligned bucket starts:
/// every pair of cut, number of buckets, engine and pattern.
#[test]
fn long_pairs_cut_and_resumed_equal_the_cpu() {
    // 2, 3, 5 and 8 page merges per dispatch.
    const CUTS: [u64; 4] = [1024, 1536, 2560, 4096];
    const BUCKETS: [u32; 3] = [1, 4, 6];
    const PATTERNS: [Pattern; 7] = [
        Pattern::Full,
        Pattern::Ascending,
        Pattern::Descending,
        Pattern::FewDistinct,
        Pattern::Runs,
        Pattern::SawsMixed,
        Pattern::Maximal,
    ];
    let Some(gpu) = gpu() else { return };
    let levels = [
        PATTERNS.len(),
        CUTS.len(),
        BUCKETS.len(),
        Engine::MERGESORTS.len(),
    ];
    for case in covering::cases(&levels, gpu.runs_all_cases()) {
        let (pattern, cut, buckets) = (PATTERNS[case[0]], CUTS[case[1]], BUCKETS[case[2]]);
        let engine = Engine::MERGESORTS[case[3]];
        let sorter = gpu.sorter(&options(engine, buckets, 3).keys_per_dispatch(cut as u32));
        let what = format!("{pattern} {engine} P={buckets} cut at {cut}");
        sort_pattern::<u32>(&sorter, pattern, None, 30_011, Order::Ascending, &what);
        sort_pattern::<f64>(&sorter, pattern, None, 21_001, Order::Descending, &what);
    }
}

/// 16,383 steps of one pair in one dispatch, the largest number allowed: some drivers end loops of
/// too many iterations.
#[test]
fn the_longest_merge_of_a_dispatch_equals_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&options(Engine::Warpsort, 1, 1));
    for pattern in [Pattern::Ascending, Pattern::Full] {
        sort_pattern::<u32>(
            &sorter,
            pattern,
            None,
            1 << 20,
            Order::Ascending,
            "2^20, P=1",
        );
    }
}

/// Sorted input puts each bucket's keys into one or two runs; one key puts all into one bucket.
#[test]
fn skewed_buckets_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let n = 200_003u32;
    let inputs: [(&str, Vec<u32>); 6] = [
        ("ascending", (0..n).collect()),
        ("descending", (0..n).rev().collect()),
        ("one key", vec![9; n as usize]),
        (
            "one key but one",
            (0..n).map(|i| u32::from(i == n / 2)).collect(),
        ),
        (
            "one great run",
            (0..n)
                .map(|i| if i < n - 3000 { i / 50_000 } else { i })
                .collect(),
        ),
        (
            "interleaved",
            (0..n).map(|i| i % 4096 * 64 + i / 4096).collect(),
        ),
    ];
    let levels = [inputs.len(), Engine::MERGESORTS.len(), 2];
    for case in covering::cases(&levels, gpu.runs_all_cases()) {
        let (name, input) = &inputs[case[0]];
        let (engine, samples) = (Engine::MERGESORTS[case[1]], [1, 64][case[2]]);
        let what = format!("{name} {engine} t={samples}");
        let sorter = gpu.sorter(&options(engine, 64, samples));
        check_sort(&sorter, input, Order::Ascending, &what);
    }
}

#[test]
fn nan_payloads_zeros_and_subnormals_keep_every_bit() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&options(Engine::BcfMergesortPb, 8, 8));
    // Bit patterns near the limits of every class of float, with both signs.
    let classes = [
        0u32,
        1,
        0x007f_fff0,
        0x0080_0000,
        0x3f80_0000,
        0x7f7f_fff0,
        0x7f80_0000,
        0x7fbf_fff0,
        0x7fc0_0000,
        0x7fff_fff0,
    ];
    let keys: Vec<f32> = (0..40_000u32)
        .map(|i| (classes[i as usize % classes.len()] + i / 10 % 16) | ((i / 160 % 2) << 31))
        .map(f32::from_bits)
        .collect();
    let wide: Vec<f64> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| {
            let high = u64::from(key.to_bits()) << 32;
            f64::from_bits(if i % 3 == 0 { high } else { high | i as u64 })
        })
        .collect();
    let (ascending, descending) = (Order::Ascending, Order::Descending);
    for order in gpu.cases(&[ascending], &[descending]) {
        check_sort(&sorter, &keys, order, "floats of all classes");
    }
    for order in gpu.cases(&[descending], &[ascending]) {
        check_sort(&sorter, &wide, order, "doubles of all classes");
    }
    let mut sorted = keys.clone();
    sorter.sort(&mut sorted, Order::Ascending).unwrap();
    let count = |keys: &[f32]| {
        bits(keys)
            .into_iter()
            .fold(BTreeMap::new(), |mut counts, key| {
                *counts.entry(key).or_insert(0) += 1;
                counts
            })
    };
    assert_eq!(count(&sorted), count(&keys));
    assert!(
        sorted
            .windows(2)
            .all(|pair| pair[0].total_cmp(&pair[1]).is_le())
    );
}

/// Sorts the keys with these bits. Equality with the CPU's result shows a sorted permutation.
fn sort_bits<T: SortKey>(sorter: &Sorter, of: &[u64], order: Order) {
    let keys: Vec<T> = of.iter().map(|&bits| T::from_bits64(bits)).collect();
    let what = format!("property {} {}", T::KEY_TYPE, order.name());
    check_sort(sorter, &keys, order, &what);
}

proptest! {
    #![proptest_config(
        ProptestConfig {
            cases: 80,
            failure_persistence: None,
            max_shrink_iters: 200,
            ..Default::default()
        }
    )]

    #[test]
    fn the_output_is_a_sorted_permutation_of_the_input(
        keys in prop_oneof![
            prop::collection::vec(any::<u64>(), 0..3000),
            prop::collection::vec(0u64..20, 0..20_000),
            prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], 0..20_000),
        ],
        key in any::<prop::sample::Index>(),
        engine in 0..Engine::MERGESORTS.len(),
        options in 0..6usize,
    ) {
        let Some(gpu) = gpu() else { return Ok(()) };
        let (buckets, samples, keys_per_dispatch) = [
            (1, 1, 1 << 20), (2, 2, 1 << 20), (4, 1, 2048),
            (8, 64, 1 << 20), (16, 3, 3000), (1024, 2, 1 << 20),
        ][options];
        let options = self::options(Engine::MERGESORTS[engine], buckets, samples)
            .keys_per_dispatch(keys_per_dispatch);
        let (key, order) = *key.get(&types_and_orders());
        with_type!(key, sort_bits(&gpu.sorter(&options), &keys, order));
    }
}
