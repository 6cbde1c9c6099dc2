//! Arrangements in lock-step: keys of all widths, parts, strided and packed, in segments, with
//! every payload, next to what the CPU makes of them.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::covering::{covering, pairs, subsets};
use bcfsort_testkit::recordings::Execution;
use std::collections::BTreeSet;
use wgpu_bcfsort::internals::kernel::Access;
use wgpu_bcfsort::internals::layout::{
    Arrangement, Carried, Column, Job, Sorted, Strategy, carried_by,
};
use wgpu_bcfsort::internals::phases::record_sort_of_words;
use wgpu_bcfsort::internals::plan::DeviceLimits;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort;
use wgpu_bcfsort::{KeyType, Options, Order, Tuning};
use wgsl_lockstep::Config;

const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: u64::MAX,
    workgroups: 65_535,
    keys_per_dispatch: u32::MAX,
    workgroup_bytes: 32 << 10,
    workgroup_lanes: 1024,
    sampling_seed: 0x5eed,
};

/// How the keys lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    key: KeyType,
    /// Bits of each.
    bits: u32,
    /// Keys from one to the next, and before the first.
    field: Option<(u32, u32)>,
}

impl Layout {
    fn plain(key: KeyType) -> Self {
        Self::packed(key, key.words() * 32)
    }

    fn packed(key: KeyType, bits: u32) -> Self {
        Self {
            key,
            bits,
            field: None,
        }
    }

    /// The bits of the key of a record.
    fn key(self, words: &[u32], record: u32) -> u64 {
        let (stride, offset) = self.field.unwrap_or((1, 0));
        let at = (record * stride + offset) as usize;
        if self.bits == 64 {
            return u64::from(words[2 * at]) | u64::from(words[2 * at + 1]) << 32;
        }
        let per_word = (32 / self.bits) as usize;
        let shifted = words[at / per_word] >> (at % per_word * self.bits as usize);
        u64::from(shifted << (32 - self.bits))
    }

    fn set_key(self, words: &mut [u32], record: u32, key: u64) {
        let at = record as usize;
        if self.bits == 64 {
            (words[2 * at], words[2 * at + 1]) = (key as u32, (key >> 32) as u32);
            return;
        }
        let per_word = (32 / self.bits) as usize;
        let shift = at % per_word * self.bits as usize;
        let mask = u32::MAX >> (32 - self.bits) << shift;
        let word = &mut words[at / per_word];
        *word = *word & !mask | ((key as u32) >> (32 - self.bits)) << shift;
    }

    /// Words of the buffer of so many keys.
    fn words(self, records: u32) -> usize {
        let stride = self.field.map_or(1, |field| field.0);
        (records * stride * self.bits).div_ceil(32) as usize
    }
}

/// Words of few values, so that keys are equal often.
const FEW: u32 = 0x8080_8003;

/// Words that differ in these bits.
fn noise(words: usize, bits: u32) -> Vec<u32> {
    let word = |i: usize| {
        let mixed = (i as u32 + 1).wrapping_mul(0x9e37_79b9);
        (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) & bits
    };
    (0..words).map(word).collect()
}

/// The smallest tiles.
fn tuning() -> Tuning {
    Tuning {
        samples: 1024,
        ..Tuning::cpu()
    }
}

/// No step binds a buffer twice.
fn check_bindings(recording: &Recording, arrangement: &Arrangement) {
    let columns = matches!(arrangement.carried, Carried::Columns(_));
    // Rows that keys are fields of are the first column.
    let rows = |place| match place {
        Buffer::Values if arrangement.field.is_some() && columns => Buffer::Keys,
        place => place,
    };
    for step in &recording.steps {
        let assembled = recording.specialised(step).assemble().unwrap();
        let bound = assembled.bindings.iter().filter_map(|binding| {
            let buffer = step.buffer(&binding.name)?;
            (binding.access != Access::Uniform).then_some(rows(buffer))
        });
        let bound: Vec<_> = bound.collect();
        let buffers: BTreeSet<_> = bound.iter().collect();
        assert_eq!(buffers.len(), bound.len(), "{step:?}");
    }
}

/// A sort of `len` records, with the sample sort for a sort of words.
fn record(
    arrangement: &Arrangement,
    key: KeyType,
    order: Order,
    tuning: &Tuning,
    len: u32,
) -> Recording {
    let job = job(arrangement, key, order, tuning, len);
    job.record(&|recording, sort| samplesort::record(recording, sort, tuning, &LIMITS))
}

fn job<'a>(
    arrangement: &'a Arrangement,
    key: KeyType,
    order: Order,
    tuning: &'a Tuning,
    len: u32,
) -> Job<'a> {
    Job {
        len,
        key,
        order,
        arrangement,
        ranks: None,
        maps_keys: true,
        counting: Some(tuning),
        limits: &LIMITS,
    }
}

/// Sorts `len` records from `arrangement.first` on, or as many of them as the caller's buffer says,
/// and compares all of the caller's buffers.
fn check(
    arrangement: &Arrangement,
    layout: Layout,
    order: Order,
    tuning: &Tuning,
    (len, said): (u32, u32),
    offsets: &[u32],
    bits: u32,
) {
    let what = format!(
        "{said} of {len} {layout:?} {} {arrangement:?}",
        order.name()
    );
    let key = layout.key;
    let recording = record(arrangement, key, order, tuning, len);
    check_recording(
        &recording,
        &what,
        arrangement,
        (layout, order),
        said,
        offsets,
        bits,
    );
    // And with a mergesort, if it has keys alone to sort.
    let job = Job {
        maps_keys: false,
        ..job(arrangement, key, order, tuning, len)
    };
    let strategy = job.strategy();
    let is_of_keys = strategy == Strategy::Direct || strategy == Strategy::Keys;
    let sorts_keys = is_of_keys && arrangement.carried == Carried::Nothing;
    if sorts_keys && arrangement.segments.is_none() && arrangement.count_at.is_none() {
        let options = Options::default();
        let recording = job.record(&|recording, sort| {
            record_sort_of_words(recording, sort, &options, &LIMITS);
        });
        check_recording(
            &recording,
            &what,
            arrangement,
            (layout, order),
            said,
            offsets,
            bits,
        );
    }
}

fn check_recording(
    recording: &Recording,
    what: &str,
    arrangement: &Arrangement,
    (layout, order): (Layout, Order),
    said: u32,
    offsets: &[u32],
    bits: u32,
) {
    let (len, key) = (recording.len, layout.key);
    let (first, room) = (arrangement.first, arrangement.first + len + 3);
    let count = arrangement.count_at.map_or(len, |_| said.min(len));
    let keys = noise(layout.words(room), bits);
    let columns: &[Column] = match &arrangement.carried {
        Carried::Columns(columns) => columns,
        Carried::Indices | Carried::Values => &[Column {
            words: 1,
            elsewhere: false,
        }],
        Carried::Nothing => &[],
    };
    check_bindings(recording, arrangement);
    let mut execution = Execution::new(recording, &keys, Config::default());
    execution.set_buffer(Buffer::Count, vec![9, said]);
    execution.set_buffer(Buffer::Offsets, offsets.to_vec());
    execution.set_buffer(Buffer::SortedKeys, vec![7; keys.len()]);
    let rows = |words: u32| -> Vec<u32> { (0..room * words).collect() };
    for (i, column) in columns.iter().enumerate() {
        execution.set_buffer(carried_by(i), rows(column.words));
        let nothing = vec![7; (room * column.words) as usize];
        execution.set_buffer(Buffer::SortedColumn(i as u8), nothing);
    }
    for kernel in execution.run().unwrap() {
        let findings = &kernel.report.findings;
        assert!(findings.is_empty(), "{what}: {findings:?}");
    }
    let blocks = execution.buffer(Buffer::Parameters).chunks(64);
    assert!(blocks.into_iter().all(|block| block[0] == count), "{what}");

    let segment = |i: u32| match arrangement.segments {
        Some(number) => {
            let offsets = offsets.iter().take(number as usize);
            offsets.filter(|&&offset| offset <= i).count()
        }
        None => 0,
    };
    let code = |i: u32| key.map(order).encode(layout.key(&keys, first + i));
    let mut places: Vec<u32> = (0..count).collect();
    places.sort_by_key(|&i| (segment(i), code(i), i));
    let in_order = |from: &[u32], to: &mut [u32], words: u32| {
        for (place, &record) in places.iter().enumerate() {
            let at = ((first + place as u32) * words) as usize;
            let row = ((first + record) * words) as usize..((first + record + 1) * words) as usize;
            to[at..][..words as usize].copy_from_slice(&from[row]);
        }
    };

    let (mut here, mut there) = (keys.clone(), vec![7; keys.len()]);
    let to = match arrangement.sorted {
        Sorted::Here => &mut here,
        Sorted::Elsewhere => &mut there,
        Sorted::Nowhere => &mut vec![0; keys.len()],
    };
    if arrangement.field.is_none() {
        for (place, &record) in places.iter().enumerate() {
            let bits = layout.key(&keys, first + record);
            layout.set_key(to, first + place as u32, bits);
        }
    }
    assert!(execution.buffer(Buffer::Keys) == here, "{what}: keys");
    assert!(
        execution.buffer(Buffer::SortedKeys) == there,
        "{what}: sorted keys"
    );
    for (i, column) in columns.iter().enumerate() {
        let rows = rows(column.words);
        let mut here = rows.clone();
        let mut there = vec![7; rows.len()];
        if arrangement.carried == Carried::Indices {
            here[first as usize..][..places.len()].copy_from_slice(&places);
        } else if column.elsewhere {
            in_order(&rows, &mut there, column.words);
        } else {
            in_order(&rows, &mut here, column.words);
        }
        let [stayed, moved] = [carried_by(i), Buffer::SortedColumn(i as u8)];
        assert!(execution.buffer(stayed) == here, "{what}: column {i}");
        assert!(
            execution.buffer(moved) == there,
            "{what}: sorted column {i}"
        );
    }
}

#[test]
fn all_arrangements_sort_as_the_cpu_does_and_without_a_finding() {
    let field = |key, field| Layout {
        field: Some(field),
        ..Layout::plain(key)
    };
    let layouts = [
        Layout::plain(KeyType::F32),
        Layout::plain(KeyType::I64),
        Layout::packed(KeyType::I32, 8),
        Layout::packed(KeyType::F32, 16),
        field(KeyType::U32, (3, 1)),
        field(KeyType::F64, (2, 1)),
    ];
    let column = |words, elsewhere| Column { words, elsewhere };
    let all_carried = [
        Carried::Nothing,
        Carried::Indices,
        Carried::Columns(vec![column(1, false), column(3, true)]),
        Carried::Columns(vec![column(2, false), column(1, true), column(3, false)]),
    ];
    let offsets = [0, 0, 1, 9, 40, 41, 150, 150, 290];
    for (number, case) in cases().into_iter().enumerate() {
        let [
            layout,
            segments,
            carried,
            sorted,
            order,
            first,
            counted,
            said,
        ] = case;
        let layout = layouts[layout];
        let arrangement = Arrangement {
            first: [0, 5, 2][first],
            field: layout.field,
            bits: (layout.bits < 32).then_some(layout.bits),
            segments: [None, Some(0), Some(1), Some(9)][segments],
            sorted: if layout.field.is_some() {
                Sorted::Nowhere
            } else {
                [Sorted::Here, Sorted::Elsewhere, Sorted::Nowhere][sorted]
            },
            count_at: [None, Some(1)][counted],
            carried: all_carried[carried].clone(),
            ..Arrangement::default()
        };
        let order = [Order::Ascending, Order::Descending][order];
        let len = if number % 29 == 28 { 1500 } else { 300 };
        let said = [len * 3 / 4, 0, len, 1, len + 7][said];
        check(
            &arrangement,
            layout,
            order,
            &tuning(),
            (len, said),
            &offsets,
            FEW,
        );
    }
}

/// Choices of a layout, the segments, what is carried, where keys are sorted to; and of an order,
/// the first record, whether a buffer says the number of records, and which it says.
fn cases() -> Vec<[usize; 8]> {
    const LEVELS: [usize; 8] = [6, 4, 4, 3, 2, 3, 2, 5];
    // Every three of the first four meet, and every two of all.
    let sets = [subsets(4, 3), subsets(8, 2)].concat();
    let covering = covering(&LEVELS, &sets).into_iter();
    let covering = covering.map(|case| case.try_into().unwrap());
    if !all_cases() {
        return covering.collect();
    }
    // The full product of the first four, and the others in turns.
    let product: usize = LEVELS[..4].iter().product();
    let case = |number: usize| {
        let [layout, segments, carried, sorted] = [number / 48, number / 12, number / 3, number];
        let turn = number + 1;
        let all = [
            layout,
            segments,
            carried,
            sorted,
            turn,
            turn / 2,
            turn / 6 + 1,
            turn,
        ];
        std::array::from_fn(|f| all[f] % LEVELS[f])
    };
    covering.chain((0..product).map(case)).collect()
}

/// All that decides how records are distributed.
fn distributions() -> [Tuning; 3] {
    let merged = tuning();
    let partitioned = Tuning {
        merged: 0,
        ..merged
    };
    let gpu = Tuning {
        merged: 0,
        samples: 1024,
        ..Tuning::default()
    };
    [merged, partitioned, gpu]
}

/// Whatever is planned for as many as there is room for, is right for any number of them.
#[test]
fn as_many_records_are_sorted_as_a_buffer_says_however_they_are_distributed() {
    let rows = Carried::Columns(vec![Column {
        words: 3,
        elsewhere: false,
    }]);
    let len = 2600;
    let numbers = [0, 1, 1025, 2500, u32::MAX];
    // What is sorted, how it is distributed, and the number of records: every two of them meet. And
    // a half of all that is sorted in each turn.
    let pairs: BTreeSet<Vec<usize>> = pairs(&[11, 3, 5]).into_iter().collect();
    for (i, tuning) in distributions().into_iter().enumerate() {
        for (j, said) in numbers.into_iter().enumerate() {
            let places = [Sorted::Here, Sorted::Elsewhere, Sorted::Nowhere];
            let keys = |carried| Arrangement {
                count_at: Some(1),
                sorted: places[(i + j) % 2],
                carried,
                ..Arrangement::default()
            };
            let part = |first| Arrangement {
                first: first * ((i + j) as u32 / 2 % 2),
                ..keys(Carried::Nothing)
            };
            let argsort = |sorted| Arrangement {
                sorted,
                first: 75 * (j as u32 % 2),
                ..keys(Carried::Indices)
            };
            let field = Some((3, 1));
            let of_rows = Arrangement {
                field,
                ..argsort(Sorted::Nowhere)
            };
            let of_arrays = Arrangement {
                segments: Some(3),
                ..argsort(Sorted::Nowhere)
            };
            let keys_of_arrays = Arrangement {
                segments: Some(3),
                ..part(127)
            };
            let argsort_of_arrays = Arrangement {
                segments: Some(3),
                ..argsort(places[(i + j) % 3])
            };
            let rows_of_arrays = Arrangement {
                segments: Some(3),
                first: 75 * (i as u32 % 2),
                ..keys(rows.clone())
            };
            let keys_stay = Arrangement {
                sorted: Sorted::Nowhere,
                ..keys(rows.clone())
            };
            let in_rows = Layout {
                field,
                ..Layout::plain(KeyType::F32)
            };
            let all = [
                (part(127), Layout::plain(KeyType::I32), u32::MAX),
                (part(35), Layout::plain(KeyType::F64), FEW),
                (
                    argsort(places[(i + j) % 3]),
                    Layout::plain(KeyType::F64),
                    FEW,
                ),
                (of_rows, in_rows, FEW),
                (keys_stay, Layout::plain(KeyType::I32), FEW),
                (of_arrays, Layout::plain(KeyType::U32), FEW),
                (keys_of_arrays.clone(), Layout::plain(KeyType::F32), FEW),
                (keys_of_arrays, Layout::plain(KeyType::I64), FEW),
                (argsort_of_arrays, Layout::plain(KeyType::F64), FEW),
                (rows_of_arrays, Layout::plain(KeyType::U64), FEW),
                (keys(rows.clone()), Layout::plain(KeyType::U32), FEW),
            ];
            for (number, (arrangement, layout, bits)) in all.into_iter().enumerate() {
                let in_turn = all_cases() && number % 2 == (i + j / 2) % 2;
                if !in_turn && !pairs.contains(&vec![number, i, j]) {
                    continue;
                }
                check(
                    &arrangement,
                    layout,
                    Order::Descending,
                    &tuning,
                    (len, said),
                    &[0, 700, 2000],
                    bits,
                );
            }
        }
    }
}

/// Keys of which several share a word: alone they are counted, and with others put in order behind
/// these.
#[test]
fn narrow_keys_are_sorted_however_many_there_are() {
    let [_, cpu, gpu] = distributions();
    let rows = Carried::Columns(vec![Column {
        words: 3,
        elsewhere: false,
    }]);
    for (i, tuning) in [cpu, gpu].into_iter().enumerate() {
        for (j, said) in [0, 1, 2, 1025, 2500, u32::MAX].into_iter().enumerate() {
            let narrow = |bits, first, carried| Arrangement {
                first: first * (j as u32 % 2),
                bits: Some(bits),
                count_at: (j > 2).then_some(1),
                sorted: [Sorted::Here, Sorted::Elsewhere][(i + j) % 2],
                carried,
                ..Arrangement::default()
            };
            let in_arrays = |bits, first| Arrangement {
                segments: Some(3),
                ..narrow(bits, first, Carried::Nothing)
            };
            for (arrangement, key, values) in [
                (in_arrays(16, 3), KeyType::F32, FEW),
                (in_arrays(8, 70), KeyType::I32, u32::MAX),
                (narrow(16, 1, Carried::Nothing), KeyType::F32, u32::MAX),
                (narrow(8, 3, Carried::Nothing), KeyType::U32, FEW),
                (narrow(8, 5, rows.clone()), KeyType::I32, FEW),
                (narrow(16, 65, Carried::Indices), KeyType::U32, u32::MAX),
            ] {
                let layout = Layout::packed(key, arrangement.bits.unwrap_or(32));
                let order = [Order::Descending, Order::Ascending][j / 2 % 2];
                let numbers = (2600, said);
                let offsets = [1, 700, 2001];
                check(
                    &arrangement,
                    layout,
                    order,
                    &tuning,
                    numbers,
                    &offsets,
                    values,
                );
            }
        }
    }
}

/// Whoever prepares a sort in slices may write to the buffers between them.
#[test]
fn indices_and_keys_overwritten_in_the_middle_of_an_argsort_lead_nowhere() {
    let tuning = Tuning {
        merged: 0,
        ..tuning()
    };
    for (key, segments, first) in [
        (KeyType::U32, None, 0),
        (KeyType::F64, None, 0),
        (KeyType::F64, None, 75),
        (KeyType::I64, Some(3), 0),
        (KeyType::I64, Some(3), 75),
    ] {
        let arrangement = Arrangement {
            first,
            segments,
            sorted: Sorted::Nowhere,
            carried: Carried::Indices,
            ..Arrangement::default()
        };
        let len = 6000;
        let recording = record(&arrangement, key, Order::Ascending, &tuning, len);
        let records = (first + len) as usize;
        let words = records * key.words() as usize;
        let mut execution = Execution::new(&recording, &noise(words, FEW), Config::default());
        execution.set_buffer(Buffer::Offsets, vec![0, 9, 4000]);
        for (i, step) in recording.steps.iter().enumerate() {
            let report = execution.step(step).unwrap();
            let found = report.findings;
            assert!(found.is_empty(), "{key} {step:?}: {found:?}");
            execution.set_buffer(Buffer::Values, vec![u32::MAX - i as u32; records]);
            execution.set_buffer(Buffer::Keys, noise(words, u32::MAX << (i % 32)));
        }
    }
}
