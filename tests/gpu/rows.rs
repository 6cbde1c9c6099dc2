//! What is around a sort of buffers: rows that go with the keys, keys that are fields of rows,
//! sub-ranges, numbers of records that only the GPU knows.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::sample_sort::options;
use bcfsort_testkit::data::{Pattern, Spec, generate};
use wgpu_bcfsort::{BufferSort, Error, KeyType, Order, PackedKey, SortKey, Sorter, Tuning};

pub(crate) fn keys(len: u64) -> Vec<u32> {
    generate(&Spec::new(Pattern::FewDistinct, len).distinct(300)).unwrap()
}

/// Rows that tell whose they are, and which word of them each word is.
pub(crate) fn rows(len: u64, words: u32) -> Vec<u32> {
    let row = |i: u32| (0..words).map(move |w| i * 16 + w);
    (0..len as u32).flat_map(row).collect()
}

pub(crate) fn in_order(rows: &[u32], words: u32, order: &[u32]) -> Vec<u32> {
    let row = |&i: &u32| &rows[(i * words) as usize..][..words as usize];
    order.iter().flat_map(row).copied().collect()
}

pub(crate) fn run(sorter: &Sorter, sort: BufferSort<'_>) {
    let sort = sorter.prepare_sort(sort).unwrap();
    sorter.run_profiled(&sort).unwrap();
}

#[test]
fn rows_of_any_size_go_with_keys_in_order() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    for (len, order) in [
        (0, Order::Ascending),
        (1, Order::Ascending),
        (900, Order::Ascending),
        (901, Order::Descending),
        (30_001, Order::Ascending),
    ] {
        let keys = keys(len);
        let columns = [1, 3, 16].map(|words| (words, rows(len, words)));
        let expected = stable(&keys, order);
        let on_gpu = gpu.buffer(&keys);
        let buffers = columns.each_ref().map(|column| gpu.buffer(&column.1));
        let mut sort = BufferSort::new(&on_gpu, len, KeyType::U32).order(order);
        for (buffer, (words, _)) in buffers.iter().zip(&columns) {
            sort = sort.rows(buffer, *words);
        }
        run(&sorter, sort);
        assert!(gpu.read(&on_gpu) == in_order(&keys, 1, &expected), "{len}");
        for (buffer, (words, rows)) in buffers.iter().zip(&columns) {
            let sorted = in_order(rows, *words, &expected);
            assert!(gpu.read(buffer) == sorted, "{len} rows of {words}");
        }
    }
}

#[test]
fn structs_are_sorted_by_a_field() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let len = 5000;
    let mut structs = rows(len, 4);
    let keys = keys(len);
    for (row, key) in structs.chunks_mut(4).zip(&keys) {
        row[2] = *key;
    }
    let expected = stable(&keys, Order::Ascending);
    let (on_gpu, others) = (gpu.buffer(&structs), gpu.buffer(&keys));
    let sort = BufferSort::of_rows(&on_gpu, len, 4, 2, KeyType::U32);
    run(&sorter, sort.rows(&others, 1));
    assert!(gpu.read(&on_gpu) == in_order(&structs, 4, &expected));
    assert!(gpu.read(&others) == in_order(&keys, 1, &expected));

    // Whatever was wanted before, rows of the field move when others do.
    let (on_gpu, others) = (gpu.buffer(&structs), gpu.buffer(&keys));
    let sort = BufferSort::of_rows(&on_gpu, len, 4, 2, KeyType::U32);
    run(&sorter, sort.values(&others).rows(&others, 1));
    assert!(gpu.read(&on_gpu) == in_order(&structs, 4, &expected));
    assert!(gpu.read(&others) == in_order(&keys, 1, &expected));

    // Only to know their order.
    let (on_gpu, indices) = (gpu.buffer(&structs), gpu.buffer(&vec![0; len as usize]));
    let sort = BufferSort::of_rows(&on_gpu, len, 4, 2, KeyType::U32);
    run(&sorter, sort.indices(&indices));
    assert!(gpu.read(&on_gpu) == structs);
    assert!(gpu.read(&indices) == expected);

    // A key of two words.
    check_field_of_two_words::<f64>(gpu, &sorter);
    if gpu.runs_all_cases() {
        check_field_of_two_words::<i64>(gpu, &sorter);
    }
}

fn check_field_of_two_words<T: SortKey>(gpu: &Gpu, sorter: &Sorter) {
    let keys: Vec<T> = generate(&Spec::new(Pattern::ZeroOne, 800)).unwrap();
    let mut structs = rows(800, 6);
    for (row, key) in structs.chunks_mut(6).zip(&keys) {
        row[4..].copy_from_slice(bytemuck::cast_slice(&[*key]));
    }
    let expected = stable(&keys, Order::Descending);
    let on_gpu = gpu.buffer(&structs);
    let sort = BufferSort::of_rows(&on_gpu, 800, 6, 4, T::KEY_TYPE);
    run(sorter, sort.order(Order::Descending));
    let what = T::KEY_TYPE;
    assert!(
        gpu.read(&on_gpu) == in_order(&structs, 6, &expected),
        "{what}"
    );
}

#[test]
fn a_part_is_sorted_and_the_rest_stays() {
    let Some(gpu) = gpu() else { return };
    let size = |first: u64| {
        let keys = gpu.empty_buffer(4 * 10_000);
        let sort = BufferSort::new(&keys, 5000, KeyType::U32).first(first);
        // (With the same tiles on every adapter.)
        let small = Tuning {
            merged: 0,
            ..Tuning::cpu()
        };
        let sorter = gpu.sorter(&options(small));
        sorter.scratch_size_of(&sort).unwrap()
    };
    // From where a buffer may be bound on, keys are sorted where they lie.
    assert_eq!(size(1280), size(0));
    // From elsewhere, in scratch memory.
    assert!((size(0)..=5000 * 4 * 5 / 2 + (16 << 20)).contains(&size(1234)));
    for first in [1234, 1280] {
        check_part(gpu, first);
    }
}

fn check_part(gpu: &Gpu, first: usize) {
    let sorter = sorter(gpu);
    let (all, len) = (7000_usize, 3001_usize);
    let keys = keys(all as u64);
    let part = first..first + len;
    let expected = stable(&keys[part.clone()], Order::Ascending);
    let sorted = |from: &[u32], words: u32| {
        let mut to = from.to_vec();
        let part = first * words as usize..(first + len) * words as usize;
        to[part.clone()].copy_from_slice(&in_order(&from[part], words, &expected));
        to
    };
    let part_of = |keys| BufferSort::new(keys, len as u64, KeyType::U32).first(first as u64);
    let on_gpu = gpu.buffer(&keys);
    run(&sorter, part_of(&on_gpu));
    assert!(gpu.read(&on_gpu) == sorted(&keys, 1));

    let rows = rows(all as u64, 2);
    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&rows));
    run(&sorter, part_of(&on_gpu).rows(&with_it, 2));
    assert!(gpu.read(&on_gpu) == sorted(&keys, 1));
    assert!(gpu.read(&with_it) == sorted(&rows, 2));

    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&rows[..all]));
    run(&sorter, part_of(&on_gpu).values(&with_it).stable());
    assert!(gpu.read(&with_it) == sorted(&rows[..all], 1));

    // Indices count from the part's beginning, and the keys may stay.
    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&vec![7; all]));
    run(&sorter, part_of(&on_gpu).keep_keys().indices(&with_it));
    assert!(gpu.read(&on_gpu) == keys);
    let indices = gpu.read(&with_it);
    assert!(indices[part.clone()] == expected);
    assert!(indices[..first].iter().all(|&i| i == 7));
    assert!(indices[part.end..].iter().all(|&i| i == 7));

    // As many as a buffer says of all that follow, with values in any order where keys are equal.
    let (values, count) = (self::rows(all as u64, 1), gpu.buffer(&[len as u32]));
    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&values));
    let sort = BufferSort::new(&on_gpu, (all - first) as u64, KeyType::U32).first(first as u64);
    run(&sorter, sort.count(&count, 0).values(&with_it));
    let mut moved = gpu.read(&with_it);
    let of_values = moved.iter().map(|value| keys[*value as usize / 16]);
    assert!(of_values.eq(sorted(&keys, 1)));
    assert!(gpu.read(&on_gpu) == sorted(&keys, 1));
    moved[part].sort_unstable();
    assert!(moved == values);

    let mut structs = self::rows(all as u64, 3);
    for (row, key) in structs.chunks_mut(3).zip(&keys) {
        row[1] = *key;
    }
    let on_gpu = gpu.buffer(&structs);
    let sort = BufferSort::of_rows(&on_gpu, len as u64, 3, 1, KeyType::U32);
    run(&sorter, sort.first(first as u64));
    assert!(gpu.read(&on_gpu) == sorted(&structs, 3));
}

#[test]
fn the_gpu_says_how_many() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let room = 3000_usize;
    for order in gpu.cases(&[Order::Ascending], &[Order::Descending]) {
        let mut keys = keys(room as u64);
        // The greatest and the least key, too, which are what pads a tile.
        keys[..40].fill(u32::MAX);
        keys[40..80].fill(0);
        let values = rows(room as u64, 1);
        let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&values));
        let count = gpu.buffer(&[99, 0]);
        let sort = BufferSort::new(&on_gpu, room as u64, KeyType::U32)
            .order(order)
            .count(&count, 1)
            .rows(&with_it, 1);
        // Prepared once, for any number.
        let sort = sorter.prepare_sort(sort).unwrap();
        for number in [0, 1, 1500, 2999, 3000, u32::MAX] {
            gpu.queue
                .write_buffer(&on_gpu, 0, bytemuck::cast_slice(&keys));
            gpu.queue
                .write_buffer(&with_it, 0, bytemuck::cast_slice(&values));
            gpu.queue.write_buffer(&count, 4, &number.to_le_bytes());
            sorter.run_profiled(&sort).unwrap();
            let there = room.min(number as usize);
            let expected = stable(&keys[..there], order);
            for (buffer, before) in [(&on_gpu, &keys), (&with_it, &values)] {
                let after = gpu.read(buffer);
                assert!(after[..there] == in_order(before, 1, &expected), "{number}");
                assert!(after[there..] == before[there..], "{number}: the rest");
            }
        }
    }
}

/// Whatever is planned for the room that there is, on this device.
#[test]
fn the_gpu_says_how_many_of_what_is_distributed_in_any_way() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    // Distributed once, and twice. (Keys of 64 bits, whose kernels lavapipe compiles slowly, are
    // counted in lock-step.)
    for room in [9000_usize, 25_000] {
        let keys = keys(room as u64);
        let numbers: Vec<u32> = (0..room as u32).collect();
        let [on_gpu, values, to] = [&keys, &numbers, &numbers].map(|words| gpu.buffer(words));
        let count = gpu.buffer(&[7]);
        let sort = || BufferSort::new(&on_gpu, room as u64, KeyType::U32).count(&count, 0);
        let [argsort, pairs] = [sort().indices(&values).keep_keys(), sort().values(&values)]
            .map(|sort| sorter.prepare_sort(sort).unwrap());
        let [elsewhere, here] = [sort().sorted_into(&to), sort().ranks(0..room as u64)]
            .map(|sort| sorter.prepare_sort(sort).unwrap());
        let write = |buffer, words: &[u32]| {
            gpu.queue
                .write_buffer(buffer, 0, bytemuck::cast_slice(words));
        };
        for number in [0, 1, 1024, 3001, u32::MAX] {
            write(&on_gpu, &keys);
            write(&count, &[number]);
            let there = room.min(number as usize);
            let order = stable(&keys[..there], Order::Ascending);
            let sorted = in_order(&keys, 1, &order);
            let what = format!("{number} of {room}");

            for (sort, result) in [(&elsewhere, &to), (&here, &on_gpu)] {
                sorter.run_profiled(sort).unwrap();
                assert!(gpu.read(result)[..there] == sorted, "{what}");
            }
            assert!(gpu.read(&on_gpu)[there..] == keys[there..], "{what}: rest");

            write(&on_gpu, &keys);
            sorter.run_profiled(&argsort).unwrap();
            assert!(gpu.read(&on_gpu) == keys, "{what}");
            assert!(gpu.read(&values)[..there] == order, "{what}: order");

            // Each value with its key, in any order where keys are equal.
            write(&values, &numbers);
            sorter.run_profiled(&pairs).unwrap();
            let mut moved = gpu.read(&values);
            let of_moved = in_order(&keys, 1, &moved[..there]);
            assert!(of_moved == sorted, "{what}: pairs");
            assert!(gpu.read(&on_gpu)[there..] == keys[there..], "{what}: rest");
            moved[..there].sort_unstable();
            assert!(moved == numbers, "{what}: values");
        }
    }
}

/// Numbers of packed keys whose order is that of the type.
pub(crate) fn ordered(bits: u32, key: PackedKey) -> u32 {
    let (sign, all) = (1 << (key.bits() - 1), u32::MAX >> (32 - key.bits()));
    match key {
        PackedKey::U8 | PackedKey::U16 => bits,
        PackedKey::I8 | PackedKey::I16 => bits ^ sign,
        // A float's total order: of negative ones, the greater bits are less.
        _ if bits & sign == 0 => bits | sign,
        _ => bits ^ all,
    }
}

/// Words in which keys lie one behind the other, the first one lowest.
pub(crate) fn pack(keys: &[u32], key: PackedKey) -> Vec<u32> {
    let word = |word: &[u32]| {
        let keys = word.iter().rev();
        keys.fold(0, |packed, bits| packed << key.bits() | bits)
    };
    keys.chunks((32 / key.bits()) as usize).map(word).collect()
}

#[test]
fn packed_keys_of_8_and_16_bits_are_sorted_where_they_lie() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    for (i, key) in PackedKey::ALL.into_iter().enumerate() {
        // (Of both widths, of integers and of floats, in both orders: the others differ in
        // constants.)
        if ![0, 2, 5].contains(&i) && !gpu.runs_all_cases() {
            continue;
        }
        let (all, first, len) = (99_999_usize, [0, 5, 256, 1, 128, 3][i], 2001_usize);
        let order = [Order::Ascending, Order::Descending][i / 2 % 2];
        let bits: Vec<u32> = generate(&Spec::new(Pattern::Full, all as u64)).unwrap();
        let bits: Vec<u32> = bits.iter().map(|bits| bits >> (32 - key.bits())).collect();
        let pack = |keys: &[u32]| pack(keys, key);
        let numbers: Vec<u32> = bits.iter().map(|&bits| ordered(bits, key)).collect();
        let sorted = |len: usize| {
            let part = first..first + len;
            let expected = stable(&numbers[part.clone()], order);
            let mut sorted = bits.clone();
            sorted[part.clone()].copy_from_slice(&in_order(&bits[part], 1, &expected));
            (pack(&sorted), expected)
        };

        let (keys, indices) = (gpu.buffer(&pack(&bits)), gpu.buffer(&vec![0; all]));
        let part_of = |keys, len: usize| {
            let sort = BufferSort::of_packed(keys, len as u64, key);
            sort.first(first as u64).order(order)
        };
        let (few, expected) = sorted(len);
        // (Of integers and of floats.)
        if i == 2 || i == 5 {
            run(&sorter, part_of(&keys, len).indices(&indices));
            assert!(gpu.read(&keys) == few, "{key:?}");
            assert!(gpu.read(&indices)[first..][..len] == expected, "{key:?}");
        }

        // Alone, they are counted, if they are many.
        let (keys, many) = (gpu.buffer(&pack(&bits)), all - first - 9);
        run(&sorter, part_of(&keys, many));
        assert!(gpu.read(&keys) == sorted(many).0, "{key:?}, counted");
    }
}

fn refused(gpu: &Gpu, sort: BufferSort<'_>) -> String {
    let sorter = sorter(gpu);
    sorter.prepare_sort(sort).unwrap_err().to_string()
}

#[test]
fn nonsense_is_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let (keys, rows, one) = (
        gpu.buffer(&[3, 1, 2]),
        gpu.buffer(&[0; 8]),
        gpu.buffer(&[0]),
    );
    let sort = || BufferSort::new(&keys, 3, KeyType::U32);
    assert_eq!(
        refused(gpu, sort().rows(&rows, 3)),
        "the buffer of values holds 32 bytes, and 3 of 96 bits each take 36"
    );
    assert_eq!(
        refused(gpu, sort().first(1)),
        "the buffer of keys holds 12 bytes, and 4 of 32 bits each take 16"
    );
    assert_eq!(
        refused(gpu, sort().rows(&rows, 0)),
        "option words of a row is 0, but must be at least 1"
    );
    assert_eq!(
        refused(gpu, sort().count(&rows, 8)),
        "the buffer of count holds 32 bytes, and 9 of 32 bits each take 36"
    );
    assert_eq!(
        refused(gpu, sort().rows(&rows, 2).rows(&one, 3)),
        "the buffer of column.1 holds 4 bytes, and 3 of 96 bits each take 36"
    );
    assert_eq!(
        refused(gpu, BufferSort::of_packed(&one, 5, PackedKey::I8)),
        "the buffer of keys holds 4 bytes, and 5 of 8 bits each take 8"
    );
    assert_eq!(
        refused(gpu, BufferSort::of_rows(&rows, 2, 4, 4, KeyType::U32)),
        "option word of the key is 4, but must be less than the words of a row"
    );
    assert_eq!(
        refused(gpu, BufferSort::of_rows(&rows, 2, 4, 1, KeyType::F64)),
        "option word of the key is 1, but must be even, as the key is of 64 bits"
    );
    assert_eq!(
        refused(gpu, BufferSort::of_rows(&rows, 2, 3, 0, KeyType::F64)),
        "option words of a row is 3, but must be even, as the key is of 64 bits"
    );
    let by_field = || BufferSort::of_rows(&rows, 2, 4, 0, KeyType::U32);
    assert_eq!(
        refused(gpu, by_field().keep_keys()),
        "keep_keys does not go with rows that move with their keys: ask for indices alone, or for \
         the rows in another buffer, by sorted_into"
    );
    let sorter = sorter(gpu);
    for twice in [
        sort().rows(&keys, 1),
        sort().rows(&rows, 1).rows(&rows, 1),
        sort().count(&keys, 0),
        sort().values(&rows).count(&rows, 7),
        BufferSort::of_rows(&rows, 2, 4, 0, KeyType::U32).rows(&rows, 1),
        BufferSort::of_rows(&rows, 2, 4, 0, KeyType::U32).indices(&rows),
    ] {
        let refused = sorter.prepare_sort(twice);
        assert!(matches!(refused, Err(Error::SameBuffer)));
    }
    assert!(sorter.scratch_size_of(&sort().first(u64::MAX)).is_err());
    // All that is needed at once: keys and values, indices twice, and rows of one buffer again.
    let size = sorter.scratch_size_of(&sort().rows(&rows, 5)).unwrap();
    assert!((3 * (4 + 20)..1 << 20).contains(&size));
}

#[test]
fn what_no_buffer_or_binding_has_is_refused_with_what_to_do() {
    let Some(gpu) = gpu() else { return };
    let (keys, one) = (gpu.buffer(&[3, 1, 2]), gpu.buffer(&[0]));
    let sort = || BufferSort::new(&keys, 3, KeyType::U32);
    let most = gpu.device.limits().max_storage_buffer_binding_size;
    let binds =
        format!("this device binds at most {most} at once (max_storage_buffer_binding_size)");
    assert_eq!(
        refused(gpu, sort().count(&one, u32::MAX)),
        format!(
            "17179869184 bytes of the buffer of count are needed; {binds}: have the count in a \
             word nearer to the buffer's beginning"
        )
    );
    assert_eq!(
        refused(gpu, sort().segments(&one, u32::MAX)),
        format!(
            "17179869180 bytes of the buffer of offsets are needed; {binds}: sort fewer segments \
             at a time"
        )
    );
    assert_eq!(
        refused(gpu, sort().rows(&one, u32::MAX)),
        format!(
            "3 rows of 4294967295 words are 51539607540 bytes; {binds}: sort fewer of them, or \
             smaller ones"
        )
    );
    assert_eq!(
        refused(gpu, BufferSort::of_rows(&one, 4, u32::MAX, 0, KeyType::U32)),
        format!(
            "4 rows of 4294967295 words are 68719476720 bytes; {binds}: sort fewer of them, or \
             smaller ones"
        )
    );
    for first in [u64::MAX / 4 - 3, u64::MAX] {
        assert_eq!(
            refused(gpu, sort().first(first)),
            format!(
                "option first is {first}, but must be so small that the last record is within \
                 max_buffer_size, the most bytes of a buffer on this device"
            )
        );
    }
    let all = refused(gpu, BufferSort::new(&keys, u64::MAX, KeyType::U32));
    let bytes = "18446744073709551615 u32 keys are 73786976294838206460 bytes; this device";
    assert!(all.starts_with(bytes), "{all}");
}
