//! Combinations of all options of a sort job: a covering array of jobs, each compared with a stable
//! sort on the CPU, byte for byte.

use crate::device::{Gpu, gpu};
use crate::pairs::sorter;
use crate::rows::{by_field, run};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::covering::{covering, subsets};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use wgpu_bcfsort::{Comparator, KeyType, Keys, Order, Payload, Scratch, SortJob, Sorter};

/// The type of the records.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    U32,
    U64,
    U16,
    F32OfStructs,
    U16OfStructs,
    Compared,
}

/// The output of keys or structs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Output {
    InPlace,
    OutOfPlace,
    Nowhere,
}

/// The payload.
#[derive(Clone, Copy, Debug, PartialEq)]
enum With {
    Nothing,
    Values,
    Rows,
    RowsOutOfPlace,
    Two,
}

/// Which ranks are sorted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ranks {
    All,
    Top,
    Middle,
    OfSegments,
    TopOfSegments,
}

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)]
struct Case {
    kind: Kind,
    output: Output,
    with: With,
    ranks: Ranks,
    indices: bool,
    aligned: bool,
    indirect: bool,
    order: Order,
    shared_scratch: bool,
    len: usize,
}

const KINDS: [Kind; 6] = [
    Kind::U32,
    Kind::U64,
    Kind::U16,
    Kind::F32OfStructs,
    Kind::U16OfStructs,
    Kind::Compared,
];
const OUTPUTS: [Output; 3] = [Output::InPlace, Output::OutOfPlace, Output::Nowhere];
const WITH: [With; 5] = [
    With::Nothing,
    With::Values,
    With::Rows,
    With::RowsOutOfPlace,
    With::Two,
];
const RANKS: [Ranks; 5] = [
    Ranks::All,
    Ranks::Top,
    Ranks::Middle,
    Ranks::OfSegments,
    Ranks::TopOfSegments,
];
/// One tile, and several.
const LENGTHS: [usize; 2] = [900, 3001];

/// The same as in `selection`, so that its kernels are compiled once.
const COMPARATOR: &str = "struct Row { number: u32, key: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";

/// The segment offsets. The first records precede all segments.
const fn begins(len: usize) -> [u32; 5] {
    let len = len as u32;
    [5, 5, 40, len / 2, len - 3]
}

/// A range of a buffer, with other bytes before and after it.
struct Part {
    name: &'static str,
    buffer: wgpu::Buffer,
    before: Vec<u8>,
    /// Bytes before the range.
    first: usize,
    /// Bytes per record.
    bytes: usize,
    len: usize,
}

impl Part {
    fn new(gpu: &Gpu, name: &'static str, first: usize, records: &[Vec<u8>]) -> Self {
        let noise = |bytes: usize| (0..bytes).map(|i| (37 * i + 11) as u8);
        let mut before: Vec<u8> = noise(first).collect();
        before.extend(records.iter().flatten());
        let end = before.len();
        before.extend(noise((end + 20).next_multiple_of(4) - end));
        Self {
            name,
            buffer: gpu.buffer(&bytemuck::pod_collect_to_vec::<u8, u32>(&before)),
            before,
            first,
            bytes: records[0].len(),
            len: records.len(),
        }
    }

    /// The range, which ends with the last record.
    fn range(&self) -> wgpu::BufferSlice<'_> {
        let end = self.first + self.len * self.bytes;
        self.buffer.slice(self.first as u64..end as u64)
    }

    fn record<'a>(&self, all: &'a [u8], i: usize) -> &'a [u8] {
        &all[self.first + i * self.bytes..][..self.bytes]
    }

    fn read(&self, gpu: &Gpu) -> Vec<u8> {
        bytemuck::pod_collect_to_vec(&gpu.read(&self.buffer))
    }

    /// The first words of the first `len` records.
    fn numbers(&self, gpu: &Gpu, len: usize) -> Vec<u32> {
        let after = self.read(gpu);
        let word = |i| u32::from_le_bytes(self.record(&after, i)[..4].try_into().unwrap());
        (0..len).map(word).collect()
    }

    /// The expected bytes of `to` after the records were written to it in this order.
    fn moved(&self, to: &Self, order: &[u32]) -> Vec<u8> {
        let mut after = to.before.clone();
        for (rank, &i) in order.iter().enumerate() {
            let record = self.record(&self.before, i as usize);
            after[to.first + rank * to.bytes..][..to.bytes].copy_from_slice(record);
        }
        after
    }
}

/// The bytes of record `i`. A struct begins with its number.
fn record(kind: Kind, i: u32, key: u32) -> Vec<u8> {
    let words = |words: &[u32]| bytemuck::cast_slice(words).to_vec();
    match kind {
        Kind::U32 => words(&[key << 26]),
        // Neither word alone gives the order.
        Kind::U64 => words(&[key % 7, key / 7]),
        Kind::U16 => (key as u16 * 1000).to_le_bytes().to_vec(),
        Kind::F32OfStructs => words(&[i, (key as f32 - 25.5).to_bits(), !i]),
        Kind::U16OfStructs => words(&[i, (key * 1000) << 16 | i & 0xffff]),
        Kind::Compared => words(&[i, key]),
    }
}

/// The user buffers of a case.
struct Buffers {
    keys: Part,
    output: Part,
    /// The numbers 0, 1, 2 and so on: the indices of the unsorted records.
    numbers: Part,
    indices: Part,
    values: Part,
    rows: Part,
    rows_output: Part,
    count: Part,
    offsets: Part,
}

impl Buffers {
    fn new(gpu: &Gpu, case: &Case, keys: &[u32]) -> Self {
        let &Case { kind, len, .. } = case;
        let key_bytes = match kind {
            Kind::U64 => 8,
            Kind::U16 => 2,
            _ => 4,
        };
        // The ranges begin at different offsets.
        let first = |number: usize, unit: usize| {
            if case.aligned {
                256 * (number % 3)
            } else {
                unit * (2 * number + 3)
            }
        };
        let all = || 0..len as u32;
        let records: Vec<_> = all()
            .zip(keys)
            .map(|(i, &key)| record(kind, i, key))
            .collect();
        let rows = |name, number, words| {
            let row = |i: u32| (0..words).flat_map(move |w: u32| (i ^ (w << 20)).to_le_bytes());
            let rows: Vec<_> = all().map(|i| row(i).collect()).collect();
            Part::new(gpu, name, first(number, 4), &rows)
        };
        let blank = |name, number, unit, bytes| {
            let records = vec![vec![0xa5; bytes]; len];
            Part::new(gpu, name, first(number, unit), &records)
        };
        let words = |name, number, words: &[u32]| {
            let word = |word: &u32| word.to_le_bytes().to_vec();
            let words: Vec<_> = words.iter().map(word).collect();
            Part::new(gpu, name, first(number, 4), &words)
        };
        // The offset of compared structs must be a multiple of 256 bytes.
        let first_key = match kind {
            Kind::Compared => 512,
            _ => first(0, key_bytes),
        };
        Self {
            keys: Part::new(gpu, "keys", first_key, &records),
            output: blank("output", 1, key_bytes, records[0].len()),
            numbers: rows("numbers", 0, 1),
            indices: blank("indices", 2, 4, 4),
            values: rows("values", 3, 1),
            rows: rows("rows", 4, 3),
            rows_output: blank("rows_output", 5, 4, 12),
            count: words("count", 6, &[case.count() as u32]),
            offsets: words("offsets", 7, &begins(len)),
        }
    }

    fn all(&self) -> [&Part; 9] {
        [
            &self.keys,
            &self.output,
            &self.numbers,
            &self.indices,
            &self.values,
            &self.rows,
            &self.rows_output,
            &self.count,
            &self.offsets,
        ]
    }

    /// The buffers that a case writes, each as a pair of source and destination.
    fn written(&self, case: &Case) -> Vec<(&Part, &Part)> {
        let mut written = Vec::new();
        if case.indices {
            written.push((&self.numbers, &self.indices));
        }
        if matches!(case.with, With::Values | With::Two) {
            written.push((&self.values, &self.values));
        }
        match case.with {
            With::Rows => written.push((&self.rows, &self.rows)),
            With::RowsOutOfPlace | With::Two => written.push((&self.rows, &self.rows_output)),
            With::Nothing | With::Values => {}
        }
        match case.output {
            Output::InPlace => written.push((&self.keys, &self.keys)),
            Output::OutOfPlace => written.push((&self.keys, &self.output)),
            Output::Nowhere => {}
        }
        written
    }
}

impl Case {
    fn new(gpu: &Gpu, choices: &[usize]) -> Self {
        let is = |factor: usize| choices[factor] == 1;
        let mut case = Self {
            kind: KINDS[choices[0]],
            output: OUTPUTS[choices[1]],
            with: WITH[choices[2]],
            ranks: RANKS[choices[3]],
            indices: is(4),
            aligned: is(5),
            indirect: is(6),
            order: [Order::Ascending, Order::Descending][choices[7]],
            shared_scratch: is(8),
            len: LENGTHS[choices[9]],
        };
        // Lavapipe compiles a comparator's kernels slowly, for each order.
        if case.kind == Kind::Compared && !gpu.runs_all_cases() {
            case.order = Order::Ascending;
        }
        case
    }

    /// The number of records.
    fn count(&self) -> usize {
        if self.indirect {
            self.len * 2 / 3
        } else {
            self.len
        }
    }

    /// The ranks that must be in order: of all records, or of each segment.
    fn selected(&self) -> Range<usize> {
        match self.ranks {
            Ranks::Top | Ranks::TopOfSegments => 0..self.len / 5,
            Ranks::Middle => self.len / 3..self.len / 2,
            Ranks::All | Ranks::OfSegments => 0..self.len,
        }
    }

    const fn is_segmented(&self) -> bool {
        matches!(self.ranks, Ranks::OfSegments | Ranks::TopOfSegments)
    }

    /// Where the segments begin, and where the last one ends; or where all records do.
    fn bounds(&self) -> Vec<usize> {
        let begins = begins(self.len).map(|begin| begin as usize);
        let begins = begins.iter().take(if self.is_segmented() { 5 } else { 0 });
        let count = self.count();
        let bounds = begins.map(|&begin| begin.min(count));
        std::iter::once(0).chain(bounds).chain([count]).collect()
    }

    fn sort(&self, sorter: &Sorter, on: &Buffers, scratch: &Scratch) {
        let range = on.keys.range();
        let keys = match self.kind {
            Kind::U64 => Keys::new(range, KeyType::U64),
            Kind::U16 => Keys::new(range, KeyType::U16),
            Kind::F32OfStructs => by_field(range, KeyType::F32, 12, 4),
            Kind::U16OfStructs => by_field(range, KeyType::U16, 8, 6),
            // A comparator sort does not use them.
            Kind::U32 | Kind::Compared => Keys::new(range, KeyType::U32),
        };
        let (len, selected) = (self.len as u64, self.selected());
        let comparator = Comparator::new(COMPARATOR).unwrap();
        let (offsets, number) = (on.offsets.range(), begins(self.len).len() as u32);
        let job = match (self.kind, self.is_segmented()) {
            (Kind::Compared, false) => SortJob::by(range, &comparator, len),
            (Kind::Compared, true) => {
                SortJob::segmented_by(range, &comparator, len, offsets, number)
            }
            (_, false) => SortJob::new(keys, len),
            (_, true) => SortJob::segmented(keys, len, offsets, number),
        };
        let job = match self.ranks {
            Ranks::OfSegments | Ranks::All => job,
            Ranks::Top | Ranks::TopOfSegments => job.top(selected.end as u64),
            Ranks::Middle => job.range(selected.start as u64..selected.end as u64),
        };
        run(sorter, &self.with_all(job, on, scratch));
    }

    fn with_all<'a>(&self, job: SortJob<'a>, on: &'a Buffers, scratch: &'a Scratch) -> SortJob<'a> {
        let mut job = job.order(self.order);
        job = match self.output {
            Output::InPlace => job,
            Output::OutOfPlace => job.output(on.output.range()),
            Output::Nowhere => job.keep_keys(),
        };
        let rows = || Payload::new(on.rows.range(), 12);
        let moved = rows().output(on.rows_output.range());
        job = match self.with {
            With::Nothing => job,
            With::Values => job.values(on.values.range()),
            With::Rows => job.payload(rows()),
            With::RowsOutOfPlace => job.payload(moved),
            With::Two => job
                .payload(Payload::new(on.values.range(), 4))
                .payload(moved),
        };
        if self.indices {
            job = job.indices(on.indices.range());
        }
        if self.indirect {
            job = job.len_from(on.count.range());
        }
        if self.shared_scratch {
            job = job.scratch(scratch);
        }
        job
    }

    fn check(&self, gpu: &Gpu, scratch: &Scratch) {
        let random: Vec<u32> = generate(&Spec::new(Pattern::Full, self.len as u64)).unwrap();
        let keys: Vec<u32> = random.iter().map(|word| word % 50).collect();
        let on = Buffers::new(gpu, self, &keys);
        self.sort(&sorter(gpu), &on, scratch);

        let sort_key = |i: u32| {
            let segment = if self.is_segmented() {
                begins(self.len).partition_point(|&begin| begin <= i)
            } else {
                0
            };
            let key = keys[i as usize];
            let key = match self.order {
                Order::Ascending => key,
                Order::Descending => !key,
            };
            (segment, key)
        };
        let count = self.count();
        let mut expected: Vec<u32> = (0..count as u32).collect();
        expected.sort_by_key(|&i| sort_key(i));
        // The order of the records after the sort. All but bare keys carry their numbers.
        let written = on.written(self);
        let are_bare = matches!(self.kind, Kind::U32 | Kind::U64 | Kind::U16);
        let order = match written[..] {
            [] => expected.clone(),
            [(from, to), ..] if are_bare && from.name == "keys" => owners(from, to, gpu, count),
            [(_, to), ..] => to.numbers(gpu, count),
        };
        let mut all = order.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..count as u32), "{self:?}: {order:?}");

        // Values of equal keys may be in any order.
        let is_stable = self.with != With::Values || self.indices;
        let identity = |&i: &u32| (sort_key(i), if is_stable { i } else { 0 });
        let selected = self.selected();
        let bounds = self.bounds();
        let parts = bounds.windows(2).flat_map(|of| {
            let [begin, end] = [of[0], of[1]];
            let at = |rank: usize| (begin + rank).min(end);
            let [first, last] = [at(selected.start), at(selected.end)];
            [
                (begin..first, false),
                (first..last, true),
                (last..end, false),
            ]
        });
        for (ranks, is_sorted) in parts {
            let [mut found, mut expected] = [&order, &expected].map(|order| {
                let order = &order[ranks.clone()];
                order.iter().map(identity).collect::<Vec<_>>()
            });
            if !is_sorted {
                found.sort_unstable();
                expected.sort_unstable();
            }
            assert!(found == expected, "{self:?}: ranks {ranks:?}");
        }
        for part in on.all() {
            let expected = match written.iter().find(|(_, to)| to.name == part.name) {
                Some((from, to)) => from.moved(to, &order),
                None => part.before.clone(),
            };
            assert!(part.read(gpu) == expected, "{self:?}: {}", part.name);
        }
    }
}

/// The original index of each of the first `len` keys. Equal keys get their indices in order.
fn owners(keys: &Part, to: &Part, gpu: &Gpu, len: usize) -> Vec<u32> {
    let mut left: HashMap<&[u8], VecDeque<u32>> = HashMap::new();
    for i in 0..len {
        let key = keys.record(&keys.before, i);
        left.entry(key).or_default().push_back(i as u32);
    }
    let after = to.read(gpu);
    let owner = |rank| left.get_mut(to.record(&after, rank))?.pop_front();
    let owners: Option<Vec<u32>> = (0..len).map(owner).collect();
    owners.expect("keys of the input, each once")
}

/// Every combination of three choices occurs, or of four if all cases are run.
#[test]
fn all_options_of_a_job_combine() {
    let Some(gpu) = gpu() else { return };
    let levels = [
        KINDS.len(),
        OUTPUTS.len(),
        WITH.len(),
        RANKS.len(),
        2,
        2,
        2,
        2,
        2,
        LENGTHS.len(),
    ];
    let strength = if gpu.runs_all_cases() { 4 } else { 3 };
    let cases = covering(&levels, &subsets(levels.len(), strength));
    println!("{} sorts", cases.len());
    let scratch = Scratch::default();
    for choices in cases {
        let case = Case::new(gpu, &choices);
        println!("{case:?}");
        case.check(gpu, &scratch);
    }
}
