//! Layouts of sort jobs: payload rows, keys in structs, parts of buffers, indirect counts, packed
//! keys.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::sample_sort::options;
use bcfsort_data::{Pattern, Spec, generate};
use wgpu_bcfsort::{
    BufferRole, Comparator, Detail, Error, Field, KeyType, Keys, Order, Payload, SortJob, SortKey,
    Sorter, ToBinding, Tuning, WideKey,
};

pub(crate) fn keys(len: u64) -> Vec<u32> {
    generate(&Spec::new(Pattern::FewDistinct, len).distinct(300)).unwrap()
}

/// Rows whose words identify the row and the position of the word in it.
pub(crate) fn rows(len: u64, words: u32) -> Vec<u32> {
    let row = |i: u32| (0..words).map(move |w| i * 16 + w);
    (0..len as u32).flat_map(row).collect()
}

pub(crate) fn in_order(rows: &[u32], words: u32, order: &[u32]) -> Vec<u32> {
    let row = |&i: &u32| &rows[(i * words) as usize..][..words as usize];
    order.iter().flat_map(row).copied().collect()
}

pub(crate) fn run(sorter: &Sorter, job: &SortJob<'_>) {
    let sort = job.prepare(sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();
}

/// Keys at byte `offset` of structs of `stride` bytes.
pub(crate) fn by_field<'a>(
    structs: impl ToBinding<'a>,
    key: KeyType,
    stride: u32,
    offset: u32,
) -> Keys<'a> {
    Keys::strided(structs, key, Field { stride, offset })
}

/// The part of a buffer from item `first` on. Items have `bytes` bytes.
pub(crate) fn tail(buffer: &wgpu::Buffer, first: usize, bytes: u64) -> wgpu::BufferSlice<'_> {
    buffer.slice(first as u64 * bytes..)
}

#[test]
fn payload_rows_of_any_size_move_stably() {
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
        let mut sort = SortJob::new(Keys::new(&on_gpu, KeyType::U32), len).order(order);
        for (buffer, (words, _)) in buffers.iter().zip(&columns) {
            sort = sort.payload(Payload::new(buffer, 4 * *words));
        }
        run(&sorter, &sort);
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
    let sort = SortJob::new(by_field(&on_gpu, KeyType::U32, 16, 8), len);
    run(&sorter, &sort.payload(Payload::new(&others, 4)));
    assert!(gpu.read(&on_gpu) == in_order(&structs, 4, &expected));
    assert!(gpu.read(&others) == in_order(&keys, 1, &expected));

    // An argsort.
    let (on_gpu, indices) = (gpu.buffer(&structs), gpu.buffer(&vec![0; len as usize]));
    let by_key = by_field(&on_gpu, KeyType::U32, 16, 8);
    run(&sorter, &SortJob::argsort(by_key.clone(), &indices, len));
    assert!(gpu.read(&on_gpu) == structs);
    assert!(gpu.read(&indices) == expected);

    // Nothing to write.
    let nothing = SortJob::new(by_key, len).keep_keys().prepare(&sorter);
    assert_eq!(nothing.unwrap().chunks(), 0);

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
    let sort = SortJob::new(by_field(&on_gpu, T::KEY_TYPE, 24, 16), 800);
    run(sorter, &sort.order(Order::Descending));
    let what = T::KEY_TYPE;
    assert!(
        gpu.read(&on_gpu) == in_order(&structs, 6, &expected),
        "{what}"
    );
}

#[test]
fn a_part_of_a_buffer_is_sorted_and_the_rest_stays() {
    let Some(gpu) = gpu() else { return };
    let size = |first| {
        let keys = gpu.empty_buffer(4 * 10_000);
        let sort = SortJob::new(Keys::new(tail(&keys, first, 4), KeyType::U32), 5000);
        // The same tiles on every adapter.
        let small = Tuning {
            merged: 0,
            ..Tuning::cpu()
        };
        let sorter = gpu.sorter(&options(small));
        sort.scratch_size(&sorter).unwrap()
    };
    // If the offset is one that a binding allows, keys are sorted in the buffer.
    assert_eq!(size(1280), size(0));
    // Otherwise they are sorted in scratch memory.
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
    let part_of = |keys, len| SortJob::new(Keys::new(tail(keys, first, 4), KeyType::U32), len);
    let len = len as u64;
    let on_gpu = gpu.buffer(&keys);
    run(&sorter, &part_of(&on_gpu, len));
    assert!(gpu.read(&on_gpu) == sorted(&keys, 1));

    let rows = rows(all as u64, 2);
    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&rows));
    let payload = Payload::new(tail(&with_it, first, 8), 8);
    run(&sorter, &part_of(&on_gpu, len).payload(payload));
    assert!(gpu.read(&on_gpu) == sorted(&keys, 1));
    assert!(gpu.read(&with_it) == sorted(&rows, 2));

    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&rows[..all]));
    let payload = Payload::new(tail(&with_it, first, 4), 4);
    run(&sorter, &part_of(&on_gpu, len).payload(payload));
    assert!(gpu.read(&with_it) == sorted(&rows[..all], 1));

    // Indices count from the start of the part. Keys are not moved.
    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&vec![7; all]));
    let indices = tail(&with_it, first, 4);
    run(&sorter, &part_of(&on_gpu, len).keep_keys().indices(indices));
    assert!(gpu.read(&on_gpu) == keys);
    let indices = gpu.read(&with_it);
    assert!(indices[part.clone()] == expected);
    assert!(indices[..first].iter().all(|&i| i == 7));
    assert!(indices[part.end..].iter().all(|&i| i == 7));

    // The part has the rest of the buffer, with values, and an indirect count limits it.
    let (values, count) = (self::rows(all as u64, 1), gpu.buffer(&[len as u32]));
    let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&values));
    let sort = part_of(&on_gpu, (all - first) as u64).values(tail(&with_it, first, 4));
    run(&sorter, &sort.len_from(&count));
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
    let structs_of_part = by_field(tail(&on_gpu, first, 12), KeyType::U32, 12, 4);
    run(&sorter, &SortJob::new(structs_of_part, len));
    assert!(gpu.read(&on_gpu) == sorted(&structs, 3));
}

#[test]
fn an_indirect_count_sorts_any_number_of_records() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let room = 3000_usize;
    for order in gpu.cases(&[Order::Ascending], &[Order::Descending]) {
        let mut keys = keys(room as u64);
        // The largest and the smallest key, which also pad a tile.
        keys[..40].fill(u32::MAX);
        keys[40..80].fill(0);
        let values = rows(room as u64, 1);
        let (on_gpu, with_it) = (gpu.buffer(&keys), gpu.buffer(&values));
        let count = gpu.buffer(&[99, 0]);
        let sort = SortJob::new(Keys::new(&on_gpu, KeyType::U32), room as u64)
            .order(order)
            .len_from(count.slice(4..))
            .payload(Payload::new(&with_it, 4));
        // Prepared once, for any count.
        let sort = sort.prepare(&sorter).unwrap();
        for number in [0, 1, 1500, 2999, 3000, u32::MAX] {
            gpu.queue
                .write_buffer(&on_gpu, 0, bytemuck::cast_slice(&keys));
            gpu.queue
                .write_buffer(&with_it, 0, bytemuck::cast_slice(&values));
            gpu.queue.write_buffer(&count, 4, &number.to_le_bytes());
            sort.profile(Detail::Phases).unwrap();
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

/// Sorts planned for one and for two levels, on this device.
#[test]
fn indirect_counts_work_with_every_number_of_levels() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    // One level of partitioning, and two. Lock-step tests have indirect counts of 64-bit keys,
    // whose kernels lavapipe compiles slowly.
    for room in [9000_usize, 25_000] {
        let keys = keys(room as u64);
        let numbers: Vec<u32> = (0..room as u32).collect();
        let [on_gpu, values, to] = [&keys, &numbers, &numbers].map(|words| gpu.buffer(words));
        let count = gpu.buffer(&[7]);
        let sort = || SortJob::new(Keys::new(&on_gpu, KeyType::U32), room as u64).len_from(&count);
        let [argsort, pairs] = [sort().indices(&values).keep_keys(), sort().values(&values)]
            .map(|sort| sort.prepare(&sorter).unwrap());
        let [out_of_place, in_place] = [sort().output(&to), sort().range(0..room as u64)]
            .map(|sort| sort.prepare(&sorter).unwrap());
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

            for (sort, result) in [(&out_of_place, &to), (&in_place, &on_gpu)] {
                sort.profile(Detail::Phases).unwrap();
                assert!(gpu.read(result)[..there] == sorted, "{what}");
            }
            assert!(gpu.read(&on_gpu)[there..] == keys[there..], "{what}: rest");

            write(&on_gpu, &keys);
            argsort.profile(Detail::Phases).unwrap();
            assert!(gpu.read(&on_gpu) == keys, "{what}");
            assert!(gpu.read(&values)[..there] == order, "{what}: order");

            // Each value is with its key. Values of equal keys may be in any order.
            write(&values, &numbers);
            pairs.profile(Detail::Phases).unwrap();
            let mut moved = gpu.read(&values);
            let of_moved = in_order(&keys, 1, &moved[..there]);
            assert!(of_moved == sorted, "{what}: pairs");
            assert!(gpu.read(&on_gpu)[there..] == keys[there..], "{what}: rest");
            moved[..there].sort_unstable();
            assert!(moved == numbers, "{what}: values");
        }
    }
}

/// The number of bits of a key.
pub(crate) const fn bits(key: KeyType) -> u32 {
    8 * key.bytes() as u32
}

/// Maps the bits of a packed key to a number with the order of the type.
pub(crate) fn ordered(number: u32, key: KeyType) -> u32 {
    let (sign, all) = (1 << (bits(key) - 1), u32::MAX >> (32 - bits(key)));
    match key {
        KeyType::U8 | KeyType::U16 => number,
        KeyType::I8 | KeyType::I16 => number ^ sign,
        // The total order of floats: larger bits of a negative float are smaller.
        _ if number & sign == 0 => number | sign,
        _ => number ^ all,
    }
}

/// Packs keys into words, the first key in the lowest bits.
pub(crate) fn pack(keys: &[u32], key: KeyType) -> Vec<u32> {
    let word = |word: &[u32]| {
        let keys = word.iter().rev();
        keys.fold(0, |packed, number| packed << bits(key) | number)
    };
    keys.chunks((32 / bits(key)) as usize).map(word).collect()
}

#[test]
fn packed_keys_of_8_and_16_bits_are_sorted_in_place() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let packed = KeyType::ALL.into_iter().filter(|key| key.bytes() < 4);
    for (i, key) in packed.enumerate() {
        // Both widths, integers and floats, both orders: the other cases differ in constants.
        if ![0, 2, 5].contains(&i) && !gpu.runs_all_cases() {
            continue;
        }
        let (all, first, len) = (99_999_usize, [0, 5, 256, 1, 128, 3][i % 6], 2001_usize);
        let order = [Order::Ascending, Order::Descending][i / 2 % 2];
        let random: Vec<u32> = generate(&Spec::new(Pattern::Full, all as u64)).unwrap();
        let numbers_of = random.iter().map(|word| word >> (32 - bits(key)));
        let unsorted: Vec<u32> = numbers_of.collect();
        let pack = |keys: &[u32]| pack(keys, key);
        let numbers: Vec<u32> = unsorted.iter().map(|&n| ordered(n, key)).collect();
        let sorted = |len: usize| {
            let part = first..first + len;
            let expected = stable(&numbers[part.clone()], order);
            let mut sorted = unsorted.clone();
            sorted[part.clone()].copy_from_slice(&in_order(&unsorted[part], 1, &expected));
            (pack(&sorted), expected)
        };

        let (keys, indices) = (gpu.buffer(&pack(&unsorted)), gpu.buffer(&vec![0; all]));
        let part_of = |keys, len: usize| {
            let keys = Keys::new(tail(keys, first, key.bytes()), key);
            SortJob::new(keys, len as u64).order(order)
        };
        let (few, expected) = sorted(len);
        // One integer type and one float type.
        if i == 2 || i == 5 {
            let sort = part_of(&keys, len).indices(tail(&indices, first, 4));
            run(&sorter, &sort);
            assert!(gpu.read(&keys) == few, "{key:?}");
            assert!(gpu.read(&indices)[first..][..len] == expected, "{key:?}");
        }

        // Many keys without payload get a counting sort.
        let (keys, many) = (gpu.buffer(&pack(&unsorted)), all - first - 9);
        run(&sorter, &part_of(&keys, many));
        assert!(gpu.read(&keys) == sorted(many).0, "{key:?}, counted");
    }
}

fn refused(gpu: &Gpu, sort: &SortJob<'_>) -> String {
    let sorter = sorter(gpu);
    sort.prepare(&sorter).unwrap_err().to_string()
}

#[test]
fn invalid_jobs_are_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let (keys, rows, one) = (
        gpu.buffer(&[3, 1, 2]),
        gpu.buffer(&[0; 8]),
        gpu.buffer(&[0]),
    );
    let sort = || SortJob::new(Keys::new(&keys, KeyType::U32), 3);
    let of = |keys, len| SortJob::new(keys, len);
    let far = wgpu::BufferBinding {
        buffer: &keys,
        offset: 1 << 40,
        size: None,
    };
    for (sort, text) in [
        (
            sort().payload(Payload::new(&rows, 12)),
            "the payload 0 buffer has 32 bytes, and needs 36",
        ),
        (
            of(Keys::new(keys.slice(4..), KeyType::U32), 3),
            "the keys buffer has 8 bytes, and needs 12",
        ),
        (
            of(Keys::new(keys.slice(..8), KeyType::U32), 3),
            "the keys buffer has 8 bytes, and needs 12",
        ),
        (
            of(Keys::new(far, KeyType::U32), 3),
            "the keys buffer has 0 bytes, and needs 12",
        ),
        (
            sort().len_from(rows.slice(32..)),
            "the record count buffer has 0 bytes, and needs 4",
        ),
        (
            sort()
                .payload(Payload::new(&rows, 8))
                .payload(Payload::new(&one, 12)),
            "the payload 1 buffer has 4 bytes, and needs 36",
        ),
        (
            of(Keys::new(&one, KeyType::I8), 5),
            "the keys buffer has 4 bytes, and needs 5",
        ),
        (
            sort().payload(Payload::new(&rows, 0)),
            "option bytes of a payload row is 0, but must be a multiple of 4, and at least 4",
        ),
        (
            sort().payload(Payload::new(&rows, 6)),
            "option bytes of a payload row is 6, but must be a multiple of 4, and at least 4",
        ),
        (
            of(by_field(&rows, KeyType::U32, 16, 16), 2),
            "option offset of the key is 16, but must be such that the key ends within the struct",
        ),
        (
            of(by_field(&rows, KeyType::F64, 16, 4), 2),
            "option offset of the key is 4, but must be a multiple of the key's bytes",
        ),
        (
            of(by_field(&rows, KeyType::F64, 12, 0), 2),
            "option stride of the structs is 12, but must be a multiple of 4 and of the key's \
             bytes, and at least that",
        ),
        (
            of(by_field(&rows, KeyType::U16, 6, 0), 2),
            "option stride of the structs is 6, but must be a multiple of 4 and of the key's \
             bytes, and at least that",
        ),
    ] {
        assert_eq!(refused(gpu, &sort), text);
    }
    let sorter = sorter(gpu);
    for twice in [
        sort().payload(Payload::new(&keys, 4)),
        sort()
            .payload(Payload::new(&rows, 4))
            .payload(Payload::new(&rows, 4)),
        sort().len_from(&keys),
        sort().values(&rows).len_from(rows.slice(28..)),
        of(by_field(&rows, KeyType::U32, 16, 0), 2).payload(Payload::new(&rows, 4)),
        of(by_field(&rows, KeyType::U32, 16, 0), 2).indices(&rows),
    ] {
        let refused = twice.prepare(&sorter);
        assert!(matches!(refused, Err(Error::SameBuffer { .. })));
    }
    // The buffers that are needed at the same time: keys and values, indices twice, and a copy of
    // the rows of one buffer.
    let size = sort()
        .payload(Payload::new(&rows, 20))
        .scratch_size(&sorter)
        .unwrap();
    assert!((3 * (4 + 20)..1 << 20).contains(&size));
}

#[test]
fn ranges_that_begin_within_a_record_are_refused() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let [keys, rows, to] = [(); 3].map(|()| gpu.buffer(&[0; 80]));
    let sort = || SortJob::new(Keys::new(&keys, KeyType::U32), 3);
    let by_key = |key, at| SortJob::new(Keys::new(keys.slice(at..), key), 3);
    let comparator = Comparator::wide(2, WideKey::MostFirst).unwrap();
    for (sort, buffer, offset, multiple_of) in [
        (by_key(KeyType::U16, 3), BufferRole::Keys, 3, 2),
        (by_key(KeyType::F32, 6), BufferRole::Keys, 6, 4),
        (by_key(KeyType::U64, 4), BufferRole::Keys, 4, 8),
        (
            SortJob::new(by_field(keys.slice(2..), KeyType::U16, 8, 2), 3),
            BufferRole::Keys,
            2,
            4,
        ),
        (
            SortJob::by(keys.slice(128..), &comparator, 3),
            BufferRole::Keys,
            128,
            256,
        ),
        (sort().output(to.slice(2..)), BufferRole::Output, 2, 4),
        (sort().indices(to.slice(6..)), BufferRole::Indices, 6, 4),
        (sort().len_from(to.slice(1..)), BufferRole::Count, 1, 4),
        (sort().values(to.slice(5..)), BufferRole::Payload(0), 5, 4),
        (
            sort().payload(Payload::new(&rows, 8).output(to.slice(10..))),
            BufferRole::PayloadOutput(0),
            10,
            4,
        ),
    ] {
        let text = format!(
            "the {buffer} buffer is used from byte {offset} on: this offset must be a multiple of \
             {multiple_of}"
        );
        assert_eq!(refused(gpu, &sort), text);
        // The scratch size is refused, too.
        let error = sort.scratch_size(&sorter).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    let keys = Keys::new(&keys, KeyType::U32);
    let segments = SortJob::segmented(keys, 3, to.slice(2..), 1);
    assert_eq!(
        refused(gpu, &segments),
        "the segment offsets buffer is used from byte 2 on: this offset must be a multiple of 4"
    );
}

#[test]
fn jobs_too_large_for_a_binding_are_refused_with_advice() {
    let Some(gpu) = gpu() else { return };
    let (keys, one) = (gpu.buffer(&[3, 1, 2]), gpu.buffer(&[0]));
    let three = || Keys::new(&keys, KeyType::U32);
    let limits = gpu.device.limits();
    let most = limits
        .max_storage_buffer_binding_size
        .min(limits.max_buffer_size);
    let text = |buffer: &str, needed: u64| {
        format!(
            "the {buffer} buffer would need {needed} bytes, and this device binds at most {most} \
             at once (max_storage_buffer_binding_size): sort fewer records, or smaller ones"
        )
    };
    assert_eq!(
        refused(gpu, &SortJob::segmented(three(), 3, &one, u32::MAX)),
        text("segment offsets", 4 * u64::from(u32::MAX))
    );
    // The largest multiple of 4.
    let row = u32::MAX - 3;
    let rows = Payload::new(&one, row);
    assert_eq!(
        refused(gpu, &SortJob::new(three(), 3).payload(rows)),
        text("payload 0", 3 * u64::from(row))
    );
    let rows = Payload::new(&keys, 4).output(&one);
    let far = SortJob::new(by_field(&one, KeyType::U32, row, 0), 4).payload(rows);
    assert_eq!(refused(gpu, &far), text("keys", 4 * u64::from(row)));
    let all = refused(gpu, &SortJob::new(three(), u64::MAX));
    let told = "18446744073709551615 u32 keys are too many: this device sorts at most";
    assert!(all.starts_with(told), "{all}");
}

#[test]
fn ranges_that_are_too_short_are_refused() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let keys = sorter.upload(&[9_u32, 8, 7, 6, 5, 4]).unwrap();
    let far = wgpu::BufferBinding {
        buffer: &keys,
        offset: u64::MAX,
        size: None,
    };
    // An empty range does not mean the rest of the buffer.
    for (range, actual, needed) in [
        (Keys::new(keys.slice(8..8), KeyType::U32), 0, 12),
        (Keys::new(keys.slice(8..16), KeyType::U32), 8, 12),
        (Keys::new(keys.slice(16..), KeyType::U32), 8, 12),
        (Keys::new(far, KeyType::U8), 0, 3),
    ] {
        let error = SortJob::new(range.clone(), 3).prepare(&sorter).unwrap_err();
        let text = format!("the keys buffer has {actual} bytes, and needs {needed}");
        assert_eq!(error.to_string(), text);
        assert!(SortJob::new(range, 0).prepare(&sorter).is_ok());
    }
    assert!(sorter.download::<u32>(keys.slice(8..8)).unwrap().is_empty());
    assert_eq!(sorter.download::<u32>(keys.slice(8..16)).unwrap(), [7, 6]);
}
