//! Sort layouts in lock-step, compared with a sort on the CPU: keys of all widths, sub-ranges,
//! strided and packed keys, segments, and every payload.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::covering::{covering, pairs, subsets};
use bcfsort_testkit::recordings::{Execution, unexpected};
use std::collections::BTreeSet;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::layout::{
    Column, Field, LayoutSort, Output, Part, SortLayout, Strategy, Structs,
};
use wgpu_bcfsort::internals::planner::record_sort_of_words;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort;
use wgpu_bcfsort::internals::shader::Access;
use wgpu_bcfsort::{KeyType, Options, Order, Tuning};
use wgsl_lockstep::Config;

const LIMITS: DeviceLimits = DeviceLimits {
    workgroup_bytes: 32 << 10,
    ..bcfsort_testkit::LIMITS
};

/// Bits of a key in its buffer.
fn bits(layout: &SortLayout, key: KeyType) -> u32 {
    layout.bits.unwrap_or(key.words() * 32)
}

/// The bits of a record's key. A packed key becomes the upper bits of a word.
fn key_of(layout: &SortLayout, key: KeyType, words: &[u32], record: u32) -> u64 {
    get_key(
        words,
        bits(layout, key),
        layout.first + record * layout.stride,
    )
}

/// A record's key as numbers that compare as it does: one for each field.
fn code_of(
    layout: &SortLayout,
    (key, order): (KeyType, Order),
    words: &[u32],
    record: u32,
) -> Vec<u64> {
    if layout.parts.is_empty() {
        return vec![key.map(order).encode(key_of(layout, key, words, record))];
    }
    let fields = layout.parts.iter().flat_map(|part| &part.fields);
    let code = |field: &Field| {
        let at = field.first + record * field.stride;
        field.map.encode(get_key(words, field.bits, at))
    };
    fields.map(code).collect()
}

/// The key of `bits` bits at an index, in the upper bits of a word if there are fewer.
fn get_key(words: &[u32], bits: u32, at: u32) -> u64 {
    let at = at as usize;
    if bits == 64 {
        return u64::from(words[2 * at]) | u64::from(words[2 * at + 1]) << 32;
    }
    let per_word = (32 / bits) as usize;
    let shifted = words[at / per_word] >> (at % per_word * bits as usize);
    u64::from(shifted << (32 - bits))
}

/// Writes a key of `bits` bits.
fn set_key(words: &mut [u32], bits: u32, at: u32, key: u64) {
    let at = at as usize;
    if bits == 64 {
        (words[2 * at], words[2 * at + 1]) = (key as u32, (key >> 32) as u32);
        return;
    }
    let per_word = (32 / bits) as usize;
    let shift = at % per_word * bits as usize;
    let mask = u32::MAX >> (32 - bits) << shift;
    let word = &mut words[at / per_word];
    *word = *word & !mask | ((key as u32) >> (32 - bits)) << shift;
}

/// A mask that leaves few different words, so that many keys are equal.
const FEW: u32 = 0x8080_8003;

/// Random words that differ only in these bits.
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
fn check_bindings(recording: &Recording) {
    for step in &recording.steps {
        let assembled = step.kernel.assemble().unwrap();
        let bound = assembled.bindings.iter().filter_map(|binding| {
            let buffer = step.buffer(&binding.name)?;
            (binding.access != Access::Uniform).then_some(buffer)
        });
        let bound: Vec<_> = bound.collect();
        let buffers: BTreeSet<_> = bound.iter().collect();
        assert_eq!(buffers.len(), bound.len(), "{step:?}");
    }
}

/// A sort of `len` records, with the sample sort for a sort of words.
fn record(layout: &SortLayout, key: KeyType, order: Order, tuning: &Tuning, len: u32) -> Recording {
    let job = job(layout, key, order, tuning, len);
    job.record(&|recording, sort| samplesort::record(recording, sort, tuning, &LIMITS))
}

fn job<'a>(
    layout: &'a SortLayout,
    key: KeyType,
    order: Order,
    tuning: &'a Tuning,
    len: u32,
) -> LayoutSort<'a> {
    LayoutSort {
        len,
        key,
        order,
        layout,
        ranks: None,
        maps_keys: true,
        counting: Some(tuning),
        limits: &LIMITS,
    }
}

/// The contents of the user buffers.
#[derive(Clone, Copy)]
struct Input<'a> {
    /// The number of records, or the capacity with an indirect count.
    len: u32,
    /// The number in the count buffer.
    count: u32,
    offsets: &'a [u32],
    /// The bits in which the words of the keys differ.
    bits: u32,
}

/// Sorts, and compares all user buffers.
fn check(layout: &SortLayout, (key, order): (KeyType, Order), tuning: &Tuning, input: Input<'_>) {
    let Input { len, count, .. } = input;
    let what = format!("{count} of {len} {key} {} {layout:?}", order.name());
    let recording = record(layout, key, order, tuning, len);
    check_recording(&recording, &what, layout, input);
    // A mergesort, too, if the sort of words is of keys alone.
    let job = LayoutSort {
        maps_keys: false,
        ..job(layout, key, order, tuning, len)
    };
    let strategy = job.strategy();
    let is_of_keys = strategy == Strategy::Direct || strategy == Strategy::Keys;
    let sorts_keys = is_of_keys && layout.indices.is_none() && layout.columns.is_empty();
    if sorts_keys && layout.segments.is_none() && layout.count_at.is_none() {
        let options = Options::default();
        let recording = job.record(&|recording, sort| {
            record_sort_of_words(recording, sort, &options, &LIMITS);
        });
        check_recording(&recording, &what, layout, input);
    }
}

/// Rows of a buffer: the number of words before the first row, and per row.
#[derive(Clone, Copy)]
struct Rows {
    first: u32,
    words: u32,
}

fn check_recording(recording: &Recording, what: &str, layout: &SortLayout, input: Input<'_>) {
    let (len, key, order) = (recording.len, recording.key, recording.order);
    let count = layout.count_at.map_or(len, |_| input.count.min(len));
    let bits = bits(layout, key);
    let output_first = match layout.output {
        Output::OutOfPlace { first } => first,
        Output::InPlace | Output::None => 0,
    };
    let room = (layout.first + (len + 3) * layout.stride) * bits / 32 + 12;
    let keys = noise(room as usize, input.bits);
    // There are words after the last row, which must not change.
    let rows = |words: u32| -> Vec<u32> { (0..(len + 9) * words + 9).collect() };
    let untouched = |words: u32| vec![7; rows(words).len()];
    check_bindings(recording);
    let mut execution = Execution::new(recording, &keys, Config::default());
    execution.set_buffer(Buffer::Count, vec![9, input.count]);
    let before = vec![u32::MAX; layout.offsets_first as usize];
    execution.set_buffer(Buffer::Offsets, [&before, input.offsets].concat());
    let output = vec![7; keys.len() + output_first as usize + 3];
    execution.set_buffer(Buffer::Output, output.clone());
    execution.set_buffer(Buffer::Values, untouched(1));
    for (i, column) in layout.columns.iter().enumerate() {
        execution.set_buffer(Buffer::Payload(i as u8), rows(column.words));
        execution.set_buffer(Buffer::PayloadOutput(i as u8), untouched(column.words));
    }
    for kernel in execution.run().unwrap() {
        let findings = unexpected(&kernel.report);
        assert!(findings.is_empty(), "{what}: {findings:?}");
    }
    let mut blocks = execution.buffer(Buffer::Parameters).chunks(64);
    // The ties of keys in several parts are counted, too.
    let is_counted = |block: &[u32]| block[0] == count || layout.parts.len() > 1;
    assert!(blocks.all(is_counted), "{what}");

    let segment = |i: u32| match layout.segments {
        Some(number) => {
            let offsets = input.offsets.iter().take(number as usize);
            offsets.filter(|&&offset| offset <= i).count()
        }
        None => 0,
    };
    let code = |i: u32| code_of(layout, (key, order), &keys, i);
    let mut sorted: Vec<u32> = (0..count).collect();
    sorted.sort_by_key(|&i| (segment(i), code(i), i));
    let gather = |from: &[u32], of: Rows, to: &mut [u32], at: u32| {
        for (rank, &record) in sorted.iter().enumerate() {
            let from = &from[(of.first + record * of.words) as usize..];
            let to = &mut to[(at + rank as u32 * of.words) as usize..];
            to[..of.words as usize].copy_from_slice(&from[..of.words as usize]);
        }
    };

    let (mut in_place, mut out_of_place) = (keys.clone(), output);
    let (to, first) = match layout.output {
        Output::InPlace => (&mut in_place, layout.first),
        Output::OutOfPlace { first } => (&mut out_of_place, first),
        Output::None => (&mut vec![0; keys.len()], layout.first),
    };
    if let Some(structs) = layout.structs {
        let of = Rows {
            first: structs.first,
            words: structs.words,
        };
        let first = match layout.output {
            Output::OutOfPlace { first } => first,
            Output::InPlace | Output::None => structs.first,
        };
        gather(&keys, of, to, first);
    } else {
        for (rank, &record) in sorted.iter().enumerate() {
            set_key(
                to,
                bits,
                first + rank as u32,
                key_of(layout, key, &keys, record),
            );
        }
    }
    assert!(execution.buffer(Buffer::Keys) == in_place, "{what}: keys");
    let found = execution.buffer(Buffer::Output);
    assert!(found == out_of_place, "{what}: output");
    let mut indices = untouched(1);
    if let Some(first) = layout.indices {
        indices[first as usize..][..sorted.len()].copy_from_slice(&sorted);
        let found = execution.buffer(Buffer::Values);
        assert!(found == indices, "{what}: indices");
    }
    for (i, column) in layout.columns.iter().enumerate() {
        let rows = rows(column.words);
        let (mut stayed, mut moved) = (rows.clone(), untouched(column.words));
        let of = Rows {
            first: column.first,
            words: column.words,
        };
        match column.output {
            Some(first) => gather(&rows, of, &mut moved, first),
            None => gather(&rows, of, &mut stayed, column.first),
        }
        let [payload, output] = [Buffer::Payload(i as u8), Buffer::PayloadOutput(i as u8)];
        assert!(execution.buffer(payload) == stayed, "{what}: payload {i}");
        assert!(
            execution.buffer(output) == moved,
            "{what}: payload output {i}"
        );
    }
}

/// Structs of `words` words. The key is at offset `field`, in units of the key's size.
fn structs(key_words: u32, words: u32, field: u32) -> SortLayout {
    SortLayout {
        first: field,
        stride: words / key_words,
        structs: Some(Structs {
            words,
            first: 0,
            compared: false,
        }),
        ..SortLayout::default()
    }
}

fn packed(bits: u32) -> SortLayout {
    SortLayout {
        bits: Some(bits),
        ..SortLayout::default()
    }
}

fn column(words: u32, first: u32, output: Option<u32>) -> Column {
    Column {
        words,
        first,
        output,
        ..Column::default()
    }
}

#[test]
fn all_layouts_equal_the_cpu_and_have_no_finding() {
    let plain = SortLayout::default();
    let half_structs = SortLayout {
        bits: Some(16),
        stride: 6,
        ..structs(1, 3, 3)
    };
    let layouts = [
        (KeyType::F32, plain.clone()),
        (KeyType::I64, plain),
        (KeyType::I32, packed(8)),
        (KeyType::F32, packed(16)),
        (KeyType::U32, structs(1, 3, 1)),
        (KeyType::F64, structs(2, 4, 1)),
        (KeyType::U32, half_structs),
    ];
    let payloads = [
        (None, vec![]),
        (Some(0), vec![]),
        (Some(5), vec![column(3, 4, Some(0))]),
        (None, vec![column(1, 2, None), column(3, 0, Some(3))]),
        (
            Some(0),
            vec![
                column(2, 0, None),
                column(1, 0, Some(1)),
                column(3, 7, None),
            ],
        ),
    ];
    let offsets = [0, 0, 1, 9, 40, 41, 150, 150, 290];
    for (number, case) in cases().into_iter().enumerate() {
        let [
            layout,
            segments,
            payload,
            output,
            order,
            first,
            counted,
            count,
        ] = case;
        let (key, layout) = layouts[layout].clone();
        let (indices, columns) = payloads[payload].clone();
        let moved = [0, 5, 2][first];
        let bits = bits(&layout, key);
        let layout = SortLayout {
            // Structs begin at a word boundary.
            first: layout.first + layout.structs.map_or(moved, |_| 2 * moved * 32 / bits),
            structs: layout.structs.map(|structs| Structs {
                first: 2 * moved,
                ..structs
            }),
            segments: [None, Some(0), Some(1), Some(9)][segments],
            offsets_first: moved,
            output: [
                Output::InPlace,
                Output::OutOfPlace { first: 7 - moved },
                Output::None,
            ][output],
            count_at: [None, Some(1)][counted],
            indices,
            columns,
            ..layout
        };
        let order = [Order::Ascending, Order::Descending][order];
        let len = if number % 29 == 28 { 1500 } else { 300 };
        let input = Input {
            len,
            count: [len * 3 / 4, 0, len, 1, len + 7][count],
            offsets: &offsets,
            bits: FEW,
        };
        check(&layout, (key, order), &tuning(), input);
    }
}

/// Choices of keys, segments, payload and output; of the order, the first record, whether the count
/// is indirect, and the count.
fn cases() -> Vec<[usize; 8]> {
    const LEVELS: [usize; 8] = [7, 4, 5, 3, 2, 3, 2, 5];
    // Every combination of three of the first four occurs, and every pair of all.
    let sets = [subsets(4, 3), subsets(8, 2)].concat();
    let covering = covering(&LEVELS, &sets).into_iter();
    let covering = covering.map(|case| case.try_into().unwrap());
    if !all_cases() {
        return covering.collect();
    }
    // The full product of the first four, with the others varied.
    let product: usize = LEVELS[..4].iter().product();
    let case = |number: usize| {
        let [keys, segments, payload, output] = [number / 60, number / 15, number / 3, number];
        let n = number + 1;
        let all = [keys, segments, payload, output, n, n / 2, n / 6 + 1, n];
        std::array::from_fn(|f| all[f] % LEVELS[f])
    };
    covering.chain((0..product).map(case)).collect()
}

/// Structs of six words, by fields of more than 64 bits: two of these, and three parts of which
/// the middle one has the most. Most records, some, or none are equal in the first part.
#[test]
fn keys_of_several_parts_equal_the_cpu_and_have_no_finding() {
    use KeyType::{F64, I32, I64, U8, U16, U32, U64};
    const WORDS: u32 = 6;
    const BEFORE: u32 = 4;
    let field = |key: KeyType, offset: u32, order| {
        let bytes = key.bytes() as u32;
        Field {
            first: (4 * BEFORE + offset) / bytes,
            stride: 4 * WORDS / bytes,
            bits: 8 * bytes,
            map: key.map(order),
        }
    };
    let part = |fields: &[(KeyType, u32, Order)]| Part {
        fields: (fields.iter())
            .map(|&(key, offset, order)| field(key, offset, order))
            .collect(),
    };
    let (up, down) = (Order::Ascending, Order::Descending);
    let keys = [
        (U64, vec![part(&[(I64, 8, up)]), part(&[(F64, 16, down)])]),
        (
            U32,
            vec![
                part(&[(U32, 4, down)]),
                part(&[(U64, 16, up)]),
                part(&[(U16, 10, up), (U8, 13, down), (U8, 1, up)]),
            ],
        ),
        (
            U64,
            vec![
                part(&[(I32, 0, up), (U32, 20, down)]),
                part(&[(U16, 8, up)]),
            ],
        ),
    ];
    let payloads = [
        (None, vec![]),
        (Some(0), vec![]),
        (Some(5), vec![column(1, 2, None), column(3, 0, Some(3))]),
    ];
    let outputs = [
        Output::InPlace,
        Output::OutOfPlace { first: 7 },
        Output::None,
    ];
    let distinct = [FEW, u32::MAX, 0, 0x8000_0000];
    for (number, case) in pairs(&[3, 3, 3, 4, 5]).into_iter().enumerate() {
        let [of, payload, output, distinct_of, count] = case[..].try_into().unwrap();
        let (key, parts) = keys[of].clone();
        let (indices, columns) = payloads[payload].clone();
        let layout = SortLayout {
            structs: Some(Structs {
                words: WORDS,
                first: BEFORE,
                compared: false,
            }),
            parts,
            output: outputs[output],
            count_at: (count > 0).then_some(1),
            indices,
            columns,
            stride: WORDS,
            first: BEFORE,
            ..SortLayout::default()
        };
        let len = if number % 7 == 6 { 2600 } else { 300 };
        let input = Input {
            len,
            count: [len, len * 3 / 4, 0, 1, len + 7][count],
            offsets: &[],
            bits: distinct[distinct_of],
        };
        let tuning = distributions()[number % 3];
        check(&layout, (key, Order::Ascending), &tuning, input);
    }
}

/// One tuning for each way in which records are distributed.
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

/// The plan depends on the capacity, and is correct for any count.
#[test]
fn any_indirect_count_is_sorted_with_every_distribution() {
    let rows = || vec![column(3, 0, None)];
    let len = 2600;
    let counts = [0, 1, 1025, 2500, u32::MAX];
    // Every pair of layout, distribution and count occurs. If all cases are run, half of the
    // layouts are added for each pair of distribution and count.
    let pairs: BTreeSet<Vec<usize>> = pairs(&[11, 3, 5]).into_iter().collect();
    for (i, tuning) in distributions().into_iter().enumerate() {
        for (j, count) in counts.into_iter().enumerate() {
            let outputs = [
                Output::InPlace,
                Output::OutOfPlace { first: 0 },
                Output::None,
            ];
            let keys = |columns| SortLayout {
                count_at: Some(1),
                output: outputs[(i + j) % 2],
                columns,
                ..SortLayout::default()
            };
            let part = |first| SortLayout {
                first: first * ((i + j) as u32 / 2 % 2),
                ..keys(vec![])
            };
            let argsort = |output| SortLayout {
                output,
                first: 75 * (j as u32 % 2),
                indices: Some(75 * (j as u32 % 2)),
                ..keys(vec![])
            };
            let of_structs = SortLayout {
                count_at: Some(1),
                output: Output::None,
                indices: Some(0),
                ..structs(1, 3, 1)
            };
            let segmented = |layout| SortLayout {
                segments: Some(3),
                ..layout
            };
            let rows_of_segments = SortLayout {
                first: 75 * (i as u32 % 2),
                ..segmented(keys(rows()))
            };
            let rows_alone = SortLayout {
                output: Output::None,
                ..keys(rows())
            };
            let all = [
                (part(127), KeyType::I32, u32::MAX),
                (part(35), KeyType::F64, FEW),
                (argsort(outputs[(i + j) % 3]), KeyType::F64, FEW),
                (of_structs, KeyType::F32, FEW),
                (rows_alone, KeyType::I32, FEW),
                (segmented(argsort(Output::None)), KeyType::U32, FEW),
                (segmented(part(127)), KeyType::F32, FEW),
                (segmented(part(127)), KeyType::I64, FEW),
                (segmented(argsort(outputs[(i + j) % 3])), KeyType::F64, FEW),
                (rows_of_segments, KeyType::U64, FEW),
                (keys(rows()), KeyType::U32, FEW),
            ];
            for (number, (layout, key, bits)) in all.into_iter().enumerate() {
                let is_added = all_cases() && number % 2 == (i + j / 2) % 2;
                if !is_added && !pairs.contains(&vec![number, i, j]) {
                    continue;
                }
                let input = Input {
                    len,
                    count,
                    offsets: &[0, 700, 2000],
                    bits,
                };
                check(&layout, (key, Order::Descending), &tuning, input);
            }
        }
    }
}

/// Packed keys use a counting sort without payload, and an argsort with payload.
#[test]
fn packed_keys_are_sorted_at_any_count() {
    let [_, cpu, gpu] = distributions();
    for (i, tuning) in [cpu, gpu].into_iter().enumerate() {
        for (j, count) in [0, 1, 2, 1025, 2500, u32::MAX].into_iter().enumerate() {
            let keys = |bits, first| SortLayout {
                first: first * (j as u32 % 2),
                count_at: (j > 2).then_some(1),
                output: [Output::InPlace, Output::OutOfPlace { first: 1 }][(i + j) % 2],
                ..packed(bits)
            };
            let segmented = |bits, first| SortLayout {
                segments: Some(3),
                ..keys(bits, first)
            };
            let with_rows = SortLayout {
                columns: vec![column(3, 0, None)],
                ..keys(8, 5)
            };
            let with_indices = SortLayout {
                indices: Some(0),
                ..keys(16, 65)
            };
            for (layout, key, bits) in [
                (segmented(16, 3), KeyType::F32, FEW),
                (segmented(8, 70), KeyType::I32, u32::MAX),
                (keys(16, 1), KeyType::F32, u32::MAX),
                (keys(8, 3), KeyType::U32, FEW),
                (with_rows, KeyType::I32, FEW),
                (with_indices, KeyType::U32, u32::MAX),
            ] {
                let order = [Order::Descending, Order::Ascending][j / 2 % 2];
                let input = Input {
                    len: 2600,
                    count,
                    offsets: &[1, 700, 2001],
                    bits,
                };
                check(&layout, (key, order), &tuning, input);
            }
        }
    }
}

/// A sort may be submitted in chunks, and other submissions may write to its buffers in between.
#[test]
fn overwriting_buffers_in_the_middle_of_an_argsort_is_within_bounds() {
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
        let layout = SortLayout {
            first,
            segments,
            output: Output::None,
            indices: Some(first),
            ..SortLayout::default()
        };
        let len = 6000;
        let recording = record(&layout, key, Order::Ascending, &tuning, len);
        let records = (first + len) as usize;
        let words = records * key.words() as usize;
        let mut execution = Execution::new(&recording, &noise(words, FEW), Config::default());
        execution.set_buffer(Buffer::Offsets, vec![0, 9, 4000]);
        execution.set_buffer(Buffer::Values, vec![0; records]);
        for (i, step) in recording.steps.iter().enumerate() {
            let report = execution.step(step).unwrap();
            let found = report.findings;
            assert!(found.is_empty(), "{key} {step:?}: {found:?}");
            execution.set_buffer(Buffer::Values, vec![u32::MAX - i as u32; records]);
            execution.set_buffer(Buffer::Keys, noise(words, u32::MAX << (i % 32)));
        }
    }
}
