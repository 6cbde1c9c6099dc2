//! The sort of an item by a partition in workgroup memory, in the lock-step executor: each way in
//! which an item can be crowded, and none.

use super::samplesort::{Input, check, sizes, sort};
use bcfsort_data::{Pattern, Spec};
use bcfsort_testkit::LIMITS;
use bcfsort_testkit::recordings::Execution;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort::{
    AS_THEY_ARE, Records, Shape, Sizes, WordSort, record_with,
};
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::{Config, Report};

const SHAPES: [Shape; 3] = [Shape::Word, Shape::TwoWords, Shape::Pair];

/// Tiles of 64 lines.
const TILE: u32 = 1024;

/// Records before the item, in its first row of memory.
const BEFORE: u32 = 5;

/// The states of an item in the list.
const EVEN: u32 = 0;
const UNEVEN: u32 = 2;

fn spread_sizes(shape: Shape, tile: u32) -> Sizes {
    Sizes {
        sort_tile: tile,
        is_compact: false,
        spread_tile: tile,
        merged: 0,
        ..sizes(shape)
    }
}

/// A record: its upper word and its lower word. Of one word: their sum.
type Record = (u32, u32);

/// Sorts one item, which begins after other records, and checks that these stay.
fn sort_item(shape: Shape, records: &[Record], state: u32) -> Report {
    sort_item_in(TILE, shape, records, state)
}

/// Sorts one item in a tile of this many records.
fn sort_item_in(tile: u32, shape: Shape, records: &[Record], state: u32) -> Report {
    let before = (0..BEFORE).map(|i| (u32::MAX - i, i));
    let after = (0..tile).map(|i| (tile - i, i));
    let records: Vec<Record> = (records.iter())
        .map(|&(upper, lower)| match shape {
            Shape::Word => (0, upper.wrapping_add(lower)),
            _ => (upper, lower),
        })
        .collect();
    let all: Vec<Record> = before.chain(records.iter().copied()).chain(after).collect();
    let len = all.len() as u32;
    // The smallest sort that spreads its items gives the step; its list of items is replaced.
    let recording = {
        let has = |buffer| shape.has_value().then_some(buffer);
        let records = |keys, values| Records {
            keys,
            values: has(values),
        };
        let job = WordSort {
            len,
            shape,
            source: records(Buffer::Keys, Buffer::Values),
            target: records(Buffer::Keys, Buffer::Values),
            scratch: records(Buffer::Scratch, Buffer::ScratchValues),
            map: AS_THEY_ARE,
            ranks: None,
        };
        let mut recording = Recording::new(len, KeyType::U64, Order::Ascending);
        record_with(&mut recording, &job, &spread_sizes(shape, tile), &LIMITS);
        recording
    };
    let step = recording.steps.last().unwrap();
    assert!(step.kernel.name().contains(".spread"));
    let words = |records: &[Record]| -> (Vec<u32>, Vec<u32>) {
        let values = records.iter().map(|record| record.1).collect();
        match shape {
            Shape::Word => (values, Vec::new()),
            Shape::Pair => (records.iter().map(|record| record.0).collect(), values),
            _ => {
                let keys = records.iter().flat_map(|&(upper, lower)| [lower, upper]);
                (keys.collect(), Vec::new())
            }
        }
    };
    let (keys, values) = words(&all);
    let mut execution = Execution::new(&recording, &vec![0; keys.len()], Config::default());
    execution.set_buffer(Buffer::Keys, vec![0; keys.len()]);
    execution.set_buffer(Buffer::Scratch, keys);
    if shape.has_value() {
        execution.set_buffer(Buffer::Values, vec![0; values.len()]);
        execution.set_buffer(Buffer::ScratchValues, values);
    }
    let mut items = vec![0; execution.buffer(Buffer::Items).len()];
    items[..4].copy_from_slice(&[1, BEFORE, records.len() as u32, state]);
    execution.set_buffer(Buffer::Items, items);
    let report = execution.step(step).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);

    let mut sorted = records.clone();
    sorted.sort_unstable();
    let mut expected = vec![(0, 0); BEFORE as usize];
    expected.extend(sorted);
    expected.resize(all.len(), (0, 0));
    let (keys, values) = words(&expected);
    assert!(
        execution.buffer(Buffer::Keys) == keys,
        "the keys are not sorted"
    );
    if shape.has_value() {
        assert!(
            execution.buffer(Buffer::Values) == values,
            "the values are not sorted"
        );
    }
    report
}

/// `count` records in groups of `size`, whose lower words differ; the groups are even.
fn groups(count: u32, size: u32) -> Vec<Record> {
    let record = |i: u32| {
        let mixed = i.wrapping_mul(0x9e37_79b9) % count;
        (mixed / size * size * 1_000_000, mixed % size)
    };
    (0..count).map(record).collect()
}

/// The more an item is crowded, the more passes it takes. An uneven one is not spread at all.
#[test]
fn an_item_takes_as_many_passes_as_it_is_crowded() {
    // Prime, so that `groups` gives a permutation.
    const COUNT: u32 = 907;
    for shape in SHAPES {
        let instructions = |records: &[Record], state| {
            assert_eq!(records.len() as u32, COUNT);
            sort_item(shape, records, state).lane_instructions
        };
        let even = instructions(&groups(COUNT, 1), EVEN);
        let of_groups = [110, 450].map(|size| instructions(&groups(COUNT, size), EVEN));
        let uneven = instructions(&groups(COUNT, 450), UNEVEN);
        assert!(even < of_groups[0], "{even} {of_groups:?}");
        assert!(of_groups[0] < of_groups[1], "{of_groups:?}");
        assert_eq!(instructions(&groups(COUNT, 30), EVEN), of_groups[0]);
        assert!(
            even < uneven && uneven < of_groups[1],
            "{even} {uneven} {of_groups:?}"
        );
        assert_eq!(instructions(&groups(COUNT, 1), UNEVEN), uneven);
        // Buckets of equal records are not crowded: 12 keys with 30 lower words each.
        let equal: Vec<Record> = (0..COUNT).map(|i| (i % 12, i * 7 % 30)).collect();
        let exact = instructions(&equal, EVEN);
        assert!(exact < of_groups[0], "{exact} {of_groups:?}");
        // Keys without gaps are spread by their values.
        let dense: Vec<Record> = (0..COUNT)
            .map(|i| (i % 9, i.wrapping_mul(0x9e37_79b9) >> 8))
            .collect();
        let by_values = instructions(&dense, EVEN);
        assert!(by_values < of_groups[0], "{by_values} {of_groups:?}");
        // Each of 256 lanes counts a bucket of more than 9 records.
        let in_largest = |size| {
            let groups = groups(4051, size);
            sort_item_in(4096, shape, &groups, EVEN).lane_instructions
        };
        assert_eq!(in_largest(14), in_largest(60));
    }
}

/// Bounds of all sizes, in either word, and items of all lengths.
#[test]
fn items_of_any_bounds_are_sorted() {
    let longest = TILE - BEFORE;
    for shape in SHAPES {
        for len in [1, 2, 15, 17, 500, longest] {
            for (upper, lower) in [
                (0, 0),
                (0, 1),
                (0, u32::MAX),
                (1, u32::MAX),
                (3, 70_000),
                (65_534, u32::MAX),
                (65_535, 1),
                (65_536, 2),
                (u32::MAX, 0),
                (u32::MAX, u32::MAX),
            ] {
                let within = |i: u32, most: u32| {
                    let mixed = u64::from((i + 1).wrapping_mul(0x9e37_79b9) ^ i << 7);
                    ((mixed * (u64::from(most) + 1)) >> 32) as u32
                };
                let mut records: Vec<Record> = (0..len)
                    .map(|i| (within(i, upper), within(i ^ 0x5555, lower)))
                    .collect();
                // Both bounds occur.
                records[0] = (upper, lower);
                if let Some(last) = records.get_mut(1) {
                    *last = (0, 0);
                }
                sort_item(shape, &records, EVEN);
            }
        }
    }
}

/// Whole sorts, of which segments are even, uneven, or in part.
#[test]
fn sorts_that_spread_their_items_are_sorted() {
    for shape in SHAPES {
        for (pattern, len, out_of_place, sort_tile) in [
            (Pattern::Full, 9_000, false, TILE),
            (Pattern::Full, 70_000, true, TILE),
            (Pattern::Full, 20_000, true, 4096),
            (Pattern::FewDistinct, 20_000, false, TILE),
            (Pattern::Zipf, 20_000, true, TILE),
            (Pattern::Random, 20_000, false, TILE),
            (Pattern::Special, 20_000, true, TILE),
            (Pattern::Constant, 9_000, false, TILE),
        ] {
            let sizes = spread_sizes(shape, sort_tile);
            let input = Input::new(shape, &Spec::new(pattern, len));
            let (_, reports) = sort(&input, Order::Descending, out_of_place, &sizes, &LIMITS);
            check(&reports);
            let spread = |name: &str| name.contains(".spread");
            assert!(reports.iter().any(|report| spread(report.kernel.name())));
        }
    }
}

/// Splitters from few samples leave items larger than a tile, whose tiles are spread.
#[test]
fn items_larger_than_a_tile_are_spread() {
    for shape in SHAPES {
        let sizes = Sizes {
            samples: 16,
            ..spread_sizes(shape, TILE)
        };
        for (tiles, out_of_place) in [(14, false), (14, true), (30, false)] {
            let len = tiles * u64::from(TILE) + 77;
            let input = Input::new(shape, &Spec::new(Pattern::Full, len));
            let (_, reports) = sort(&input, Order::Descending, out_of_place, &sizes, &LIMITS);
            check(&reports);
        }
    }
}
