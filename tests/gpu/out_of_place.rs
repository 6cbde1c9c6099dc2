//! Sorts whose result is in other buffers than their input, on this machine's adapter.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::rows::{in_order, keys, rows, run};
use bcfsort_testkit::recordings::REPRESENTATIVES;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{
    BufferSort, Comparator, Engine, Error, KeyType, Options, Order, PackedKey, Sorter,
};

/// What a sort leaves in another buffer, which has a word of 7 in every place before. The input
/// must stay as it is.
fn sorted(
    gpu: &Gpu,
    sorter: &Sorter,
    input: &[u32],
    sort: impl for<'a> Fn(&'a wgpu::Buffer) -> BufferSort<'a>,
) -> Vec<u32> {
    let (from, to) = (gpu.buffer(input), gpu.buffer(&vec![7; input.len()]));
    run(sorter, sort(&from).sorted_into(&to));
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
            let after = sorted(gpu, &sorter, &keys, |keys| {
                BufferSort::new(keys, len, KeyType::U32)
            });
            let expected = in_order(&keys, 1, &stable(&keys, Order::Ascending));
            assert!(after == expected, "{len} keys");
        }
    }
}

#[test]
fn parts_and_counted_records_leave_the_rest_of_the_other_buffer() {
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
            // From the first record of all on, too, if not to the last.
            let (keys, expected) = (&keys[321 - first..], &expected[321 - first..]);
            let (from, to) = (gpu.buffer(keys), gpu.buffer(&vec![7; keys.len()]));
            let sort = BufferSort::new(&from, len, KeyType::U32)
                .first(first as u64)
                .order(order_of_all)
                .sorted_into(&to);
            run(
                &sorter,
                match number {
                    Some(_) => sort.count(&count, 0),
                    None => sort,
                },
            );
            assert!(gpu.read(&from) == keys);
            assert!(gpu.read(&to) == *expected, "{number:?} from {first}");
        }
    }
}

#[test]
fn packed_keys_and_arrays() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let words = [0x0403_0201, 0x0807_0605, 0x0c0b_0a09];
    let after = sorted(gpu, &sorter, &words, |keys| {
        let sort = BufferSort::of_packed(keys, 9, PackedKey::U8).first(2);
        sort.order(Order::Descending)
    });
    assert_eq!(after, [0x0a0b_0007, 0x0607_0809, 0x0003_0405]);
    let starts = gpu.buffer(&[0, 3]);
    for (key, arrays, keys, expected) in [
        (KeyType::I32, 2, [9, 8, 7, 3, 2, 1], [7, 8, 9, 1, 2, 3]),
        // The lower words first.
        (KeyType::U64, 1, [0, 2, 9, 0, 5, 1], [9, 0, 5, 1, 0, 2]),
    ] {
        let (from, to) = (gpu.buffer(&keys), gpu.buffer(&[7; 6]));
        let sort = BufferSort::new(&from, 6 / u64::from(key.words()), key);
        run(&sorter, sort.segments(&starts, arrays).sorted_into(&to));
        assert_eq!(gpu.read(&to), expected);
        assert_eq!(gpu.read(&from), keys);
    }
}

#[test]
fn rows_that_go_with_keys_or_hold_them() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    for len in [900, 5000_u64] {
        let (keys, rows, values) = (keys(len), rows(len, 3), rows(len, 1));
        let order = stable(&keys, Order::Ascending);
        let [from, with_it, also] = [&keys, &rows, &values].map(|words| gpu.buffer(words));
        let [to, moved] = [1, 3].map(|words| gpu.buffer(&vec![7; len as usize * words]));
        let sort = BufferSort::new(&from, len, KeyType::U32)
            .sorted_into(&to)
            .rows_into(&with_it, 3, &moved)
            .rows(&also, 1);
        run(&sorter, sort);
        for (buffer, expected) in [
            (&from, &keys),
            (&with_it, &rows),
            (&to, &in_order(&keys, 1, &order)),
            (&moved, &in_order(&rows, 3, &order)),
            (&also, &in_order(&values, 1, &order)),
        ] {
            assert!(gpu.read(buffer) == *expected, "{len} keys");
        }
        // The rows alone: keys may stay.
        let sort = BufferSort::new(&from, len, KeyType::U32).keep_keys();
        let twice = gpu.buffer(&vec![7; len as usize * 3]);
        run(&sorter, sort.rows_into(&with_it, 3, &twice));
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
    let after = sorted(gpu, &sorter, &structs, |rows| {
        BufferSort::of_rows(rows, 3000, 4, 1, KeyType::U32).order(order)
    });
    assert!(after == expected);
    // (Of one tile where few cases are run: other kernels of a comparator are in `comparators`.)
    let len = if gpu.runs_all_cases() { 3000 } else { 1000 };
    let second = Comparator::new(
        "struct Row { words: array<u32, 4> }
        fn precedes(a: Row, b: Row) -> bool { return a.words[1] > b.words[1]; }",
    );
    let (structs, keys) = (&structs[..4 * len], &keys[..len]);
    let expected = in_order(structs, 4, &stable(keys, Order::Descending));
    let after = sorted(gpu, &sorter, structs, |rows| {
        BufferSort::compared(rows, len as u64, second.as_ref().unwrap())
    });
    assert!(after == expected);
}

#[test]
fn values_and_places() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let len = 3000_u64;
    let (keys, values) = (keys(len), rows(len, 1));
    let order = stable(&keys, Order::Ascending);
    let [from, with_it] = [&keys, &values].map(|words| gpu.buffer(words));
    let to = gpu.buffer(&vec![7; len as usize]);
    let sort = BufferSort::new(&from, len, KeyType::U32).sorted_into(&to);
    run(&sorter, sort.values(&with_it));
    assert!(gpu.read(&from) == keys);
    assert!(gpu.read(&to) == in_order(&keys, 1, &order));
    assert!(gpu.read(&with_it) == in_order(&values, 1, &order));

    let least = sorted(gpu, &sorter, &keys, |keys| {
        BufferSort::new(keys, len, KeyType::U32).ranks(0..50)
    });
    assert!(least[..50] == in_order(&keys, 1, &order)[..50]);
    let mut all = [least, keys.clone()];
    for keys in &mut all {
        keys.sort_unstable();
    }
    assert!(all[0] == all[1]);
}

/// However it is said, and in whatever order.
#[test]
fn rows_of_the_keys_end_where_it_is_said() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let rows = [3, 30, 1, 10, 2, 20];
    let [from, to] = [rows, [7; 6]].map(|words| gpu.buffer(&words));
    let indices = gpu.buffer(&[7; 3]);
    let by_field = || BufferSort::of_rows(&from, 3, 2, 0, KeyType::U32);
    for sort in [
        by_field().sorted_into(&to),
        by_field().rows_into(&from, 2, &to),
        by_field().keep_keys().rows_into(&from, 2, &to),
        by_field().indices(&indices).rows_into(&from, 2, &to),
    ] {
        gpu.queue.write_buffer(&to, 0, &[7; 24]);
        run(&sorter, sort);
        assert_eq!(gpu.read(&to), [1, 10, 2, 20, 3, 30]);
        assert_eq!(gpu.read(&from), rows);
    }
    let twice = by_field().rows_into(&from, 2, &to).sorted_into(&indices);
    let refused = sorter.prepare_sort(twice).unwrap_err().to_string();
    assert!(refused.ends_with("either says where they end, so leave one out"));
    // Half of them would go with keys that are not theirs.
    let torn = by_field().indices(&indices).rows(&from, 1);
    assert!(matches!(sorter.prepare_sort(torn), Err(Error::SameBuffer)));
}

/// Where keys are mapped, they are read in one buffer and written to another at no dispatch more,
/// unless copying is all there is to do.
#[test]
fn mergesorts_out_of_place_of_mapped_keys_take_no_copy_more() {
    let Some(gpu) = gpu() else { return };
    for len in [1, 1024, 1 << 13] {
        let [from, to] = [(); 2].map(|()| gpu.empty_buffer(8 * len));
        for key in [KeyType::F32, KeyType::I64] {
            for engine in [Engine::BcfMergesort, Engine::BcfMergesortPb] {
                let sorter = gpu.sorter(&Options::default().engine(engine));
                let sort = || BufferSort::new(&from, len, key);
                let [in_place, elsewhere] = [sort(), sort().sorted_into(&to)].map(|sort| {
                    let sort = sorter.prepare_sort(sort).unwrap();
                    sort.recording().steps.len()
                });
                assert_eq!(elsewhere, in_place.max(1), "{len} {key} {engine:?}");
            }
        }
    }
}

/// Also one record, and up to a tile.
#[test]
fn few_records_are_sorted_wherever_they_lie() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    for (len, first) in [(1, 7), (300, 66), (1000, 5), (1024, 77)] {
        let room = first + len + 2;
        // (Many are equal, also of two words.)
        let noise: Vec<u32> = keys(room * 4)
            .iter()
            .map(|word| word & 0x8000_0007)
            .collect();
        let values = rows(room, 3);
        let more = [KeyType::U32, KeyType::U64].map(|key| (key, Order::Descending));
        for (key, direction) in gpu.cases(&REPRESENTATIVES, &more) {
            let (words, map) = (key.words(), key.map(direction));
            // In rows of so many words, of which the key begins with this one.
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
            let check = |sort: &dyn for<'a> Fn([&'a wgpu::Buffer; 2]) -> BufferSort<'a>,
                         expected: [&[u32]; 2]| {
                let [a, b] = [&noise, &values].map(|words| gpu.buffer(words));
                let sort = sort([&a, &b]).first(first).order(direction);
                let sort = sorter.prepare_sort(sort).unwrap();
                sorter.run_profiled(&sort).unwrap();
                let after = [&a, &b].map(|buffer| gpu.read(buffer));
                assert!(after == expected, "{len} {key} {:?}", sort.recording());
            };
            let order = order_of(words, 0);
            let in_a_row = sorted(&noise, words, &order);
            let with_it = [1, 3].map(|words| sorted(&values, words, &order));
            let mut indices = values.clone();
            indices[first as usize..][..len as usize].copy_from_slice(&order);
            check(&|[a, _]| BufferSort::new(a, len, key), [&in_a_row, &values]);
            check(
                &|[a, b]| BufferSort::new(a, len, key).values(b),
                [&in_a_row, &with_it[0]],
            );
            check(
                &|[a, b]| BufferSort::new(a, len, key).values(b).stable().keep_keys(),
                [&noise, &with_it[0]],
            );
            check(
                &|[a, b]| BufferSort::new(a, len, key).rows(b, 3),
                [&in_a_row, &with_it[1]],
            );
            check(
                &|[a, b]| BufferSort::new(a, len, key).indices(b).keep_keys(),
                [&noise, &indices],
            );
            // Rows by a field, and what goes by it, where they stay.
            let order = order_of(4, 2);
            let structs = sorted(&noise, 4, &order);
            let by_field = sorted(&values, 1, &order);
            check(
                &|[a, _]| BufferSort::of_rows(a, len, 4, 2, key),
                [&structs, &values],
            );
            check(
                &|[a, b]| BufferSort::of_rows(a, len, 4, 2, key).values(b),
                [&noise, &by_field],
            );
            check(
                &|[a, b]| BufferSort::of_rows(a, len, 4, 2, key).values(b).stable(),
                [&noise, &by_field],
            );
        }
    }
}

/// (Nothing is made of that size.)
const MANY: u64 = 1 << 22;

/// Scratch memory is at most 2.5 times the bytes of composed records, with a copy of the rows that
/// move in place and 16 MiB.
fn check_composed<'a>(
    gpu: &Gpu,
    sorts: impl IntoIterator<Item = (&'static str, BufferSort<'a>, u64, u64)>,
) {
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    for (what, sort, record, row) in sorts {
        let size = sorter.scratch_size_of(&sort).unwrap();
        let most = MANY * (record * 5 / 2 + row) + (16 << 20);
        assert!(size <= most, "{what}: {size}, not up to {most}");
    }
}

#[test]
fn scratch_memory_of_keys_and_pairs_is_what_is_documented() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    let [a, b, c] = [(); 3].map(|()| gpu.empty_buffer(16));
    let sort = |key| BufferSort::new(&a, MANY, key);
    let (narrow, wide) = (KeyType::U32, KeyType::F64);
    for (what, sort, record) in [
        ("keys", sort(narrow), 4),
        ("wide keys", sort(wide), 8),
        ("pairs", sort(narrow).values(&b), 8),
        ("wide pairs", sort(wide).values(&b), 12),
        ("indices", sort(narrow).indices(&b), 8),
        ("out of place", sort(wide).sorted_into(&b), 8),
        ("indirect count", sort(narrow).count(&b, 0), 4),
        ("aligned part", sort(narrow).first(64).values(&c), 8),
        // (By counting.)
        ("packed", BufferSort::of_packed(&a, MANY, PackedKey::I16), 0),
    ] {
        let size = sorter.scratch_size_of(&sort).unwrap();
        let most = MANY * record * 23 / 20 + (16 << 20);
        assert!(size <= most, "{what}: {size}, not up to {most}");
    }
}

#[test]
fn scratch_memory_of_what_is_composed_is_what_is_documented() {
    let Some(gpu) = gpu() else { return };
    let [a, b, c, d] = [(); 4].map(|()| gpu.empty_buffer(16));
    let sort = |key| BufferSort::new(&a, MANY, key);
    let (narrow, wide) = (KeyType::U32, KeyType::F64);
    let packed = || BufferSort::of_packed(&a, MANY, PackedKey::I16);
    let rows = |key, words| BufferSort::of_rows(&a, MANY, words, 2, key);
    check_composed(
        gpu,
        [
            ("argsort", sort(narrow).indices(&b).keep_keys(), 8, 0),
            ("wide argsort", sort(wide).indices(&b).keep_keys(), 12, 0),
            ("stable values", sort(narrow).values(&b).stable(), 8, 4),
            ("part", sort(narrow).first(1), 4, 0),
            ("wide part, values", sort(wide).first(1).values(&b), 12, 4),
            ("part, indices", sort(narrow).first(1).indices(&b), 8, 0),
            ("rows", sort(narrow).rows(&b, 3).rows(&c, 2), 8, 12),
            ("rows out of place", sort(narrow).rows_into(&b, 3, &c), 8, 0),
            ("strided keys", rows(wide, 8), 12, 32),
            ("strided keys, indices", rows(narrow, 7).indices(&b), 8, 0),
            ("packed, values", packed().first(1).values(&b), 8, 4),
        ],
    );
    check_composed(
        gpu,
        [
            ("segments", sort(narrow).segments(&d, 4), 8, 0),
            ("packed segments", packed().segments(&d, 4), 8, 0),
            ("wide segments", sort(wide).segments(&d, 4), 12, 0),
            (
                "segments, indices",
                sort(narrow).segments(&d, 4).indices(&b),
                12,
                0,
            ),
            (
                "segments, rows",
                sort(narrow).segments(&d, 4).rows(&b, 2),
                12,
                8,
            ),
            (
                "wide segments, indices",
                sort(wide).segments(&d, 4).indices(&b),
                16,
                8,
            ),
            (
                "wide segments, rows",
                sort(wide).segments(&d, 4).rows(&b, 4),
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
    let compared = || BufferSort::compared(&a, MANY, &comparator);
    check_composed(
        gpu,
        [
            ("comparator", compared(), 4, 16),
            ("comparator, larger rows", compared().rows(&b, 5), 4, 20),
            ("comparator, out of place", compared().sorted_into(&b), 4, 0),
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
fn nonsense_is_refused() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let [a, b, c] = [(); 3].map(|()| gpu.buffer(&[0; 8]));
    let short = gpu.buffer(&[0; 7]);
    let keys = || BufferSort::new(&a, 8, KeyType::U32);
    for sort in [
        keys().sorted_into(&a),
        keys().sorted_into(&b).indices(&b),
        keys().rows_into(&b, 1, &b),
        keys().rows_into(&b, 1, &a),
        keys().sorted_into(&b).rows_into(&c, 1, &b),
        BufferSort::of_rows(&a, 4, 2, 0, KeyType::U32).sorted_into(&a),
    ] {
        let refused = sorter.prepare_sort(sort);
        assert!(matches!(refused, Err(Error::SameBuffer)), "{refused:?}");
    }
    for sort in [keys().sorted_into(&short), keys().rows_into(&b, 1, &short)] {
        let refused = sorter.prepare_sort(sort).unwrap_err().to_string();
        assert!(
            refused.starts_with("the buffer of sorted_") && refused.contains(" holds 28 bytes, "),
            "{refused}"
        );
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
        keys().sorted_into(&no_storage),
        keys().rows_into(&b, 1, &no_storage),
    ] {
        let refused = sorter.prepare_sort(sort);
        assert!(
            matches!(refused, Err(Error::BufferUsage { .. })),
            "{refused:?}"
        );
    }
    let indices = BufferSort::of_rows(&a, 4, 2, 0, KeyType::U32).indices(&b);
    let refused = sorter.prepare_sort(indices.sorted_into(&c)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "sorted_into does not go with indices or values of rows, which stay where \
         they are: leave it out, or move values with the rows, as rows of one word"
    );
}
