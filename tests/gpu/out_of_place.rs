//! Sorts whose result is in other buffers than their input, on this machine's adapter.

use crate::device::{Gpu, gpu};
use crate::pairs::{narrow, sorter, stable};
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
        narrow(gpu),
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
    let (sorter, order_of_all) = (narrow(gpu), gpu.or_ascending(Order::Descending));
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
    let order = gpu.or_ascending(Order::Descending);
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

    let least = sorted(gpu, &narrow(gpu), &keys, |keys| {
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

/// Up to a tile in one dispatch, up to sixteen in two, wherever keys end and whatever is asked for
/// but rows.
#[test]
fn few_keys_are_sorted_in_one_or_two_dispatches() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    for (len, dispatches) in [(1, 1), (1024, 1), (1 << 13, 2)] {
        let [from, to] = [(); 2].map(|()| gpu.empty_buffer(8 * len));
        let dispatches_of = |sorter: &Sorter, sort| {
            let sort = sorter.prepare_sort(sort).unwrap();
            sort.recording().steps.len()
        };
        let sort = |key| BufferSort::new(&from, len, key);
        for key in [KeyType::F32, KeyType::I64] {
            for sort in [
                sort(key).sorted_into(&to),
                sort(key).indices(&to).keep_keys(),
                sort(key).indices(&to),
            ] {
                assert_eq!(dispatches_of(&sorter, sort), dispatches, "{len} {key}");
            }
            // By whatever engine it is, there is none for the copy, unless that is all.
            for engine in [Engine::Auto, Engine::BcfMergesort, Engine::BcfMergesortPb] {
                let sorter = gpu.sorter(&Options::default().engine(engine));
                let [in_place, elsewhere] = [sort(key), sort(key).sorted_into(&to)]
                    .map(|sort| dispatches_of(&sorter, sort));
                assert_eq!(elsewhere, in_place.max(1), "{len} {key} {engine:?}");
            }
        }
    }
}

/// What is around a sort of up to a tile is done in its dispatch, and takes no scratch memory.
#[test]
fn a_tile_is_sorted_in_one_dispatch_wherever_it_lies() {
    let Some(gpu) = gpu() else { return };
    let [a, b, counts] = [(); 3].map(|()| gpu.empty_buffer(40_000));
    let sort = |key| BufferSort::new(&a, 1024, key).first(13);
    let rows = |key| BufferSort::of_rows(&a, 1024, 4, 2, key).first(3);
    let packed = |key| BufferSort::of_packed(&a, 1024, key);
    let engine = |engine| gpu.sorter(&Options::default().engine(engine));
    let [sample_sort, mergesort] = [Engine::SampleSort, Engine::BcfMergesort].map(engine);
    for key in [KeyType::U32, KeyType::F64] {
        for sort in [
            sort(key).values(&b),
            sort(key).values(&b).stable(),
            BufferSort::new(&a, 1000, key).values(&b).stable(),
            sort(key).indices(&b),
            sort(key).indices(&b).keep_keys(),
            sort(key).rows(&b, 4),
            rows(key),
            packed(PackedKey::Bf16).values(&b),
            packed(PackedKey::I8).first(5).indices(&b),
        ] {
            // These are the sample sort's, whatever the engine.
            let sort = mergesort.prepare_sort(sort).unwrap();
            assert_eq!(sort.recording().steps.len(), 1, "{:?}", sort.recording());
            assert_eq!(sort.recording().scratch_bytes(), 0);
        }
        for keys in [sort(key), packed(PackedKey::F16)] {
            let sort = sample_sort.prepare_sort(keys).unwrap();
            assert_eq!(sort.recording().steps.len(), 1);
        }
        // The paper's engines sort keys alone, where these are taken to.
        let sort = mergesort.prepare_sort(sort(key)).unwrap();
        assert!(sort.recording().steps.len() > 1);
        let counted = rows(key).count(&counts, 1);
        let sort = sample_sort.prepare_sort(counted).unwrap();
        assert_eq!(sort.recording().steps.len(), 2);
    }
}

/// And is what it is to be, with all that is around it.
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
                assert_eq!(sort.recording().steps.len(), 1, "{len} {key}");
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

/// For each record what the documentation says, and a tenth of it at the most for tables. (Of the
/// 16 MiB that are allowed besides, so many records need a quarter at the most.)
fn check_scratch<'a>(
    gpu: &Gpu,
    sorts: impl IntoIterator<Item = (&'static str, BufferSort<'a>, u64)>,
) {
    let sorter = gpu.sorter(&Options::default().engine(Engine::SampleSort));
    for (what, sort, bytes) in sorts {
        let size = sorter.scratch_size_of(&sort).unwrap();
        let (least, most) = (MANY * bytes, MANY * bytes * 11 / 10 + (4 << 20));
        assert!(
            (least..=most).contains(&size),
            "{what}: {size}, not {least} to {most}"
        );
    }
}

#[test]
fn scratch_memory_is_what_is_documented() {
    let Some(gpu) = gpu() else { return };
    let [a, b, c, d] = [(); 4].map(|()| gpu.empty_buffer(16));
    let sort = |key| BufferSort::new(&a, MANY, key);
    let (narrow, wide) = (sort(KeyType::U32), KeyType::F64);
    let packed = || BufferSort::of_packed(&a, MANY, PackedKey::I16);
    let sorts = [
        ("keys", narrow, 4),
        ("wide keys", sort(wide), 8),
        ("values", sort(KeyType::U32).values(&b), 4 + 4),
        (
            "stable values",
            sort(KeyType::U32).values(&b).stable(),
            4 + 4 + 4,
        ),
        ("indices", sort(wide).indices(&b), 8 + 4),
        ("kept keys", sort(wide).indices(&b).keep_keys(), 8 + 4),
        (
            "part of kept keys",
            sort(KeyType::U32).first(1).indices(&b).keep_keys(),
            4 + 4,
        ),
        (
            "part, indices",
            sort(KeyType::U32).first(1).indices(&b),
            4 + 4,
        ),
        ("part, values", sort(wide).first(1).values(&b), 8 + 4 + 4),
        (
            "kept keys of rows",
            sort(wide).rows(&b, 1).keep_keys(),
            8 + 4 + 4,
        ),
        ("keys elsewhere", sort(wide).sorted_into(&b), 8),
        ("part", sort(wide).first(1), 8),
        ("part elsewhere", sort(wide).first(1).sorted_into(&b), 8),
        ("counted", sort(KeyType::U32).count(&b, 0), 4),
        ("rows of a word", sort(KeyType::U32).rows(&b, 1), 4 + 4 + 4),
        ("rows", sort(KeyType::U32).rows(&b, 2), 4 + 8),
        (
            "rows twice",
            sort(KeyType::U32).rows(&b, 3).rows(&c, 2),
            4 + 12,
        ),
        (
            "rows elsewhere",
            sort(KeyType::U32).rows_into(&b, 3, &c),
            4 + 4 + 4,
        ),
        (
            "all elsewhere",
            sort(KeyType::U32).sorted_into(&d).rows_into(&b, 3, &c),
            4 + 4 + 4,
        ),
        (
            "field",
            BufferSort::of_rows(&a, MANY, 2, 1, KeyType::U32),
            8 + 4 + 4,
        ),
        (
            "wide field",
            BufferSort::of_rows(&a, MANY, 8, 2, wide),
            32 + 4,
        ),
        (
            "field, indices",
            BufferSort::of_rows(&a, MANY, 7, 1, KeyType::U32).indices(&b),
            4 + 4,
        ),
        ("packed", packed(), 0),
        ("packed, indices", packed().indices(&b), 4 + 4),
        (
            "packed part, values",
            packed().first(1).values(&b),
            4 + 4 + 4,
        ),
        ("packed, rows", packed().rows(&b, 2).keep_keys(), 4 + 4 + 8),
    ];
    check_scratch(gpu, sorts);
}

#[test]
fn scratch_memory_of_arrays_is_what_is_documented() {
    let Some(gpu) = gpu() else { return };
    let [a, b, d] = [(); 3].map(|()| gpu.empty_buffer(16));
    let sort = |key| BufferSort::new(&a, MANY, key);
    let wide = KeyType::F64;
    let packed = || BufferSort::of_packed(&a, MANY, PackedKey::I16);
    let sorts = [
        ("arrays", sort(KeyType::U32).segments(&d, 4), 4),
        (
            "arrays, indices",
            sort(KeyType::U32).segments(&d, 4).indices(&b),
            4 + 4,
        ),
        (
            "arrays, values",
            sort(KeyType::U32).segments(&d, 4).values(&b),
            4 + 4 + 4,
        ),
        ("wide arrays", sort(wide).segments(&d, 4), 8),
        (
            "wide arrays, indices",
            sort(wide).segments(&d, 4).indices(&b),
            8 + 4,
        ),
        (
            "wide arrays, indices of a part",
            sort(wide).first(1).segments(&d, 4).indices(&b),
            8 + 4,
        ),
        (
            "wide arrays, values",
            sort(wide).segments(&d, 4).values(&b),
            8 + 4 + 4,
        ),
        ("packed arrays", packed().segments(&d, 4), 4),
        (
            "packed arrays, indices",
            packed().segments(&d, 4).indices(&b),
            4 + 4,
        ),
        (
            "arrays, rows",
            sort(KeyType::U32).segments(&d, 4).rows(&b, 2),
            8 + 4 + 4,
        ),
        (
            "wide arrays, rows of three words",
            sort(wide).segments(&d, 4).rows(&b, 3),
            12 + 4 + 4,
        ),
        (
            "wide arrays, rows",
            sort(wide).segments(&d, 4).rows(&b, 4),
            16 + 4 + 4,
        ),
    ];
    check_scratch(gpu, sorts);
}

#[test]
fn scratch_memory_of_what_is_compared_is_what_is_documented() {
    let Some(gpu) = gpu() else { return };
    let [a, b] = [(); 2].map(|()| gpu.empty_buffer(16));
    let comparator = Comparator::new(
        "struct Row { key: vec4<u32> }
        fn precedes(a: Row, b: Row) -> bool { return a.key.x < b.key.x; }",
    );
    let comparator = comparator.unwrap();
    let compared = || BufferSort::compared(&a, MANY, &comparator);
    let sorts = [
        ("compared", compared(), 4 + 16),
        ("compared, with larger rows", compared().rows(&b, 5), 4 + 20),
        ("compared elsewhere", compared().sorted_into(&b), 4 + 4),
        ("compared, indices", compared().keep_keys().indices(&b), 4),
    ];
    check_scratch(gpu, sorts);
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
