//! Partial sorts and `is_sorted`, on this machine's adapter.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::rows::{by_field, tail};
use crate::sample_sort::{options, tuning};
use bcfsort_data::{Pattern, Spec, generate};
use std::ops::Range;
use wgpu_bcfsort::internals::host::{first_out_of_order, sort_on_cpu};
use wgpu_bcfsort::{
    Comparator, Detail, Error, KeyType, Keys, Options, Order, Payload, PreparedSort, SortJob,
    SortKey, WideKey,
};

/// Sorts keys with indices, but only these ranks, and checks the records before and after them,
/// too.
fn check<T: SortKey>(
    gpu: &Gpu,
    options: &Options,
    (pattern, len): (Pattern, u64),
    order: Order,
    ranks: Range<u64>,
) {
    let what = format!("{pattern} {len} {} {} {ranks:?}", T::KEY_TYPE, order.name());
    let keys: Vec<T> = generate(&Spec::new(pattern, len)).unwrap();
    let words: &[u32] = bytemuck::cast_slice(&keys);
    let (on_gpu, indices) = (gpu.buffer(words), gpu.buffer(&vec![0; keys.len()]));
    let sorter = gpu.sorter(options);
    let sort = SortJob::new(Keys::new(&on_gpu, T::KEY_TYPE), len).order(order);
    let sort = sort.indices(&indices).range(ranks.clone());
    let sort = sort.prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();

    let expected = stable(&keys, order);
    let found = gpu.read(&indices);
    let as_usize = |range: Range<u64>| range.start as usize..range.end as usize;
    let selected = as_usize(ranks.clone());
    assert!(found[selected.clone()] == expected[selected], "{what}");
    for part in [0..ranks.start, ranks.end..len] {
        let mut found = found[as_usize(part.clone())].to_vec();
        let mut expected = expected[as_usize(part.clone())].to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert!(found == expected, "{what}, at {part:?}");
    }
    let moved: Vec<T> = found.iter().map(|&i| keys[i as usize]).collect();
    let moved: &[u32] = bytemuck::cast_slice(&moved);
    assert!(gpu.read(&on_gpu) == moved, "{what}: keys");
}

#[test]
fn selected_ranks_are_in_order_and_others_on_the_right_side() {
    let Some(gpu) = gpu() else { return };
    let wide = options(tuning(gpu));
    for (len, ranks) in [
        (1, 0..1),
        (900, 10..20),
        (5000, 0..10),
        (5000, 4999..5000),
        (70_001, 0..100),
        (70_001, 35_000..35_001),
        (70_001, 35_000..35_000),
        (70_001, 30_000..52_000),
        (70_001, 0..0),
        (70_001, 70_001..70_001),
        (70_001, 0..70_001),
    ] {
        for pattern in [Pattern::Full, Pattern::FewDistinct, Pattern::OrganPipe] {
            check::<u32>(gpu, &wide, (pattern, len), Order::Ascending, ranks.clone());
        }
    }
    check::<f64>(
        gpu,
        &wide,
        (Pattern::Full, 50_000),
        Order::Descending,
        0..50,
    );
}

#[test]
fn partial_sort_of_keys() {
    let Some(gpu) = gpu() else { return };
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Random, 100_003)).unwrap();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let sorter = gpu.sorter(&options(tuning(gpu)));
    let on_gpu = gpu.buffer(&keys);
    let sort = SortJob::new(Keys::new(&on_gpu, KeyType::U32), 100_003).range(60_000..60_100);
    let sort = sort.prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();
    let found = gpu.read(&on_gpu);
    assert!(found[60_000..60_100] == sorted[60_000..60_100]);
    // The rest is not sorted.
    assert!(found != sorted);
    let mut all = found;
    all[..60_000].sort_unstable();
    all[60_100..].sort_unstable();
    assert!(all == sorted);
}

#[test]
fn partial_sort_by_a_comparator() {
    let Some(gpu) = gpu() else { return };
    let comparator = Comparator::new(
        "struct Row { number: u32, key: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }",
    )
    .unwrap();
    let keys: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, 9000)).unwrap();
    let rows: Vec<u32> = (0_u32..).zip(&keys).flat_map(|(i, &k)| [i, k]).collect();
    let expected = stable(&keys, Order::Ascending);
    let on_gpu = gpu.buffer(&rows);
    let sorter = sorter(gpu);
    let sort = SortJob::by(&on_gpu, &comparator, 9000).range(0..500);
    let sort = sort.prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();
    let mut numbers: Vec<u32> = gpu.read(&on_gpu).chunks(2).map(|row| row[0]).collect();
    assert!(numbers[..500] == expected[..500]);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..9000));
}

/// In a part of a buffer, with an indirect count and payload.
#[test]
fn partial_sort_in_a_part_with_indirect_count_and_payload() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let (room, len, first, best) = (40_000_usize, 23_001_usize, 500_usize, 700_usize);
    let keys: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, room as u64)).unwrap();
    let rows: Vec<u32> = (0..2 * room as u32).collect();
    let part = first..first + len;
    let order = Order::Descending;
    let expected = stable(&keys[part.clone()], order);
    let count = gpu.buffer(&[len as u32]);
    let (on_gpu, on_gpu_rows) = (gpu.buffer(&keys), gpu.buffer(&rows));
    let part_of_keys = Keys::new(tail(&on_gpu, first, 4), KeyType::U32);
    let sort = SortJob::new(part_of_keys, (room - first) as u64)
        .order(order)
        .len_from(&count)
        .payload(Payload::new(tail(&on_gpu_rows, first, 8), 8));
    let sort = sort.range(0..best as u64).prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();

    let moved = gpu.read(&on_gpu_rows);
    assert!(
        moved[..2 * first] == rows[..2 * first] && moved[2 * part.end..] == rows[2 * part.end..]
    );
    let mut numbers: Vec<u32> = moved[2 * first..2 * part.end]
        .chunks(2)
        .map(|row| row[0] / 2 - first as u32)
        .collect();
    assert!(numbers[..best] == expected[..best]);
    let moved_keys = gpu.read(&on_gpu);
    let of_rows = numbers.iter().map(|&i| keys[first + i as usize]);
    assert!(of_rows.eq(moved_keys[part.clone()].iter().copied()));
    assert!(moved_keys[..first] == keys[..first] && moved_keys[part.end..] == keys[part.end..]);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..len as u32));
}

#[test]
fn wide_keys_are_sorted_from_either_end() {
    let Some(gpu) = gpu() else { return };
    for words in [0, 65] {
        let refused = Comparator::wide(words, WideKey::MostFirst).unwrap_err();
        assert!(matches!(refused, Error::InvalidOption { .. }), "{refused}");
    }
    for words in [1, 64] {
        Comparator::wide(words, WideKey::LeastFirst).unwrap();
    }
    let words: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, 3 * 900).distinct(5)).unwrap();
    let keys: Vec<[u32; 3]> = words.chunks(3).map(|k| [k[0], k[1], k[2]]).collect();
    let sorter = sorter(gpu);
    let sorted = |key, order| {
        let mut sorted = keys.clone();
        let comparator = Comparator::wide(3, key).unwrap();
        sorter.sort_by(&mut sorted, &comparator, order).unwrap();
        sorted
    };
    let mut expected = keys.clone();
    expected.sort_unstable();
    assert!(sorted(WideKey::MostFirst, Order::Ascending) == expected);
    expected.reverse();
    assert!(sorted(WideKey::MostFirst, Order::Descending) == expected);
    expected.sort_unstable_by_key(|key| [key[2], key[1], key[0]]);
    assert!(sorted(WideKey::LeastFirst, Order::Ascending) == expected);
    expected.sort_unstable_by_key(|key| key.map(u32::to_le_bytes));
    assert!(sorted(WideKey::Bytes, Order::Ascending) == expected);
}

#[test]
fn payload_is_stable() {
    let Some(gpu) = gpu() else { return };
    let keys: Vec<u32> = generate(&Spec::new(Pattern::ZeroOne, 9000)).unwrap();
    let values: Vec<u32> = (0..9000).collect();
    for order in gpu.cases(&[Order::Ascending], &[Order::Descending]) {
        let (on_gpu, with_them) = (gpu.buffer(&keys), gpu.buffer(&values));
        let sorter = sorter(gpu);
        let sort = SortJob::new(Keys::new(&on_gpu, KeyType::U32), 9000).order(order);
        let sort = sort.payload(Payload::new(&with_them, 4));
        let sort = sort.prepare(&sorter).unwrap();
        sort.profile(Detail::Phases).unwrap();
        assert!(gpu.read(&with_them) == stable(&keys, order));
    }
}

#[test]
fn invalid_ranges_are_refused() {
    let Some(gpu) = gpu() else { return };
    let keys = gpu.buffer(&[0; 100]);
    let sorter = sorter(gpu);
    let sort = || SortJob::new(Keys::new(&keys, KeyType::U32), 100);
    #[allow(clippy::reversed_empty_ranges)]
    for wrong in [sort().range(0..101), sort().range(7..3)] {
        let refused = wrong.prepare(&sorter).unwrap_err();
        assert!(matches!(refused, Error::InvalidOption { .. }), "{refused}");
    }
    // The top 101 of 100 records are all of them.
    sort().top(101).prepare(&sorter).unwrap();
}

#[test]
fn the_sorted_prefix_is_found() {
    let Some(gpu) = gpu() else { return };
    let sorter = &gpu.first;
    for len in [0_usize, 1, 2, 2048, 2049, 70_001] {
        let mut keys: Vec<f64> = generate(&Spec::new(Pattern::Full, len as u64)).unwrap();
        for order in [Order::Ascending, Order::Descending] {
            let found = |keys: &[f64]| {
                // The buffer has one more key, which is not checked.
                let words = [bytemuck::cast_slice(keys), &[0_u32, 0]].concat();
                let on_gpu = gpu.buffer(&words);
                let on_gpu = Keys::new(&on_gpu, KeyType::F64);
                sorter.is_sorted_until(&on_gpu, len as u64, order).unwrap()
            };
            let on_cpu = |keys: &[f64]| first_out_of_order(keys, order).unwrap_or(len) as u64;
            assert_eq!(found(&keys), on_cpu(&keys), "{len}");
            sort_on_cpu(&mut keys, order);
            assert_eq!(found(&keys), len as u64, "{len}");
            if len > 1 {
                keys.swap(len / 2, len - 1);
                assert_eq!(found(&keys), on_cpu(&keys), "{len}");
            }
        }
    }
    let keys = gpu.buffer(&[0; 3]);
    let keys = Keys::new(&keys, KeyType::U32);
    let refused = sorter.is_sorted_until(&keys, 4, Order::Ascending);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::BufferTooSmall { .. }), "{refused}");
}

/// All forms of keys.
#[test]
fn ranges_packed_keys_and_fields_are_checked_for_order() {
    let Some(gpu) = gpu() else { return };
    let sorter = &gpu.first;
    let (first, len) = (70_usize, 5000_u64);
    // In order from the 70th on, except for one. The same keys as 8-bit keys and in rows of three
    // words.
    let keys: Vec<u32> = (0..first + len as usize + 4002)
        .map(|i| match i {
            4070 => 3,
            i if i < first => 9000 - i as u32,
            i => i as u32 / 40,
        })
        .collect();
    let bytes: Vec<u8> = keys.iter().map(|&key| key as u8).collect();
    let rows: Vec<u32> = keys.iter().flat_map(|&key| [7, !key, key]).collect();
    let [keys, bytes, rows] =
        [&keys, bytemuck::cast_slice(&bytes), &rows[..]].map(|words| gpu.buffer(words));
    let below = |first| {
        [
            (
                Keys::new(tail(&keys, first, 4), KeyType::U32),
                Order::Ascending,
            ),
            (
                Keys::new(tail(&bytes, first, 1), KeyType::U8),
                Order::Ascending,
            ),
            (
                by_field(tail(&rows, first, 12), KeyType::U32, 12, 8),
                Order::Ascending,
            ),
            (
                by_field(tail(&rows, first, 12), KeyType::U32, 12, 4),
                Order::Descending,
            ),
            // The lower half of a word.
            (
                by_field(tail(&rows, first, 12), KeyType::U16, 12, 8),
                Order::Ascending,
            ),
        ]
    };
    for (from, until) in [(first, 4000), (first + 4001, len), (0, 1)] {
        for (keys, order) in below(from) {
            let found = sorter.is_sorted_until(&keys, len, order).unwrap();
            assert_eq!(found, until, "{keys:?} from {from}");
        }
    }
}

/// One swapped pair at or near the border of two tiles, for all types and both orders.
#[test]
fn keys_out_of_order_are_found_at_the_borders_of_tiles() {
    fn check<T: SortKey>(gpu: &Gpu) {
        const LEN: usize = 3 * TILE + 1;
        for order in [Order::Ascending, Order::Descending] {
            let mut sorted: Vec<T> = generate(&Spec::new(Pattern::Full, LEN as u64)).unwrap();
            sort_on_cpu(&mut sorted, order);
            let found = |keys: &[T]| {
                let on_gpu = gpu.buffer(bytemuck::cast_slice(keys));
                let on_gpu = Keys::new(&on_gpu, T::KEY_TYPE);
                gpu.first
                    .is_sorted_until(&on_gpu, LEN as u64, order)
                    .unwrap()
            };
            assert_eq!(found(&sorted), LEN as u64, "{}", T::KEY_TYPE);
            for at in [1, TILE - 1, TILE, TILE + 1, 2 * TILE, 3 * TILE] {
                let what = format!("{} {}, {at}", T::KEY_TYPE, order.name());
                let mut keys = sorted.clone();
                keys.swap(at - 1, at);
                // The swapped keys differ, so there is something to find.
                assert_eq!(first_out_of_order(&keys, order), Some(at), "{what}");
                assert_eq!(found(&keys), at as u64, "{what}");
            }
        }
    }
    /// Keys that one workgroup checks.
    const TILE: usize = 2048;
    let Some(gpu) = gpu() else { return };
    check::<u32>(gpu);
    check::<i32>(gpu);
    check::<f32>(gpu);
    check::<u64>(gpu);
    check::<i64>(gpu);
    check::<f64>(gpu);
}

/// Several checks recorded together write to one word of a user buffer.
#[test]
fn the_result_of_is_sorted_stays_on_the_gpu() {
    let Some(gpu) = gpu() else { return };
    let sorter = &gpu.first;
    let sorted: Vec<u32> = (0..9000).collect();
    let mut swapped = sorted.clone();
    swapped.swap(5000, 5001);
    let (sorted, swapped, found) = (
        gpu.buffer(&sorted),
        gpu.buffer(&swapped),
        gpu.buffer(&[9, 7]),
    );
    let check = |keys| {
        let keys = Keys::new(keys, KeyType::U32);
        let check = sorter.prepare_is_sorted(&keys, 9000, Order::Ascending, found.slice(4..));
        check.unwrap()
    };
    let run = |checks: &[PreparedSort]| {
        let mut encoder = sorter.device().create_command_encoder(&<_>::default());
        encoder.clear_buffer(&found, 4, None);
        for check in checks {
            check.record(&mut encoder);
        }
        sorter.queue().submit([encoder.finish()]);
        let [before, found] = gpu.read(&found)[..] else {
            panic!("two words");
        };
        assert_eq!(before, 9);
        found
    };
    assert_eq!(run(&[check(&sorted)]), 0);
    let both = [check(&swapped), check(&sorted)];
    assert_eq!(run(&both), 9000 - 5001);
    // Prepared once, recorded again.
    assert_eq!(run(&both[1..]), 0);
    let of_itself = Keys::new(&found, KeyType::U32);
    let one = sorter.prepare_is_sorted(&of_itself, 1, Order::Ascending, &found);
    assert!(matches!(one, Err(Error::SameBuffer { .. })), "{one:?}");
}
