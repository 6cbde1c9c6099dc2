//! Out-of-place sorts on this machine's adapter.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::rows::{by_field, in_order, keys, rows, run, tail};
use bcfsort_testkit::PaperOptions;
use bcfsort_testkit::recordings::REPRESENTATIVES;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{
    BufferRole, Comparator, Detail, Engine, Error, KeyType, Keys, Options, Order, Payload, SortJob,
    Sorter,
};

/// Sorts one buffer into another, which is filled with 7 before, and returns the result. The input
/// must not change.
fn sorted(
    gpu: &Gpu,
    sorter: &Sorter,
    input: &[u32],
    sort: impl for<'a> Fn(&'a wgpu::Buffer, &'a wgpu::Buffer) -> SortJob<'a>,
) -> Vec<u32> {
    let (from, to) = (gpu.buffer(input), gpu.buffer(&vec![7; input.len()]));
    run(sorter, &sort(&from, &to));
    assert!(gpu.read(&from) == input, "the input");
    gpu.read(&to)
}

#[test]
fn keys_of_every_engine() {
    let Some(gpu) = gpu() else { return };
    let mergesort = |engine| gpu.sorter(&Options::default().engine(engine).buckets(4));
    for sorter in [
        sorter(gpu),
        mergesort(Engine::BcfMergesort),
        mergesort(Engine::BcfMergesortPb),
    ] {
        for len in [0, 1, 2, 900, 1024, 1500, 5000, 40_001] {
            let keys = keys(len);
            let after = sorted(gpu, &sorter, &keys, |keys, to| {
                SortJob::new(Keys::new(keys, KeyType::U32), len).output(to)
            });
            let expected = in_order(&keys, 1, &stable(&keys, Order::Ascending));
            assert!(after == expected, "{len} keys");
        }
    }
}

#[test]
fn parts_and_indirect_counts_leave_the_rest_of_the_output() {
    let Some(gpu) = gpu() else { return };
    let (sorter, order_of_all) = (sorter(gpu), Order::Descending);
    let (all, first, len, there) = (5000_usize, 321_usize, 4000_u64, 3333_u32);
    let keys = keys(all as u64);
    for number in [None, Some(there)] {
        let count = gpu.buffer(&[number.unwrap_or(0)]);
        let part = first..first + number.unwrap_or(len as u32) as usize;
        let mut expected = vec![7; all];
        let order = stable(&keys[part.clone()], order_of_all);
        expected[part.clone()].copy_from_slice(&in_order(&keys[part], 1, &order));
        for first in [first, 0] {
            // The second time, the part begins at the start of the buffers.
            let (keys, expected) = (&keys[321 - first..], &expected[321 - first..]);
            let (from, to) = (gpu.buffer(keys), gpu.buffer(&vec![7; keys.len()]));
            let part = Keys::new(tail(&from, first, 4), KeyType::U32);
            let sort = SortJob::new(part, len)
                .order(order_of_all)
                .output(tail(&to, first, 4));
            let sort = match number {
                Some(_) => sort.len_from(&count),
                None => sort,
            };
            run(&sorter, &sort);
            assert!(gpu.read(&from) == keys);
            assert!(gpu.read(&to) == *expected, "{number:?} from {first}");
        }
    }
}

#[test]
fn packed_keys_and_segments() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let words = [0x0403_0201, 0x0807_0605, 0x0c0b_0a09];
    let after = sorted(gpu, &sorter, &words, |keys, to| {
        let sort = SortJob::new(Keys::new(keys.slice(2..), KeyType::U8), 9);
        sort.order(Order::Descending).output(to.slice(2..))
    });
    assert_eq!(after, [0x0a0b_0007, 0x0607_0809, 0x0003_0405]);
    let starts = gpu.buffer(&[0, 3]);
    for (key, segments, keys, expected) in [
        (KeyType::I32, 2, [9, 8, 7, 3, 2, 1], [7, 8, 9, 1, 2, 3]),
        // Low words first.
        (KeyType::U64, 1, [0, 2, 9, 0, 5, 1], [9, 0, 5, 1, 0, 2]),
    ] {
        let (from, to) = (gpu.buffer(&keys), gpu.buffer(&[7; 6]));
        let len = 6 / u64::from(key.words());
        let sort = SortJob::segmented(Keys::new(&from, key), len, &starts, segments);
        run(&sorter, &sort.output(&to));
        assert_eq!(gpu.read(&to), expected);
        assert_eq!(gpu.read(&from), keys);
    }
}

#[test]
fn payload_and_structs() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    for len in [900, 5000_u64] {
        let (keys, rows, values) = (keys(len), rows(len, 3), rows(len, 1));
        let order = stable(&keys, Order::Ascending);
        let [from, with_it, also] = [&keys, &rows, &values].map(|words| gpu.buffer(words));
        let [to, moved] = [1, 3].map(|words| gpu.buffer(&vec![7; len as usize * words]));
        let sort = SortJob::new(Keys::new(&from, KeyType::U32), len)
            .output(&to)
            .payload(Payload::new(&with_it, 12).output(&moved))
            .payload(Payload::new(&also, 4));
        run(&sorter, &sort);
        for (buffer, expected) in [
            (&from, &keys),
            (&with_it, &rows),
            (&to, &in_order(&keys, 1, &order)),
            (&moved, &in_order(&rows, 3, &order)),
            (&also, &in_order(&values, 1, &order)),
        ] {
            assert!(gpu.read(buffer) == *expected, "{len} keys");
        }
        // Only the rows are moved.
        let sort = SortJob::new(Keys::new(&from, KeyType::U32), len).keep_keys();
        let twice = gpu.buffer(&vec![7; len as usize * 3]);
        let rows = Payload::new(&with_it, 12).output(&twice);
        run(&sorter, &sort.payload(rows));
        assert!(gpu.read(&twice) == gpu.read(&moved));
        assert!(gpu.read(&from) == keys);
    }
    let mut structs = rows(3000, 4);
    let keys = keys(3000);
    for (row, key) in structs.chunks_mut(4).zip(&keys) {
        row[1] = *key;
    }
    let order = Order::Descending;
    let expected = in_order(&structs, 4, &stable(&keys, order));
    let after = sorted(gpu, &sorter, &structs, |rows, to| {
        let sort = SortJob::new(by_field(rows, KeyType::U32, 16, 4), 3000);
        sort.order(order).output(to)
    });
    assert!(after == expected);
    // One tile if few cases are run: `comparators` tests the other kernels of a comparator.
    let len = if gpu.runs_all_cases() { 3000 } else { 1000 };
    let second = Comparator::new(
        "struct Row { words: array<u32, 4> }
        fn precedes(a: Row, b: Row) -> bool { return a.words[1] > b.words[1]; }",
    );
    let (structs, keys) = (&structs[..4 * len], &keys[..len]);
    let expected = in_order(structs, 4, &stable(keys, Order::Descending));
    let after = sorted(gpu, &sorter, structs, |rows, to| {
        SortJob::by(rows, second.as_ref().unwrap(), len as u64).output(to)
    });
    assert!(after == expected);
}

#[test]
fn values_and_ranges() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let len = 3000_u64;
    let (keys, values) = (keys(len), rows(len, 1));
    let order = stable(&keys, Order::Ascending);
    let [from, with_it] = [&keys, &values].map(|words| gpu.buffer(words));
    let to = gpu.buffer(&vec![7; len as usize]);
    let sort = SortJob::new(Keys::new(&from, KeyType::U32), len).output(&to);
    run(&sorter, &sort.values(&with_it));
    assert!(gpu.read(&from) == keys);
    assert!(gpu.read(&to) == in_order(&keys, 1, &order));
    assert!(gpu.read(&with_it) == in_order(&values, 1, &order));

    let smallest = sorted(gpu, &sorter, &keys, |keys, to| {
        let sort = SortJob::new(Keys::new(keys, KeyType::U32), len);
        sort.output(to).top(50)
    });
    assert!(smallest[..50] == in_order(&keys, 1, &order)[..50]);
    let mut all = [smallest, keys.clone()];
    for keys in &mut all {
        keys.sort_unstable();
    }
    assert!(all[0] == all[1]);
}

/// Mapped keys are read from one buffer and written to another without an extra dispatch, except
/// for a sort that only copies.
#[test]
fn out_of_place_mergesorts_of_mapped_keys_need_no_extra_copy() {
    let Some(gpu) = gpu() else { return };
    for len in [1, 1024, 1 << 13] {
        let [from, to] = [(); 2].map(|()| gpu.empty_buffer(8 * len));
        for key in [KeyType::F32, KeyType::I64] {
            for engine in [Engine::BcfMergesort, Engine::BcfMergesortPb] {
                let sorter = gpu.sorter(&Options::default().engine(engine));
                let sort = || SortJob::new(Keys::new(&from, key), len);
                let [in_place, out_of_place] = [sort(), sort().output(&to)].map(|sort| {
                    let sort = sort.prepare(&sorter).unwrap();
                    sort.recording().steps.len()
                });
                assert_eq!(out_of_place, in_place.max(1), "{len} {key} {engine:?}");
            }
        }
    }
}

/// One record, and up to a tile.
#[test]
fn few_records_are_sorted_at_any_offset() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    for (len, first) in [(1, 7), (300, 66), (1000, 5), (1024, 77)] {
        let (room, at) = (first + len + 2, first as usize);
        // Many keys are equal, 64-bit keys too.
        let noise: Vec<u32> = keys(room * 4)
            .iter()
            .map(|word| word & 0x8000_0007)
            .collect();
        let values = rows(room, 3);
        let [a, b] = [&noise, &values].map(|words| gpu.buffer(words));
        let more = [KeyType::U32, KeyType::U64].map(|key| (key, Order::Descending));
        for (key, direction) in gpu.cases(&REPRESENTATIVES, &more) {
            let (words, map) = (key.words(), key.map(direction));
            // The sorted order of rows of `row_words` words, with the key at word `at`.
            let order_of = |row_words: u32, at: u32| {
                let code = |row: &[u32]| match row[at as usize..] {
                    [low, high, ..] if words == 2 => u64::from(high) << 32 | u64::from(low),
                    [word, ..] => word.into(),
                    [] => 0,
                };
                let all = noise.chunks(row_words as usize).map(code);
                let part = all.skip(first as usize).take(len as usize);
                let codes: Vec<u64> = part.map(|bits| map.encode(bits)).collect();
                stable(&codes, Order::Ascending)
            };
            let sorted = |rows: &[u32], words: u32, order: &[u32]| {
                let mut after = rows.to_vec();
                let part = (first * u64::from(words)) as usize..;
                let moved = in_order(&rows[part.clone()], words, order);
                after[part][..moved.len()].copy_from_slice(&moved);
                after
            };
            let check = |job: SortJob<'_>, expected: [&[u32]; 2]| {
                for (buffer, words) in [(&a, &noise), (&b, &values)] {
                    gpu.queue
                        .write_buffer(buffer, 0, bytemuck::cast_slice(words));
                }
                let sort = job.order(direction).prepare(&sorter).unwrap();
                sort.profile(Detail::Phases).unwrap();
                let after = [&a, &b].map(|buffer| gpu.read(buffer));
                assert!(after == expected, "{len} {key} {:?}", sort.recording());
            };
            let order = order_of(words, 0);
            let in_a_row = sorted(&noise, words, &order);
            let with_it = [1, 3].map(|words| sorted(&values, words, &order));
            let mut indices = values.clone();
            indices[first as usize..][..len as usize].copy_from_slice(&order);
            let keys = || SortJob::new(Keys::new(tail(&a, at, key.bytes()), key), len);
            let rows = |words: u32| Payload::new(tail(&b, at, 4 * u64::from(words)), 4 * words);
            let word = || tail(&b, at, 4);
            check(keys(), [&in_a_row, &values]);
            check(keys().values(word()), [&in_a_row, &with_it[0]]);
            check(keys().payload(rows(1)).keep_keys(), [&noise, &with_it[0]]);
            check(keys().payload(rows(3)), [&in_a_row, &with_it[1]]);
            check(keys().indices(word()).keep_keys(), [&noise, &indices]);
            // Structs sorted by a field, with payload, moved or not.
            let order = order_of(4, 2);
            let sorted_structs = sorted(&noise, 4, &order);
            let by_structs = sorted(&values, 1, &order);
            let structs = || SortJob::new(by_field(tail(&a, at, 16), key, 16, 8), len);
            check(structs(), [&sorted_structs, &values]);
            check(structs().values(word()).keep_keys(), [&noise, &by_structs]);
            check(structs().payload(rows(1)), [&sorted_structs, &by_structs]);
        }
    }
}

/// Records of a planned sort. No buffer of this size is created.
const MANY: u64 = 1 << 22;

/// Scratch memory is at most 2.5 times the composed records, a copy of the rows that move in place,
/// and 16 MiB.
fn check_composed<'a>(
    gpu: &Gpu,
    sorts: impl IntoIterator<Item = (&'static str, SortJob<'a>, u64, u64)>,
) {
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    for (what, sort, record, row) in sorts {
        let size = sort.scratch_size(&sorter).unwrap();
        let most = MANY * (record * 5 / 2 + row) + (16 << 20);
        assert!(size <= most, "{what}: {size}, not up to {most}");
    }
}

#[test]
fn scratch_memory_of_keys_and_pairs_is_as_documented() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    let [a, b, c] = [(); 3].map(|()| gpu.empty_buffer(512));
    let sort = |key| SortJob::new(Keys::new(&a, key), MANY);
    let (narrow, wide) = (KeyType::U32, KeyType::F64);
    for (what, sort, record) in [
        ("keys", sort(narrow), 4),
        ("wide keys", sort(wide), 8),
        ("pairs", sort(narrow).values(&b), 8),
        ("wide pairs", sort(wide).values(&b), 12),
        ("indices", sort(narrow).indices(&b), 8),
        ("out of place", sort(wide).output(&b), 8),
        ("indirect count", sort(narrow).len_from(&b), 4),
        (
            "aligned part",
            SortJob::new(Keys::new(a.slice(256..), narrow), MANY).values(c.slice(256..)),
            8,
        ),
        // A counting sort.
        ("packed", sort(KeyType::I16), 0),
    ] {
        let size = sort.scratch_size(&sorter).unwrap();
        let most = MANY * record * 23 / 20 + (16 << 20);
        assert!(size <= most, "{what}: {size}, not up to {most}");
    }
}

#[test]
fn scratch_memory_of_composed_sorts_is_as_documented() {
    let Some(gpu) = gpu() else { return };
    let [a, b, c, d] = [(); 4].map(|()| gpu.empty_buffer(16));
    let sort = |key| SortJob::new(Keys::new(&a, key), MANY);
    let part = |key: KeyType| SortJob::new(Keys::new(tail(&a, 1, key.bytes()), key), MANY);
    let (narrow, wide, packed) = (KeyType::U32, KeyType::F64, KeyType::I16);
    let structs = |key, bytes| SortJob::new(by_field(&a, key, bytes, 8), MANY);
    let rows = |buffer, bytes| Payload::new(buffer, bytes);
    check_composed(
        gpu,
        [
            ("argsort", sort(narrow).indices(&b).keep_keys(), 8, 0),
            ("wide argsort", sort(wide).indices(&b).keep_keys(), 12, 0),
            ("stable values", sort(narrow).payload(rows(&b, 4)), 8, 4),
            ("part", part(narrow), 4, 0),
            ("wide part, values", part(wide).values(&b), 12, 4),
            ("part, indices", part(narrow).indices(b.slice(4..)), 8, 0),
            (
                "rows",
                sort(narrow).payload(rows(&b, 12)).payload(rows(&c, 8)),
                8,
                12,
            ),
            (
                "rows, indices, out of place",
                sort(narrow).output(&d).payload(rows(&b, 12)).indices(&c),
                8,
                12,
            ),
            (
                "rows out of place",
                sort(narrow).payload(rows(&b, 12).output(&c)),
                8,
                0,
            ),
            ("strided keys", structs(wide, 32), 12, 32),
            (
                "strided keys, indices",
                structs(narrow, 28).indices(&b),
                8,
                28,
            ),
            (
                "argsort of strided keys",
                structs(narrow, 28).keep_keys().indices(&b),
                8,
                0,
            ),
            ("packed, values", part(packed).values(&b), 8, 4),
        ],
    );
    let segments = |key| SortJob::segmented(Keys::new(&a, key), MANY, &d, 4);
    check_composed(
        gpu,
        [
            ("segments", segments(narrow), 8, 0),
            ("packed segments", segments(packed), 8, 0),
            ("wide segments", segments(wide), 12, 0),
            ("segments, indices", segments(narrow).indices(&b), 12, 0),
            (
                "segments, rows",
                segments(narrow).payload(rows(&b, 8)),
                12,
                8,
            ),
            ("wide segments, indices", segments(wide).indices(&b), 16, 8),
            (
                "wide segments, rows",
                segments(wide).payload(rows(&b, 16)),
                16,
                16,
            ),
        ],
    );
    let comparator = Comparator::new(
        "struct Row { key: vec4<u32> }
        fn precedes(a: Row, b: Row) -> bool { return a.key.x < b.key.x; }",
    );
    let comparator = comparator.unwrap();
    let compared = || SortJob::by(&a, &comparator, MANY);
    check_composed(
        gpu,
        [
            ("comparator", compared(), 4, 16),
            (
                "comparator, larger rows",
                compared().payload(rows(&b, 20)),
                4,
                20,
            ),
            ("comparator, out of place", compared().output(&b), 4, 0),
            (
                "comparator, indices",
                compared().keep_keys().indices(&b),
                4,
                0,
            ),
        ],
    );
}

#[test]
fn invalid_output_buffers_are_refused() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let [a, b, c] = [(); 3].map(|()| gpu.buffer(&[0; 8]));
    let short = gpu.buffer(&[0; 7]);
    let keys = || SortJob::new(Keys::new(&a, KeyType::U32), 8);
    for sort in [
        keys().output(&a),
        keys().output(&b).indices(&b),
        keys().payload(Payload::new(&b, 4).output(&b)),
        keys().payload(Payload::new(&b, 4).output(&a)),
        keys().output(&b).payload(Payload::new(&c, 4).output(&b)),
        SortJob::new(by_field(&a, KeyType::U32, 8, 0), 4).output(&a),
    ] {
        let refused = sort.prepare(&sorter);
        assert!(
            matches!(refused, Err(Error::SameBuffer { .. })),
            "{refused:?}"
        );
    }
    for (sort, buffer) in [
        (keys().output(&short), BufferRole::Output),
        (
            keys().payload(Payload::new(&b, 4).output(&short)),
            BufferRole::PayloadOutput(0),
        ),
    ] {
        let refused = sort.prepare(&sorter).unwrap_err().to_string();
        let text = format!("the {buffer} buffer has 28 bytes, and needs 32");
        assert_eq!(refused, text);
    }
    let no_storage = gpu
        .device
        .create_buffer(&wgpu_bcfsort::wgpu::BufferDescriptor {
            label: None,
            size: 32,
            usage: wgpu_bcfsort::wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
    for sort in [
        keys().output(&no_storage),
        keys().payload(Payload::new(&b, 4).output(&no_storage)),
    ] {
        let refused = sort.prepare(&sorter);
        assert!(
            matches!(refused, Err(Error::BufferUsage { .. })),
            "{refused:?}"
        );
    }
}
