//! The bins of a segment in the lock-step executor: each way in which a bin can be crowded, and none;
//! and what holds for any input.

use super::samplesort::{Input, check, sizes, sort};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::LIMITS;
use bcfsort_testkit::recordings::set_parameters;
use wgpu_bcfsort::internals::recording::{Buffer, Phase};
use wgpu_bcfsort::internals::samplesort::{Shape, Sizes};
use wgpu_bcfsort::{KeyType, Order};

const SHAPES: [Shape; 3] = [Shape::Word, Shape::TwoWords, Shape::Pair];

/// Records, each of which is a sample.
const LEN: usize = 1024;

/// Nodes of the tree, and children; so many records of a child were it not for the bins.
const NODES: usize = 128;
const CHILD: usize = LEN / NODES;

/// Bins of the only segment.
const BINS: u64 = 16 * NODES as u64;

/// In the table: a record of this bin is searched in the tree.
const CROWDED: u16 = u16::MAX;

fn bin_sizes(shape: Shape) -> Sizes {
    Sizes {
        sort_tile: 256,
        nodes: NODES as u32,
        most_nodes: NODES as u32,
        samples: LEN as u32,
        merged: 0,
        ..sizes(shape)
    }
}

/// The bins of a segment, read from its splitters.
struct Bins {
    low: u64,
    shift: u32,
    /// The child of each bin, or [`CROWDED`].
    table: Vec<u16>,
}

impl Bins {
    fn of(&self, record: u64) -> u16 {
        let bin = (record.max(self.low) - self.low) >> self.shift;
        self.table[bin.min(BINS - 1) as usize]
    }
}

/// A segment after its partition: splitters in order, bins if it has any, and records per child.
struct Split {
    splitters: Vec<u64>,
    bins: Option<Bins>,
    counts: Vec<usize>,
}

impl Split {
    /// The child of a record by the splitters alone.
    fn child(&self, record: u64) -> u16 {
        self.splitters
            .partition_point(|&splitter| splitter < record) as u16
    }
}

/// Splits records of one segment, with each of them as a sample.
fn split(shape: Shape, records: &[u64]) -> Split {
    let key = match shape.key_words() {
        1 => KeyType::U32,
        _ => KeyType::U64,
    };
    let input = Input::of(shape, records);
    let order = (key, Order::Ascending);
    let (mut recording, _) = input.record(order, false, &bin_sizes(shape), &LIMITS);
    set_parameters(&mut recording, &["samples"], LEN as u32);
    set_parameters(&mut recording, &["child"], CHILD as u32);
    let mut execution = input.execution(&recording);
    let mut counts = Vec::new();
    for step in &recording.steps {
        let report = execution.step(step).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        if step.phase == Phase::Ranks && counts.is_empty() {
            let counted = &execution.buffer(Buffer::Counts)[..NODES];
            counts = counted.iter().map(|&count| count as usize).collect();
        }
    }
    let words = execution.buffer(Buffer::Splitters);
    let of_record = shape.stored_words() as usize;
    let record = |at: usize| match of_record {
        1 => u64::from(words[at]),
        _ => u64::from(words[at]) | u64::from(words[at + 1]) << 32,
    };
    let mut splitters: Vec<u64> = (1..NODES).map(|node| record(node * of_record)).collect();
    splitters.sort_unstable();
    let header = NODES * of_record;
    let table = &words[header + 4..][..BINS as usize / 2];
    let bins = (words[header] != u32::MAX).then(|| Bins {
        low: record(header + 1),
        shift: words[header],
        table: (table.iter())
            .flat_map(|&two| [two as u16, (two >> 16) as u16])
            .collect(),
    });
    Split {
        splitters,
        bins,
        counts,
    }
}

/// How a segment's records are searched.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Search {
    /// By bins alone.
    Bins,
    /// Records of some bins in the tree.
    SomeInTree,
    /// In the tree alone.
    Tree,
}

/// Splits and sorts records, and checks what holds for any.
fn check_records(shape: Shape, name: &str, records: &[u64], expected: Search) {
    let what = format!("{name} of {}", shape.name());
    assert_eq!(records.len(), LEN, "{what}");
    let split = split(shape, records);
    let search = match &split.bins {
        None => Search::Tree,
        Some(bins) if bins.table.contains(&CROWDED) => Search::SomeInTree,
        Some(_) => Search::Bins,
    };
    assert_eq!(search, expected, "{what}");

    let mut children = vec![Vec::new(); NODES];
    for &record in records {
        children[usize::from(split.child(record))].push(record);
    }
    for (child, records) in children.iter_mut().enumerate() {
        assert_eq!(records.len(), split.counts[child], "{what}: child {child}");
        records.dedup();
        assert!(
            split.counts[child] <= 2 * CHILD || records.len() == 1,
            "{what}: {} records in child {child}",
            split.counts[child]
        );
    }
    if let Some(bins) = &split.bins {
        let most = if shape == Shape::Word {
            u32::MAX.into()
        } else {
            u64::MAX
        };
        let bounds = (0..=BINS).map(|bin| bins.low.saturating_add(bin << bins.shift));
        let near = bounds.flat_map(|at| [at.saturating_sub(1), at]);
        for record in records.iter().copied().chain(near).chain([0, most]) {
            let child = bins.of(record.min(most));
            assert!(
                child == CROWDED || child == split.child(record.min(most)),
                "{what}: {record:#x} is in child {child}"
            );
        }
    }

    let input = Input::of(shape, records);
    for (order, out_of_place) in [(Order::Ascending, false), (Order::Descending, true)] {
        let (_, reports) = sort(&input, order, out_of_place, &bin_sizes(shape), &LIMITS);
        check(&reports);
    }
}

/// Random records, one after the other by index.
fn records(shape: Shape, of: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    let random: Vec<u64> = generate(&Spec::new(Pattern::Full, LEN as u64)).unwrap();
    let all = random.iter().enumerate();
    let mask = if shape == Shape::Word {
        u32::MAX.into()
    } else {
        u64::MAX
    };
    all.map(|(i, &bits)| of(i as u64, bits & mask)).collect()
}

#[test]
fn even_records_are_found_by_their_bins() {
    for shape in SHAPES {
        let even = |name: &str, of: fn(u64, u64) -> u64| {
            check_records(shape, name, &records(shape, of), Search::Bins);
        };
        even("random", |_, bits| bits);
        even("ascending", |i, _| 1_000_000 + 3000 * i);
        // From the least to the greatest record.
        even("extremes", |i, bits| match i {
            0 => 0,
            1 => u64::from(u32::MAX),
            _ => bits,
        });
        // Bins of one value, which hold any number of records.
        even("100 values", |_, bits| 70_000 + bits % 100);
        even("two values", |_, bits| 70_000 + bits % 2);
        even("the least record", |_, _| 0);
        // The first width beyond that: records above the last bin are no value of it.
        even("as many values as bins", |i, bits| match i {
            0 => 8,
            1 => 7 + BINS - 1,
            _ => 8 + bits % (BINS - 1),
        });
        even("twice as many values as bins", |i, _| 1 + 4 * i);
    }
    for shape in [Shape::TwoWords, Shape::Pair] {
        // Bins narrower than an upper word, of about one, and wider.
        for bits in [20, 31, 40, 43, 44, 45, 46, 57, 63] {
            let below = |_: u64, random: u64| (7 << 57) + 12_345 + (random >> (64 - bits));
            let name = format!("{bits} random bits");
            check_records(shape, &name, &records(shape, below), Search::Bins);
        }
        let greatest = records(shape, |_, _| u64::MAX);
        check_records(shape, "the greatest record", &greatest, Search::Bins);
    }
    let greatest = records(Shape::Word, |_, _| u32::MAX.into());
    check_records(Shape::Word, "the greatest record", &greatest, Search::Bins);
}

/// A frequent record keeps a child of its own.
#[test]
fn frequent_records_are_searched_in_the_tree() {
    for shape in SHAPES {
        let frequent = 2 * CHILD as u64;
        let some = records(shape, |i, bits| if i < frequent { 1 << 29 } else { bits });
        check_records(shape, "a frequent record", &some, Search::SomeInTree);
        let split = split(shape, &some);
        assert_eq!(
            split.counts[usize::from(split.child(1 << 29))],
            frequent as usize
        );
    }
}

/// Bins are no use where many children are in few of them.
#[test]
fn uneven_records_have_no_bins() {
    for shape in SHAPES {
        let uneven = |name: &str, of: fn(u64, u64) -> u64| {
            check_records(shape, name, &records(shape, of), Search::Tree);
        };
        uneven("powers", |i, bits| bits >> (i % 32));
        uneven("two groups", |i, _| {
            if i % 2 == 0 {
                i
            } else {
                (u32::MAX - 9999) as u64 + i
            }
        });
        uneven(
            "one far away",
            |i, _| if i == 0 { u32::MAX.into() } else { i },
        );
        uneven("frequent records", |i, bits| {
            if i % 4 == 0 { bits } else { (i % 8) << 28 }
        });
    }
}

/// In the second level, too, where each segment has its own bins.
#[test]
fn segments_have_bins_of_their_own() {
    for shape in SHAPES {
        let sizes = Sizes {
            nodes: 32,
            most_nodes: 32,
            ..bin_sizes(shape)
        };
        let len = 60_000;
        let random: Vec<u64> = generate(&Spec::new(Pattern::Full, len)).unwrap();
        let input = Input::of(shape, &random);
        let (recording, reports) = sort(&input, Order::Descending, false, &sizes, &LIMITS);
        check(&reports);
        let bins = recording
            .steps
            .iter()
            .filter(|step| step.phase == Phase::Splitters);
        let bins: Vec<u32> = bins.filter_map(|step| step.parameter("bins")).collect();
        assert_eq!(bins, [512, 256]);
    }
}
