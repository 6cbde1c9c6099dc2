//! What is found among sorted keys, in lock-step, compared with the CPU: runs, cells and places, of
//! keys of all widths, wherever the sort leaves them.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Execution, unexpected};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::layout::{
    Cells, Found, Heads, LayoutSort, Output, Runs, Search, SortLayout, Structs,
};
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort;
use wgpu_bcfsort::{KeyType, Order, Tuning};
use wgsl_lockstep::Config;

/// Small dispatches, so that there are several of each kernel.
const LIMITS: DeviceLimits = DeviceLimits {
    workgroup_bytes: 32 << 10,
    keys_per_dispatch: 4096,
    ..bcfsort_testkit::LIMITS
};

/// Where what is found begins in its buffer: not at the first word.
const AT: [u32; 6] = [1, 2, 3, 4, 5, 6];

/// The first records of segments, in sorts that have any.
const OFFSETS: [u32; 9] = [1, 2, 2, 300, 699, 700, 2050, 4100, 9000];

/// The segment of a record.
fn segment_of(layout: &SortLayout, i: u32) -> usize {
    let count = layout.segments.unwrap_or(0) as usize;
    OFFSETS[..count].partition_point(|&offset| offset <= i)
}

/// What no kernel may change.
const UNTOUCHED: u32 = 0x0dd_ba11;

/// Pseudo-random numbers.
fn random(i: u32) -> u64 {
    let mixed = (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// The keys of a buffer, by the bits of their type.
fn unpack(words: &[u32], bits: u32) -> Vec<u64> {
    if bits == 64 {
        let pairs = words.chunks_exact(2);
        return pairs
            .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
            .collect();
    }
    let mask = u32::MAX >> (32 - bits);
    let parts = (0..32).step_by(bits as usize);
    let keys = words
        .iter()
        .flat_map(|word| parts.clone().map(move |at| word >> at & mask));
    keys.map(u64::from).collect()
}

/// The words of a buffer that has these keys.
fn pack(keys: &[u64], bits: u32) -> Vec<u32> {
    if bits == 64 {
        let words = keys
            .iter()
            .flat_map(|&key| [key as u32, (key >> 32) as u32]);
        return words.collect();
    }
    let each = (32 / bits) as usize;
    let word = |keys: &[u64]| {
        let parts = keys.iter().enumerate();
        parts.fold(0, |word, (at, &key)| {
            word | (key as u32) << (at as u32 * bits)
        })
    };
    keys.chunks(each).map(word).collect()
}

/// A sort, or none, and what is found.
#[derive(Clone, Debug)]
struct Case {
    key: KeyType,
    bits: u32,
    order: Order,
    /// The capacity, and the number of records.
    room: u32,
    len: u32,
    /// The bits in which keys differ.
    differ: u64,
    layout: SortLayout,
    /// The number of records of a workgroup's cells from which on these are searched, and not read.
    searched_from: u32,
}

impl Case {
    /// The order of a key.
    fn code(&self, key: u64) -> u64 {
        let upper = 32_u32.saturating_sub(self.bits);
        self.key.map(self.order).encode(key << upper)
    }

    fn record(&self) -> Recording {
        let tuning = Tuning {
            samples: 1024,
            ..Tuning::cpu()
        };
        let job = LayoutSort {
            len: self.room,
            key: self.key,
            order: self.order,
            layout: &self.layout,
            ranks: None,
            maps_keys: true,
            counting: Some(&tuning),
            limits: &LIMITS,
        };
        job.record(&|recording, sort| samplesort::record(recording, sort, &tuning, &LIMITS))
    }

    /// Whether it finds records that are kept, by a flag or by the stand-in for a predicate: those
    /// that are not 0.
    fn keeps_some(&self) -> bool {
        let heads = self.layout.found.runs.map(|runs| runs.heads);
        matches!(heads, Some(Heads::OfFlags | Heads::OfPredicate))
    }

    fn check(&self) {
        let Self { bits, len, .. } = *self;
        let found = self.layout.found;
        let mask = u64::MAX >> (64 - bits);
        let keys = (0..self.room).map(|i| random(i) & self.differ & mask);
        let mut keys: Vec<u64> = keys.collect();
        let mut sorted = keys[..len as usize].to_vec();
        let mut end = 0;
        for segment in 0..=OFFSETS.len() {
            let begin = end;
            end += (begin as u32..len)
                .take_while(|&i| segment_of(&self.layout, i) == segment)
                .count();
            sorted[begin..end].sort_by_key(|&key| self.code(key));
        }
        if self.keeps_some() {
            // Flags are in no order.
            sorted.clone_from_slice(&keys[..len as usize]);
        } else if self.layout.is_sorted {
            keys[..len as usize].copy_from_slice(&sorted);
        }
        // The keys of the layout: some before the first one, and those of the other fields.
        let stride = self.layout.stride as usize;
        let mut all = vec![u64::from(UNTOUCHED) & mask; self.layout.first as usize];
        for &key in &keys {
            let begin = all.len();
            all.push(key);
            all.resize(begin + stride, !key & mask);
        }
        let words = pack(&all, bits);
        let mut recording = self.record();
        let read = recording.steps.iter_mut();
        for from in read.filter_map(|step| step.parameters.get_mut("searched_from")) {
            *from = (*from).min(self.searched_from);
        }
        let mut execution = Execution::new(&recording, &words, Config::default());
        let room = self.room as usize;
        let cells = found.cells.map_or(0, |cells| cells.cells as usize);
        let untouched = |words: usize| vec![UNTOUCHED; words + 20];
        let needles: Vec<u64> = (0..found.search.map_or(0, |search| search.len))
            .map(|i| match i % 3 {
                // A key that is there, one near it, and any.
                0 => keys[i as usize % room.max(1)],
                1 => keys[i as usize % room.max(1)].wrapping_add(1) & mask,
                _ => random(i + 77) & mask,
            })
            .collect();
        let before = found.search.map_or(0, |search| search.first as usize);
        let in_front = vec![0; before];
        execution.set_buffer(
            Buffer::Needles,
            pack(&[in_front, needles.clone()].concat(), bits),
        );
        execution.set_buffer(Buffer::Count, vec![len; 2]);
        execution.set_buffer(Buffer::Offsets, OFFSETS.to_vec());
        execution.set_buffer(Buffer::Output, untouched(2 * words.len()));
        execution.set_buffer(Buffer::Values, untouched(room));
        for (buffer, words) in [
            (Buffer::RunCount, 0),
            (Buffer::RunLengths, room),
            (Buffer::RunKeys, 2 * room),
            (Buffer::Cells, cells),
            (Buffer::Places, needles.len()),
        ] {
            execution.set_buffer(buffer, untouched(words));
        }
        if found.runs.is_some_and(|runs| runs.starts.is_some()) {
            execution.set_buffer(Buffer::RunStarts, untouched(room));
        }
        for kernel in execution.run().unwrap() {
            let findings = unexpected(&kernel.report);
            assert!(findings.is_empty(), "{self:?}: {findings:?}");
        }
        self.compare(&execution, &sorted, &needles);
    }

    /// Compares what was found with the CPU's.
    fn compare(&self, execution: &Execution<'_>, sorted: &[u64], needles: &[u64]) {
        let Self { bits, len, .. } = *self;
        let mask = u64::MAX >> (64 - bits);
        let found = self.layout.found;
        let codes: Vec<u64> = sorted.iter().map(|&key| self.code(key)).collect();
        let keeps_some = self.keeps_some();
        let segment = |i| segment_of(&self.layout, i);
        let differs = |i: u32| codes[i as usize] != codes[i as usize - 1];
        let is_head = |&i: &u32| {
            if keeps_some {
                sorted[i as usize] != 0
            } else {
                i == 0 || differs(i) || segment(i) != segment(i - 1)
            }
        };
        let starts: Vec<u32> = (0..len).filter(is_head).collect();
        let ends = starts.iter().skip(1).copied().chain([len]);
        let lengths: Vec<u32> = ends.zip(&starts).map(|(end, start)| end - start).collect();
        let is = |buffer, first: u32, expected: &[u32]| {
            let got = execution.buffer(buffer);
            let (before, from) = got.split_at(first as usize);
            let (found, after) = from.split_at(expected.len());
            assert!(
                found == expected,
                "{buffer}, {self:?}: {found:?} {expected:?}"
            );
            let mut rest = before.iter().chain(after);
            assert!(rest.all(|&word| word == UNTOUCHED), "{buffer}, {self:?}");
        };
        if let Some(runs) = found.runs {
            is(Buffer::RunCount, runs.count_at, &[starts.len() as u32]);
            if let Some(first) = runs.starts {
                is(Buffer::RunStarts, first, &starts);
            }
            if let Some(first) = runs.lengths {
                is(Buffer::RunLengths, first, &lengths);
            }
            if let Some(first) = runs.keys {
                let got = unpack(execution.buffer(Buffer::RunKeys), bits);
                let mut expected = unpack(&vec![UNTOUCHED; got.len() * bits as usize / 32], bits);
                for (rank, &start) in starts.iter().enumerate() {
                    expected[first as usize + rank] = sorted[start as usize];
                }
                assert!(got == expected, "{self:?}: {starts:?}");
            }
        }
        let place = |precedes: &dyn Fn(u64) -> bool| codes.partition_point(|&c| precedes(c)) as u32;
        if let Some(Cells { cells, first }) = found.cells {
            let of = |cell: u32| match u64::from(cell) <= mask {
                true => place(&|code| code < self.code(cell.into())),
                false if self.order == Order::Ascending => len,
                false => 0,
            };
            let table: Vec<u32> = (0..=cells).map(of).collect();
            is(Buffer::Cells, first, &table);
        }
        if let Some(search) = found.search {
            let of = |&needle: &u64| {
                let needle = self.code(needle);
                place(&|code| code < needle || search.is_upper && code == needle)
            };
            let places: Vec<u32> = needles.iter().map(of).collect();
            is(Buffer::Places, search.places, &places);
        }
    }
}

/// Each type with its bits. A packed key is sorted as a type of 32 bits.
const TYPES: [(KeyType, u32); 8] = [
    (KeyType::U32, 32),
    (KeyType::U32, 8),
    (KeyType::U64, 64),
    (KeyType::F32, 32),
    (KeyType::U32, 16),
    (KeyType::I64, 64),
    (KeyType::I32, 8),
    (KeyType::F64, 64),
];

/// Where the keys are: in order already, sorted in place, out of place, a field of structs, in
/// scratch memory.
fn layouts(key_words: u32, bits: u32) -> Vec<SortLayout> {
    let plain = SortLayout {
        bits: (bits < 32).then_some(bits),
        ..SortLayout::default()
    };
    let per_word = 32 / bits.min(32);
    let structs = |output| SortLayout {
        // The second key of structs of four words, after as many words.
        first: 4 * per_word / key_words + 1,
        stride: 4 * per_word / key_words,
        structs: Some(Structs {
            words: 4,
            first: 4,
            compared: false,
        }),
        output,
        ..plain.clone()
    };
    vec![
        SortLayout {
            is_sorted: true,
            first: 3,
            ..plain.clone()
        },
        plain.clone(),
        SortLayout {
            output: Output::OutOfPlace { first: 5 },
            ..plain.clone()
        },
        SortLayout {
            output: Output::None,
            indices: Some(0),
            ..plain.clone()
        },
        SortLayout {
            is_sorted: true,
            ..structs(Output::InPlace)
        },
        structs(Output::InPlace),
        structs(Output::OutOfPlace { first: 8 }),
    ]
}

#[test]
fn runs_cells_and_places_equal_the_cpu() {
    let lens = [0, 1, 2, 700, 2048, 2049, 6200];
    let differ = [0, 1, 0xff, 0xfff, 0x8000_0000_8000_0007, u64::MAX];
    let mut number = 0_u32;
    for (key, bits) in TYPES {
        for layout in layouts(key.words(), bits) {
            for len in lens {
                number += 1;
                let every = if all_cases() { 1 } else { 3 };
                if len > 2 && !number.is_multiple_of(every) {
                    continue;
                }
                let pick = |from: usize, salt: u32| (random(number ^ salt << 20) as usize) % from;
                let order = [Order::Ascending, Order::Descending][pick(2, 1)];
                let is_counted = pick(3, 2) == 0;
                let [count_at, starts, lengths, keys, first, places] = AT;
                let runs = Runs {
                    heads: Heads::OfKeys,
                    count_at,
                    starts: (pick(3, 3) > 0).then_some(starts),
                    lengths: (pick(3, 4) > 0).then_some(lengths),
                    keys: (pick(3, 5) > 0).then_some(keys),
                };
                let is_unsigned = matches!(key, KeyType::U32 | KeyType::U64);
                let cells = Cells {
                    cells: [0, 1, 40, 255, 256, 4095, 5000][pick(7, 6)],
                    first,
                };
                let search = Search {
                    len: [1, 7, 40, 3000][pick(4, 7)],
                    first,
                    places,
                    is_upper: pick(2, 8) == 0,
                };
                let found = Found {
                    runs: (pick(4, 9) > 0).then_some(runs),
                    cells: (is_unsigned && pick(4, 10) > 0).then_some(cells),
                    search: (len > 0 && pick(4, 11) > 0).then_some(search),
                };
                let room = if is_counted { len + 300 } else { len };
                let case = Case {
                    key,
                    bits,
                    order,
                    room,
                    len,
                    differ: differ[pick(6, 12)],
                    searched_from: [100, u32::MAX][pick(2, 13)],
                    layout: SortLayout {
                        count_at: is_counted.then_some(1),
                        found,
                        ..layout.clone()
                    },
                };
                case.check();
            }
        }
    }
}

/// Equal keys of two segments are two runs. Packed keys have more runs than there are keys.
#[test]
fn runs_in_segments_equal_the_cpu() {
    let differ = [0, 1, 0xfff, u64::MAX];
    let mut number = 0_u32;
    for (key, bits) in TYPES {
        for layout in layouts(key.words(), bits) {
            if layout.is_sorted || layout.output == Output::None {
                continue;
            }
            for (segments, len) in [(0, 40), (1, 1), (6, 700), (9, 700), (9, 6200)] {
                number += 1;
                let pick = |from: usize, salt: u32| (random(number ^ salt << 20) as usize) % from;
                if len > 700 && !all_cases() && pick(4, 0) > 0 {
                    continue;
                }
                let [count_at, starts, lengths, keys, ..] = AT;
                let runs = Runs {
                    heads: Heads::OfKeys,
                    count_at,
                    starts: (pick(3, 1) > 0).then_some(starts),
                    lengths: (pick(3, 2) > 0).then_some(lengths),
                    keys: (pick(3, 3) > 0).then_some(keys),
                };
                let is_counted = pick(3, 4) == 0;
                let case = Case {
                    key,
                    bits,
                    order: [Order::Ascending, Order::Descending][pick(2, 5)],
                    room: if is_counted { len + 300 } else { len },
                    len,
                    differ: differ[pick(4, 6)],
                    searched_from: u32::MAX,
                    layout: SortLayout {
                        segments: Some(segments),
                        count_at: is_counted.then_some(1),
                        found: Found {
                            runs: Some(runs),
                            ..Found::default()
                        },
                        ..layout.clone()
                    },
                };
                case.check();
            }
        }
    }
}

/// Flags of all widths, contiguous and fields of structs: few, some and many are set. And rows of
/// which a predicate keeps as many.
#[test]
fn records_that_are_kept_equal_the_cpu() {
    for (key, bits) in TYPES {
        let is_read_only = |layout: &SortLayout| layout.is_sorted;
        for layout in layouts(key.words(), bits).into_iter().filter(is_read_only) {
            check_kept((key, bits), &layout, Heads::OfFlags);
            // The stand-in's rows have a word.
            if bits == 32 && layout.stride == 1 {
                let from_the_first_on = SortLayout { first: 0, ..layout };
                check_kept((key, bits), &from_the_first_on, Heads::OfPredicate);
            }
        }
    }
}

fn check_kept((key, bits): (KeyType, u32), layout: &SortLayout, heads: Heads) {
    for (number, len) in [0, 1, 2049, 8192, 9001].into_iter().enumerate() {
        let [count_at, starts, ..] = AT;
        let room = if number % 2 == 0 { len + 300 } else { len };
        let case = Case {
            key,
            bits,
            order: Order::Ascending,
            room,
            len,
            differ: [0, 0x11, 1, u64::MAX][number % 4],
            searched_from: u32::MAX,
            layout: SortLayout {
                count_at: (room > len).then_some(1),
                found: Found {
                    runs: Some(Runs {
                        heads,
                        count_at,
                        starts: Some(starts),
                        ..Runs::default()
                    }),
                    ..Found::default()
                },
                ..layout.clone()
            },
        };
        case.check();
    }
}

/// Keys that are not in order have runs, too, of which there may be more than packed keys have
/// values.
#[test]
fn keys_out_of_order_are_safe() {
    for (key, bits) in TYPES {
        let [count_at, starts, lengths, keys, first, places] = AT;
        let found = Found {
            runs: Some(Runs {
                heads: Heads::OfKeys,
                count_at,
                starts: Some(starts),
                lengths: Some(lengths),
                keys: Some(keys),
            }),
            cells: Some(Cells { cells: 5000, first }),
            search: Some(Search {
                len: 3000,
                first: 0,
                places,
                is_upper: true,
            }),
        };
        let layout = SortLayout {
            bits: (bits < 32).then_some(bits),
            is_sorted: true,
            found,
            ..SortLayout::default()
        };
        let len = 5000;
        let case = Case {
            key,
            bits,
            order: Order::Ascending,
            room: len,
            len,
            differ: u64::MAX,
            layout,
            searched_from: u32::MAX,
        };
        let recording = case.record();
        let keys: Vec<u64> = (0..len).map(|i| random(i) >> (64 - bits)).collect();
        let mut execution = Execution::new(&recording, &pack(&keys, bits), Config::default());
        execution.set_buffer(Buffer::Needles, pack(&keys[..3000], bits));
        for (buffer, words) in [
            (Buffer::RunCount, 2),
            (Buffer::RunStarts, len + starts),
            (Buffer::RunLengths, len + lengths),
            (Buffer::RunKeys, 2 * (len + 4)),
            (Buffer::Cells, 5001 + first),
            (Buffer::Places, 3000 + places),
        ] {
            execution.set_buffer(buffer, vec![0; words as usize]);
        }
        for kernel in execution.run().unwrap() {
            let findings = unexpected(&kernel.report);
            assert!(findings.is_empty(), "{case:?}: {findings:?}");
        }
        let runs = (1..keys.len()).filter(|&i| keys[i] != keys[i - 1]).count() + 1;
        assert_eq!(execution.buffer(Buffer::RunCount)[1] as usize, runs);
        let lengths = &execution.buffer(Buffer::RunLengths)[lengths as usize..][..runs];
        assert_eq!(lengths.iter().sum::<u32>(), len);
    }
}
