//! The test cases of other sorts, as an independent check.
//!
//! - Patterns, sizes and the tests of stability of sort-research-rs, with which Rust's own sorts
//!   were developed: <https://github.com/Voultapher/sort-research-rs>, `sort_test_tools` and
//!   `benches`.
//! - Sizes of the tests of CUB's device merge sort: <https://github.com/NVIDIA/cccl>,
//!   `cub/test/catch2_test_device_merge_sort.cu`, and the older test of
//!   <https://github.com/NVIDIA/cub>.
//!
//! The inputs are made here from their descriptions. A covering set of them always runs. The whole
//! matrix takes very long on a software adapter: run it with `WGPU_BCFSORT_WHOLE_PEERS=1 cargo test
//! --release -p bcfsort-testkit --test gpu peers`.

use crate::device::{Gpu, check_sort, gpu};
use crate::pairs::{sorter, stable};
use Made::{Here, Ours};
use bcfsort_data::{Pattern, Range, Spec, generate};
use std::collections::HashSet;
use wgpu_bcfsort::{Detail, KeyType, Keys, Options, Order, Payload, SortJob, SortKey, Sorter};

fn whole() -> bool {
    std::env::var("WGPU_BCFSORT_WHOLE_PEERS").is_ok_and(|value| value != "0")
}

/// The source of a peer's pattern.
enum Made {
    /// A data set of this crate.
    Ours(fn(u64) -> Spec),
    /// A function in this file.
    Here(fn(u64) -> Vec<i32>),
}

/// The patterns of sort-research-rs, with their names there: dN has N different numbers, pN has N
/// percent random numbers among zeros, in sN the first N percent are sorted, and zN follows Zipf's
/// law with exponent N.
///
/// Ours differ in minor points: they begin with 1 instead of 0, the constant is another number, and
/// other rounding makes runs and sorted parts a number longer or shorter.
const PATTERNS: [(&str, Made); 35] = [
    ("random", Ours(|len| Spec::new(Pattern::Full, len))),
    (
        "random_binary",
        Ours(|len| Spec::new(Pattern::ZeroOne, len)),
    ),
    ("random_d4", Ours(|len| up_to(len, 3))),
    ("random_d8", Ours(|len| up_to(len, 7))),
    ("random_d16", Ours(|len| up_to(len, 15))),
    ("random_d20", Ours(|len| up_to(len, 19))),
    ("random_d256", Ours(|len| up_to(len, 255))),
    ("random_d1024", Ours(|len| up_to(len, 1023))),
    ("random_dense", Ours(|len| up_to(len, log2(len)))),
    ("random_narrow", Ours(|len| up_to(len, 100 * log2(len)))),
    ("random_div3", Ours(|len| up_to(len, len / 3))),
    (
        "random_z1",
        Ours(|len| Spec::new(Pattern::Zipf, len).distinct(len)),
    ),
    ("random_z1_03", Here(|len| zipf(len, 1.03))),
    ("random_z2", Here(|len| zipf(len, 2.0))),
    (
        "random_p1",
        Here(|len| shuffled(&with_zeros(len, 1, random))),
    ),
    (
        "random_p5",
        Here(|len| shuffled(&with_zeros(len, 5, random))),
    ),
    (
        "random_p50",
        Here(|len| shuffled(&with_zeros(len, 50, random))),
    ),
    (
        "random_s50",
        Ours(|len| Spec::new(Pattern::HalfSorted, len).range(Range::Full)),
    ),
    (
        "random_s95",
        Ours(|len| Spec::new(Pattern::MostlySorted, len).range(Range::Full)),
    ),
    ("ascending", Ours(|len| Spec::new(Pattern::Ascending, len))),
    (
        "descending",
        Ours(|len| Spec::new(Pattern::Descending, len)),
    ),
    (
        "saw_ascending",
        Ours(|len| {
            let runs = log2(len).max(1);
            Spec::new(Pattern::Runs, len).range(Range::Full).runs(runs)
        }),
    ),
    (
        "saw_descending",
        Here(|len| saws(len, [len / log2(len).max(1); 2], Some(true))),
    ),
    (
        "saws_long",
        Here(|len| saws(len, [len / log2(len).max(1); 2], None)),
    ),
    ("saw_mixed_22", Here(|len| saws(len, [22, 22], None))),
    ("saw_mixed_range", Here(|len| saws(len, [20, 49], None))),
    ("saws_short", Here(|len| saws(len, [20, 69], None))),
    ("pipe_organ", Here(pipe_organ)),
    ("all_equal", Ours(|len| Spec::new(Pattern::Constant, len))),
    (
        "90_one_10_zero",
        Here(|len| {
            let mut numbers = with_zeros(len, 90, ones);
            numbers.reverse();
            numbers
        }),
    ),
    ("90_zero_10_one", Here(|len| with_zeros(len, 10, ones))),
    ("90_zero_10_random", Here(|len| with_zeros(len, 10, random))),
    (
        "90p_zero_10p_one",
        Here(|len| shuffled(&with_zeros(len, 10, ones))),
    ),
    (
        "90p_zero_10p_random_dense_neg",
        Here(|len| shuffled(&with_zeros(len, 10, |few| uniform(few, -10, 10, 1)))),
    ),
    (
        "90p_zero_10p_random_dense_pos",
        Here(|len| shuffled(&with_zeros(len, 10, |few| uniform(few, 0, 10, 1)))),
    ),
];

/// The sizes of sort-research-rs, with the small sizes of all its versions.
const SIZES: [u64; 31] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 19, 20, 24, 30, 32, 33, 35, 50, 100, 200,
    500, 1_000, 2_048, 5_000, 10_000,
];
const LARGE_SIZES: [u64; 2] = [100_000, 1_000_000];

/// A way to sort the numbers.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Keys without payload, with the default options.
    Keys(KeyType, Order),
    /// The same, with a sample sort of small tiles.
    Sampled(KeyType),
    /// A stable argsort of few different keys, with the same sample sort.
    Indices,
}

/// Few ways, since lavapipe compiles kernels for each.
const WAYS: [Way; 3] = [
    Way::Keys(KeyType::U32, Order::Ascending),
    Way::Keys(KeyType::F64, Order::Descending),
    Way::Indices,
];
/// Further ways for the whole matrix.
const MORE_WAYS: [Way; 9] = [
    Way::Keys(KeyType::I32, Order::Ascending),
    Way::Keys(KeyType::U64, Order::Ascending),
    Way::Keys(KeyType::F32, Order::Descending),
    Way::Keys(KeyType::I32, Order::Descending),
    Way::Keys(KeyType::U64, Order::Descending),
    Way::Keys(KeyType::F32, Order::Ascending),
    Way::Sampled(KeyType::I32),
    Way::Sampled(KeyType::U64),
    Way::Sampled(KeyType::F32),
];

/// Random numbers from 0 to `last`.
fn up_to(len: u64, last: u64) -> Spec {
    Spec::new(Pattern::Random, len).range(Range::Values {
        low: 0,
        high: last.into(),
    })
}

fn uniform<T: SortKey>(len: u64, low: i128, high: i128, seed: u64) -> Vec<T> {
    let spec = Spec::new(Pattern::Random, len).range(Range::Values { low, high });
    generate(&spec.seed(seed)).unwrap()
}

fn random(len: u64) -> Vec<i32> {
    generate(&Spec::new(Pattern::Full, len)).unwrap()
}

fn ones(len: u64) -> Vec<i32> {
    vec![1; len as usize]
}

/// The logarithm, rounded to the nearest integer; 0 for 0.
fn log2(len: u64) -> u64 {
    // The logarithm of the square is twice as large. Half of it, rounded up, is rounded to nearest.
    (len * len).max(1).ilog2().div_ceil(2).into()
}

/// Numbers k from 1 on, drawn with probability proportional to 1 / k^exponent.
fn zipf(len: u64, exponent: f64) -> Vec<i32> {
    let mut total = 0.0;
    let sums: Vec<f64> = (1..=len)
        .map(|k| {
            total += (k as f64).powf(-exponent);
            total
        })
        .collect();
    let drawn: Vec<u64> = generate(&Spec::new(Pattern::Full, len)).unwrap();
    let number = |bits: u64| {
        let drawn = bits as f64 / u64::MAX as f64 * total;
        let below = sums.partition_point(|&sum| sum < drawn);
        i32::try_from(below + 1).unwrap()
    };
    drawn.into_iter().map(number).collect()
}

/// Zeros, followed by `percent` percent of `others`.
fn with_zeros(len: u64, percent: u64, others: fn(u64) -> Vec<i32>) -> Vec<i32> {
    let few = (len * percent + 50) / 100;
    let mut numbers = vec![0; (len - few) as usize];
    numbers.extend(others(few));
    numbers
}

fn shuffled(numbers: &[i32]) -> Vec<i32> {
    let spec = Spec::new(Pattern::Distinct, numbers.len() as u64).seed(2);
    let order: Vec<u32> = generate(&spec).unwrap();
    order.iter().map(|&i| numbers[i as usize - 1]).collect()
}

/// Random numbers in teeth of these lengths: all falling, all rising, or both with `None`.
fn saws(len: u64, [shortest, longest]: [u64; 2], fall: Option<bool>) -> Vec<i32> {
    let (shortest, longest) = (shortest.max(1), longest.max(1));
    let most = len.div_ceil(shortest);
    let lengths: Vec<u64> = uniform(most, shortest.into(), longest.into(), 3);
    let falls: Vec<u32> = uniform(most, 0, 1, 4);
    let mut numbers = random(len);
    let mut begin = 0;
    for (length, falls) in lengths.into_iter().zip(falls) {
        let end = numbers.len().min(begin + length as usize);
        let tooth = &mut numbers[begin..end];
        tooth.sort_unstable();
        if fall.unwrap_or(falls == 1) {
            tooth.reverse();
        }
        begin = end;
    }
    assert_eq!(begin, numbers.len());
    numbers
}

/// Random numbers, the first half rising, the second half falling.
fn pipe_organ(len: u64) -> Vec<i32> {
    let mut numbers = random(len);
    let (rising, falling) = numbers.split_at_mut(len as usize / 2);
    rising.sort_unstable();
    falling.sort_unstable();
    falling.reverse();
    numbers
}

/// Keys in the order of these numbers, spread over all bits of wider keys, as in sort-research-rs.
/// Floats are from the whole type, `NaN`s included.
fn keys<T: SortKey>(numbers: &[i32]) -> Vec<T> {
    let spread: u64 = if T::KEY_TYPE.words() == 1 {
        1
    } else {
        (1 << 31) - 1
    };
    let map = T::KEY_TYPE.map(Order::Ascending);
    let key = |number: &i32| {
        let ordered = u64::from(number.cast_unsigned() ^ (1 << 31));
        T::from_bits64(map.decode(ordered * spread))
    };
    numbers.iter().map(key).collect()
}

fn check_keys(sorter: &Sorter, key: KeyType, order: Order, numbers: &[i32], what: &str) {
    match key {
        KeyType::U32 => check_sort::<u32>(sorter, &keys(numbers), order, what),
        KeyType::F64 => check_sort::<f64>(sorter, &keys(numbers), order, what),
        KeyType::I32 => check_sort::<i32>(sorter, &keys(numbers), order, what),
        KeyType::U64 => check_sort::<u64>(sorter, &keys(numbers), order, what),
        KeyType::F32 => check_sort::<f32>(sorter, &keys(numbers), order, what),
        other => panic!("no way has {other} keys"),
    }
}

fn check_indices(gpu: &Gpu, keys: &[u32], what: &str) {
    let indices = sorter(gpu).argsort(keys, Order::Ascending).unwrap();
    assert!(indices == stable(keys, Order::Ascending), "{what}");
}

fn check(gpu: &Gpu, (name, made): &(&str, Made), size: u64, way: Way) {
    let numbers = match made {
        Ours(spec) => generate(&spec(size)).unwrap(),
        Here(make) => make(size),
    };
    let what = format!("{size} {name} {way:?}");
    match way {
        Way::Keys(key, order) => {
            let sorter = gpu.sorter(&Options::default());
            check_keys(&sorter, key, order, &numbers, &what);
        }
        Way::Sampled(key) => {
            check_keys(&sorter(gpu), key, Order::Ascending, &numbers, &what);
        }
        Way::Indices => {
            let few: Vec<u32> = numbers.iter().map(|n| n.unsigned_abs() % 128).collect();
            check_indices(gpu, &few, &what);
        }
    }
}

/// Cases with every pair of pattern and way, and every pair of size and way.
fn covering_set() -> Vec<(usize, u64, Way)> {
    let per_pattern = 2 * WAYS.len();
    let numbers = 0..PATTERNS.len() * per_pattern;
    let pairs: HashSet<_> = (numbers.clone())
        .map(|i| (i % SIZES.len(), i % WAYS.len()))
        .collect();
    assert_eq!(pairs.len(), SIZES.len() * WAYS.len());
    let mut cases: Vec<_> = numbers
        .map(|i| {
            let (size, way) = (SIZES[i % SIZES.len()], WAYS[i % WAYS.len()]);
            (i / per_pattern, size, way)
        })
        .collect();
    // Few large sizes, in the ways that need few additional kernels.
    let large = |first, step, size, way| {
        let patterns = (first..PATTERNS.len()).step_by(step);
        patterns.map(move |pattern| (pattern, size, way))
    };
    cases.extend(large(0, 6, LARGE_SIZES[0], WAYS[0]));
    cases.extend(large(3, 12, LARGE_SIZES[0], Way::Indices));
    cases.extend(large(0, 26, LARGE_SIZES[1], WAYS[0]));
    cases
}

fn whole_matrix() -> Vec<(usize, u64, Way)> {
    let ways: Vec<Way> = WAYS.into_iter().chain(MORE_WAYS).collect();
    let mut cases = Vec::new();
    for size in SIZES.into_iter().chain(LARGE_SIZES) {
        for pattern in 0..PATTERNS.len() {
            cases.extend(ways.iter().map(|&way| (pattern, size, way)));
        }
    }
    cases
}

#[test]
fn patterns_and_sizes_of_sort_research_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let cases = if whole() {
        whole_matrix()
    } else {
        covering_set()
    };
    println!("{} sorts", cases.len());
    for (pattern, size, way) in cases {
        check(gpu, &PATTERNS[pattern], size, way);
    }
}

/// Ten different keys and every small size, as sort-research-rs tests its stable sorts.
#[test]
fn indices_of_ten_different_keys_are_stable_at_every_small_size() {
    let Some(gpu) = gpu() else { return };
    let rounds = if whole() { 10 } else { 1 };
    for size in (2..55).chain(3000..3010) {
        for round in 0..rounds {
            let keys: Vec<u32> = uniform(size, 0, 9, 10 * size + round);
            check_indices(gpu, &keys, &format!("{size} keys, round {round}"));
        }
    }
}

/// Tiles of CUB's merge sort for 4-byte keys: 256 lanes of 11 or 17 keys, or 512 lanes of 15.
const CUB_TILES: [u64; 3] = [256 * 11, 256 * 17, 512 * 15];

/// The inputs of CUB's tests. A shuffled range, in which no two keys are equal, as keys and as
/// key-value pairs; and the indices of keys that are equal in part or all. Some sorts are repeated
/// out of place, as by CUB's `SortKeysCopy` and `SortPairsCopy`.
#[test]
fn sizes_of_cubs_merge_sort_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let default = gpu.sorter(&Options::default());
    let around = |size: u64| [size - 1, size, size + 1];
    // Sizes of the older test.
    let powers = (9..=21).step_by(2).map(|power| 1_u64 << power);
    let mut sizes: Vec<u64> = powers.chain(CUB_TILES).flat_map(around).collect();
    // Sizes of the current test, which adds two random sizes in each run.
    sizes.extend([0, 500, 1_000_000, 2_000_000]);
    let count = if whole() { 20 } else { 2 };
    sizes.extend(uniform::<u64>(count, 1, 1_000_000, 5));
    for (i, size) in sizes.into_iter().enumerate() {
        // Large sizes alternate between the checks, and the largest are left out.
        let every = whole() || size <= 10_000;
        if !every && size > 1_000_000 {
            continue;
        }
        let ranks: Vec<u32> = generate(&Spec::new(Pattern::Distinct, size)).unwrap();
        if every || i % 3 != 1 {
            let what = format!("{size} shuffled");
            check_sort(&default, &ranks, Order::Ascending, &what);
        }
        if every || i % 3 == 1 {
            let many: Vec<u32> = uniform(size, 0, 128, 6);
            check_indices(gpu, &many, &format!("{size} of 129 different keys"));
        }
        if every {
            let same = vec![42_u32; size as usize];
            check_indices(gpu, &same, &format!("{size} equal keys"));
        }
        if every && size > 0 {
            check_pairs(gpu, &ranks);
        }
        if size > 0 && (whole() || every && i % 3 == 0) {
            check_copies(gpu, &ranks);
        }
        if whole() {
            let wide: Vec<f64> = ranks.iter().copied().map(f64::from).collect();
            let what = format!("{size} shuffled f64");
            check_sort(&default, &wide, Order::Ascending, &what);
        }
    }
}

/// Sorts the numbers from 1 on with values, out of place.
fn check_copies(gpu: &Gpu, ranks: &[u32]) {
    let values: Vec<u32> = ranks.iter().map(|rank| rank ^ 0x5555).collect();
    let len = ranks.len() as u64;
    let [keys, with_them] = [ranks, &values].map(|words| gpu.buffer(words));
    let [sorted_keys, sorted_values] = [(); 2].map(|()| gpu.empty_buffer(4 * len));
    let sort = SortJob::new(Keys::new(&keys, KeyType::U32), len)
        .output(&sorted_keys)
        .payload(Payload::new(&with_them, 4).output(&sorted_values));
    let sorter = sorter(gpu);
    let sort = sort.prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();
    let sorted = 1..=len as u32;
    let after = gpu.read(&sorted_values).into_iter();
    assert!(
        gpu.read(&sorted_keys).into_iter().eq(sorted.clone()),
        "{len} copies"
    );
    assert!(
        after.eq(sorted.map(|rank| rank ^ 0x5555)),
        "{len} copied values"
    );
    assert!(gpu.read(&keys) == ranks && gpu.read(&with_them) == values);
}

/// Sorts the numbers from 1 on with values that identify their keys.
fn check_pairs(gpu: &Gpu, ranks: &[u32]) {
    let value = |rank: u32| rank.wrapping_mul(0x9e37_79b1);
    let values: Vec<u32> = ranks.iter().copied().map(value).collect();
    let (len, key) = (ranks.len() as u64, KeyType::U32);
    let (keys, values) = (gpu.buffer(ranks), gpu.buffer(&values));
    let sorter = sorter(gpu);
    let sort = SortJob::new(Keys::new(&keys, key), len).values(&values);
    let sort = sort.prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();
    let sorted = 1..=len as u32;
    assert!(gpu.read(&keys).into_iter().eq(sorted.clone()), "{len} keys");
    let sorted = sorted.map(value);
    assert!(gpu.read(&values).into_iter().eq(sorted), "{len} values");
}
