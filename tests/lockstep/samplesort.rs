//! The sample sort of words in the lock-step executor. It sorts any records without a race, an
//! access out of bounds or an uninitialised read, and sorts tiles without a bank conflict.

use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::LIMITS;
use bcfsort_testkit::recordings::{Execution, KernelReport};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::function_of;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort::kernels::Partition;
use wgpu_bcfsort::internals::samplesort::{
    AS_THEY_ARE, Records, Rooms, Sizes, SortPlan, WordSort, record_with,
};
use wgpu_bcfsort::internals::samplesort::{Shape, Tuning};
use wgpu_bcfsort::{Comparator, KeyType, Order};
use wgsl_lockstep::Config;

/// Small sizes, so that few records are sorted like many.
pub(super) fn sizes(shape: Shape) -> Sizes {
    let tile = if shape == Shape::Word { 1024 } else { 256 };
    Sizes {
        is_compact: true,
        sort_tile: tile,
        partition_tile: 512,
        lanes: 128,
        nodes: 32,
        most_nodes: 32,
        wide_tile: 512,
        wide_lanes: 128,
        is_always_wide: false,
        one_level: None,
        samples: 256,
        merged: 2 * tile,
        small: 0,
        large: 0,
        spread_tile: 0,
        spread_from: 0,
        rooms: Rooms {
            from: u32::MAX,
            counted: 8,
            most: u32::MAX,
            deviations: 6,
        },
    }
}

/// The input of a sort: keys as words, and values.
pub(super) struct Input {
    shape: Shape,
    keys: Vec<u32>,
    values: Vec<u32>,
}

impl Input {
    pub(super) fn new(shape: Shape, spec: &Spec) -> Self {
        let keys = if shape.key_words() == 1 {
            generate::<u32>(spec).unwrap()
        } else {
            bytemuck::cast_slice(&generate::<u64>(spec).unwrap()).to_vec()
        };
        let len = keys.len() / shape.key_words() as usize;
        let values = if shape.has_value() {
            (0..len as u32)
                .map(|i| i.wrapping_mul(0x9e37_79b9) >> 3)
                .collect()
        } else {
            Vec::new()
        };
        Self {
            shape,
            keys,
            values,
        }
    }

    /// The records of these words: keys of one or two words, or a key above its value.
    pub(super) fn of(shape: Shape, records: &[u64]) -> Self {
        let lower = records.iter().map(|&record| record as u32);
        let upper = records.iter().map(|&record| (record >> 32) as u32);
        let (keys, values) = match shape {
            Shape::Word => (lower.collect(), Vec::new()),
            Shape::TwoWords => (bytemuck::cast_slice(records).to_vec(), Vec::new()),
            Shape::Pair => (upper.collect(), lower.collect()),
            _ => panic!("records of {} have no two words", shape.name()),
        };
        Self {
            shape,
            keys,
            values,
        }
    }

    /// Words of a key.
    pub(super) const fn words(&self) -> usize {
        self.shape.key_words() as usize
    }

    fn len(&self) -> u32 {
        self.keys.len() as u32 / self.shape.key_words()
    }

    /// Records a sort of this input, and tells where its result is.
    pub(super) fn record(
        &self,
        (key, order): (KeyType, Order),
        out_of_place: bool,
        sizes: &Sizes,
        limits: &DeviceLimits,
    ) -> (Recording, Records) {
        let records = |keys, values| Records {
            keys,
            values: self.shape.has_value().then_some(values),
        };
        let source = records(Buffer::Keys, Buffer::Values);
        let other = records(Buffer::EncodedKeys, Buffer::EncodedValues);
        let target = if out_of_place { other } else { source };
        let len = self.len();
        let mut recording = Recording::new(len, key, order);
        if out_of_place {
            recording.reserve(Buffer::EncodedKeys, self.keys.len() as u64 * 4);
            if self.shape.has_value() {
                recording.reserve(Buffer::EncodedValues, u64::from(len) * 4);
            }
        }
        let job = WordSort {
            len,
            shape: self.shape,
            source,
            target,
            scratch: records(Buffer::Scratch, Buffer::ScratchValues),
            map: key.map(order),
            ranks: None,
        };
        record_with(&mut recording, &job, sizes, limits);
        (recording, target)
    }

    pub(super) fn execution<'a>(&self, recording: &'a Recording) -> Execution<'a> {
        let mut execution = Execution::new(recording, &self.keys, Config::default());
        if self.shape.has_value() {
            execution.set_buffer(Buffer::Values, self.values.clone());
        }
        execution
    }

    fn records(&self, keys: &[u32], values: &[u32], key: KeyType, order: Order) -> Vec<(u64, u32)> {
        let map = key.map(order);
        let words = self.shape.key_words() as usize;
        let key = |i: usize| match words {
            1 => u64::from(keys[i]),
            _ => u64::from(keys[2 * i]) | u64::from(keys[2 * i + 1]) << 32,
        };
        let value = |i: usize| values.get(i).copied().unwrap_or(0);
        (0..keys.len() / words)
            .map(|i| (map.encode(key(i)), value(i)))
            .collect()
    }
}

/// Runs a sort, and compares the result with the CPU's.
pub(super) fn sort(
    input: &Input,
    order: Order,
    out_of_place: bool,
    sizes: &Sizes,
    limits: &DeviceLimits,
) -> (Recording, Vec<KernelReport>) {
    let key = match input.shape.key_words() {
        1 => KeyType::F32,
        _ => KeyType::I64,
    };
    let (recording, target) = input.record((key, order), out_of_place, sizes, limits);
    let mut execution = input.execution(&recording);
    let reports = execution.run().unwrap();
    let mut expected = input.records(&input.keys, &input.values, key, order);
    expected.sort_unstable();
    let values = target
        .values
        .map_or(&[][..], |values| execution.buffer(values));
    let found = input.records(execution.buffer(target.keys), values, key, order);
    let what = format!("{} {}", input.len(), input.shape.name());
    let wrong = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(wrong, None, "{what}: not sorted");
    assert_eq!(found.len(), expected.len());
    (recording, reports)
}

pub(super) fn check(reports: &[KernelReport]) {
    for kernel in reports {
        let label = kernel.kernel.label();
        let findings = &kernel.report.findings;
        assert!(findings.is_empty(), "{label}: {findings:?}");
        assert!(kernel.kernel.is("samplesort"), "{label}");
        if !kernel.kernel.searches() {
            let degree = kernel.report.banks().max_degree;
            assert!(degree <= 1, "{label}: {degree} lanes meet in a bank");
        }
    }
}

#[test]
fn records_of_every_shape_are_sorted() {
    for shape in Shape::ALL {
        let sizes = sizes(shape);
        let tile = u64::from(sizes.sort_tile);
        for (len, levels) in [
            (1, 0),
            (tile - 1, 0),
            (tile, 0),
            (2 * tile - 5, 0),
            (3 * tile + 7, 1),
            (11 * tile + 1, 1),
            (40 * tile + 3, 2),
        ] {
            let plan = SortPlan::new(len as u32, &sizes);
            let planned = match &plan {
                SortPlan::Levels(levels) => levels.len(),
                _ => 0,
            };
            assert_eq!(planned, levels, "{len} {plan:?}");
            for (pattern, order, out_of_place) in [
                (Pattern::Full, Order::Ascending, false),
                (Pattern::FewDistinct, Order::Descending, true),
                (Pattern::Ascending, Order::Ascending, true),
                (Pattern::Maximal, Order::Ascending, false),
                (Pattern::ZeroOne, Order::Descending, false),
            ] {
                let mut spec = Spec::new(pattern, len);
                if pattern == Pattern::FewDistinct {
                    spec = spec.distinct(7);
                }
                let input = Input::new(shape, &spec);
                let (_, reports) = sort(&input, order, out_of_place, &sizes, &LIMITS);
                check(&reports);
            }
        }
    }
}

/// Tiles of 32 KiB, by a tuning: 4096 records of two words, or 2048 of three.
#[test]
fn the_largest_tiles_are_sorted() {
    for shape in [Shape::TwoWords, Shape::Pair, Shape::WidePair] {
        let tuning = Tuning {
            tile: 8192,
            ..Tuning::default()
        };
        let sizes = Sizes::new(shape, &tuning, &LIMITS);
        let tile = if shape == Shape::WidePair { 2048 } else { 4096 };
        assert_eq!(sizes.sort_tile, tile);
        for (len, out_of_place) in [(tile - 5, false), (17_000, true)] {
            let input = Input::new(shape, &Spec::new(Pattern::Full, len.into()));
            let (_, reports) = sort(&input, Order::Descending, out_of_place, &sizes, &LIMITS);
            check(&reports);
            let labels = reports.iter().map(|report| report.kernel.label());
            let of_tile = format!("bcfsort.samplesort.sort.{tile}.");
            assert!(labels.into_iter().any(|label| label.starts_with(&of_tile)));
        }
    }
}

/// Splitters from few samples leave children larger than a tile. They are sorted, too.
#[test]
fn items_larger_than_a_tile_are_sorted() {
    for shape in Shape::ALL {
        let mut sizes = sizes(shape);
        sizes.samples = 32;
        for (tiles, out_of_place) in [(5, false), (5, true), (14, false), (14, true)] {
            let len = tiles * u64::from(sizes.sort_tile) + 77;
            let input = Input::new(shape, &Spec::new(Pattern::Full, len));
            let (recording, reports) =
                sort(&input, Order::Descending, out_of_place, &sizes, &LIMITS);
            check(&reports);
            assert!(recording.steps.len() > 4);
        }
    }
}

/// The records are in a different buffer after each level.
#[test]
fn three_levels_are_sorted() {
    let sizes = sizes(Shape::TwoWords);
    let input = Input::new(Shape::TwoWords, &Spec::new(Pattern::Full, 99_000));
    assert!(matches!(SortPlan::new(99_000, &sizes), SortPlan::Levels(l) if l.len() == 3));
    let (_, reports) = sort(&input, Order::Ascending, false, &sizes, &LIMITS);
    check(&reports);
}

/// One level of more children saves the second one, up to a number of records.
#[test]
fn one_level_of_more_children_is_sorted() {
    let sizes = Sizes {
        one_level: Some(Partition {
            nodes: 128,
            tile: 512,
            lanes: 128,
        }),
        ..sizes(Shape::Word)
    };
    let levels = |len: u32, sizes: &Sizes| match SortPlan::new(len, sizes) {
        SortPlan::Levels(levels) => levels,
        plan => panic!("{len}: {plan:?}"),
    };
    for (len, nodes) in [(12_288, 32), (12_289, 128), (32_768, 128)] {
        let planned = levels(len, &sizes);
        let nodes_of_levels: Vec<u32> = planned.iter().map(|level| level.partition.nodes).collect();
        assert_eq!(nodes_of_levels, [nodes], "{len}");
        let input = Input::new(Shape::Word, &Spec::new(Pattern::Full, len.into()));
        let (_, reports) = sort(&input, Order::Descending, false, &sizes, &LIMITS);
        check(&reports);
    }
    assert_eq!(levels(32_769, &sizes).len(), 2);

    // On devices with much workgroup memory, for keys of one word.
    let of_device = |bytes, shape| {
        let limits = DeviceLimits {
            workgroup_bytes: bytes,
            workgroup_lanes: 1024,
            ..LIMITS
        };
        Sizes::new(shape, &Tuning::default(), &limits)
    };
    let (much, little) = (48 << 10, 32 << 10);
    let most = levels(1 << 20, &of_device(much, Shape::Word));
    assert_eq!(most.len(), 1);
    assert_eq!(most[0].partition.nodes, 1024);
    assert_eq!(
        levels((1 << 20) + 1, &of_device(much, Shape::Word)).len(),
        2
    );
    assert_eq!(levels(1 << 20, &of_device(little, Shape::Word)).len(), 2);
    assert_eq!(levels(1 << 20, &of_device(much, Shape::TwoWords)).len(), 2);
}

/// Several dispatches per phase, and grids of more than one row.
#[test]
fn dispatches_are_cut_and_grids_have_rows() {
    let limits = DeviceLimits {
        workgroups: 2,
        keys_per_dispatch: 4096,
        ..LIMITS
    };
    for shape in Shape::ALL {
        let sizes = sizes(shape);
        for tiles in [2, 9, 40] {
            let len = tiles * u64::from(sizes.sort_tile) - 9;
            let input = Input::new(shape, &Spec::new(Pattern::Random, len));
            let (recording, reports) = sort(&input, Order::Ascending, true, &sizes, &limits);
            assert!(recording.steps.iter().any(|step| step.workgroups[1] > 1));
            check(&reports);
        }
    }
}

/// If another submission overwrites keys between two dispatches, the result is not sorted, but no
/// access is out of bounds.
#[test]
fn overwriting_keys_in_the_middle_of_a_sort_is_within_bounds() {
    for shape in Shape::ALL {
        let sizes = sizes(shape);
        let len = 30 * u64::from(sizes.sort_tile) + 5;
        let input = Input::new(shape, &Spec::new(Pattern::Full, len));
        overwrite_keys(&input, &sizes, 5);
    }
}

/// Overwrites the keys before each of the first steps of a sort.
pub(super) fn overwrite_keys(input: &Input, sizes: &Sizes, steps: usize) {
    let (recording, _) = sort(input, Order::Ascending, false, sizes, &LIMITS);
    for (at, step) in recording.steps.iter().enumerate().take(steps) {
        for word in [0, u32::MAX] {
            let mut execution = input.execution(&recording);
            for (number, step) in recording.steps.iter().enumerate() {
                if number == at {
                    execution.set_buffer(Buffer::Keys, vec![word; input.keys.len()]);
                }
                let report = execution.step(step).unwrap();
                let findings = &report.findings;
                let out = findings
                    .iter()
                    .find(|f| f.fault != wgsl_lockstep::Fault::Race);
                let shape = input.shape.name();
                assert!(out.is_none(), "{shape} before {:?}: {out:?}", step.phase);
            }
        }
        assert!(step.keys > 0);
    }
}

/// Sorts the indices of rows of `words` words by a comparator with this body. A segment's splitters
/// are chosen from at most `samples` samples.
fn sort_rows(words: u32, body: &str, order: Order, samples: u32, rows: &[u32]) -> Vec<u32> {
    let rest = match words {
        1 => String::new(),
        _ => format!(", rest: array<u32, {}>", words - 1),
    };
    let wgsl = format!(
        "struct Row {{ key: u32{rest} }}
        fn precedes(a: Row, b: Row) -> bool {{ {body} }}"
    );
    let len = rows.len() as u32 / words;
    let shape = Shape::row(words, order == Order::Descending);
    let mut recording = Recording::new(len, KeyType::U32, order);
    recording.custom = Some(function_of(&Comparator::new(&wgsl).unwrap()).clone());
    recording.reserve(Buffer::EncodedValues, u64::from(len) * 4);
    let records = |keys| Records { keys, values: None };
    let job = WordSort {
        len,
        shape,
        source: records(Buffer::EncodedValues),
        target: records(Buffer::EncodedValues),
        scratch: records(Buffer::Scratch),
        map: AS_THEY_ARE,
        ranks: None,
    };
    let sizes = sizes(Shape::WidePair);
    let sizes = Sizes {
        sort_tile: 256,
        merged: 0,
        samples: samples.min(sizes.samples),
        ..sizes
    };
    record_with(&mut recording, &job, &sizes, &LIMITS);
    let mut execution = Execution::new(&recording, rows, Config::default());
    execution.set_buffer(Buffer::EncodedValues, (0..len).collect());
    let reports = execution.run().unwrap();
    for kernel in &reports {
        let label = kernel.kernel.label();
        let findings = &kernel.report.findings;
        assert!(findings.is_empty(), "{label}: {findings:?}");
        assert!(kernel.kernel.is("samplesort"), "{label}");
        if !kernel.kernel.searches() {
            let degree = kernel.report.banks().max_degree;
            assert!(degree <= 1, "{label}: {degree} lanes meet in a bank");
        }
    }
    execution.buffer(Buffer::EncodedValues).to_vec()
}

/// Rows that move with their indices or stay in their buffer; one tile, one level and two levels.
#[test]
fn rows_are_sorted_stably_by_a_comparator() {
    for words in 1..=5 {
        for (len, order) in [
            (200, Order::Descending),
            (256, Order::Ascending),
            (1500, Order::Descending),
            (10_000, Order::Ascending),
        ] {
            let len = if words == 5 { len.min(1500) } else { len };
            let random: Vec<u32> = generate(&Spec::new(Pattern::Full, len)).unwrap();
            let keys: Vec<u32> = random.iter().map(|word| word % 97).collect();
            let rows: Vec<u32> = (keys.iter())
                .flat_map(|&key| (0..words).map(move |word| if word == 0 { key } else { !key }))
                .collect();
            let found = sort_rows(words, "return a.key < b.key;", order, u32::MAX, &rows);
            let mut expected: Vec<u32> = (0..len as u32).collect();
            expected.sort_by_key(|&i| match order {
                Order::Ascending => keys[i as usize],
                Order::Descending => !keys[i as usize],
            });
            assert!(found == expected, "{len} rows of {words} words");
        }
    }
}

/// Splitters from few samples leave children of rows larger than a tile, with odd and even numbers
/// of blocks.
#[test]
fn items_of_rows_larger_than_a_tile_are_sorted() {
    for (words, len) in [(1, 5000), (1, 10_000), (5, 5000)] {
        let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, len)).unwrap();
        let rows: Vec<u32> = (keys.iter())
            .flat_map(|&key| std::iter::repeat_n(key, words as usize))
            .collect();
        let found = sort_rows(words, "return a.key < b.key;", Order::Ascending, 32, &rows);
        let mut expected: Vec<u32> = (0..len as u32).collect();
        expected.sort_by_key(|&i| keys[i as usize]);
        assert!(found == expected, "{len} rows of {words} words");
    }
}

/// With any comparator, no row is lost.
#[test]
fn inconsistent_comparators_leave_a_permutation_of_indices() {
    let rows: Vec<u32> = generate(&Spec::new(Pattern::Full, 5000)).unwrap();
    for body in [
        "return true;",
        "return ((a.key * 0x9e3779b9u) ^ (b.key * 0x85ebca6bu)) % 3u == 0u;",
    ] {
        let mut found = sort_rows(1, body, Order::Ascending, u32::MAX, &rows);
        found.sort_unstable();
        assert!(found.iter().copied().eq(0..5000), "{body}");
    }
}
