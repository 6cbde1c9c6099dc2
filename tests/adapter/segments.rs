//! Many arrays, each sorted by itself, on this machine's adapter.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::rows::{in_order, keys, rows, run};
use wgpu_bcfsort::data::{Pattern, Spec, generate};
use wgpu_bcfsort::{BufferSort, Order, PackedKey, SortKey};

/// Empty ones, of one, of some, and of most.
const OFFSETS: [u32; 13] = [0, 0, 1, 1, 2, 9, 40, 1500, 1500, 2900, 2999, 3000, 3000];

/// Which of so many records belongs in each place.
fn expected<T: SortKey>(keys: &[T], offsets: &[u32], order: Order) -> Vec<u32> {
    let mut all = Vec::new();
    for (i, &begin) in offsets.iter().enumerate() {
        let end = offsets.get(i + 1).copied();
        let end = end.unwrap_or(u32::MAX).min(keys.len() as u32);
        let segment = &keys[begin.min(end) as usize..end as usize];
        let indices = stable(segment, order);
        all.extend(indices.into_iter().map(|index| index + begin));
    }
    all
}

/// Keys and rows with them, in place; and indices alone, of as many as the GPU says.
fn check<T: SortKey>(gpu: &Gpu, keys: &[T], first: usize, order: Order) {
    let sorter = sorter(gpu);
    let (len, words) = (keys.len() - first, T::KEY_TYPE.words());
    let what = format!("{} from {first}, {}", T::KEY_TYPE, order.name());
    let bits: &[u32] = bytemuck::cast_slice(keys);
    let rows = rows(keys.len() as u64, 2);
    let starts = gpu.buffer(&OFFSETS);
    let sort = |keys| {
        BufferSort::new(keys, len as u64, T::KEY_TYPE)
            .order(order)
            .segments(&starts, OFFSETS.len() as u32)
            .first(first as u64)
    };
    let (on_gpu, with_it) = (gpu.buffer(bits), gpu.buffer(&rows));
    run(&sorter, sort(&on_gpu).rows(&with_it, 2));
    let order_of_all = expected(&keys[first..], &OFFSETS, order);
    for (buffer, before, words) in [(&on_gpu, bits, words), (&with_it, &rows[..], 2)] {
        let after = gpu.read(buffer);
        let before = before.split_at(first * words as usize);
        assert!(
            after[..first * words as usize] == *before.0,
            "{what}: before"
        );
        let sorted = in_order(before.1, words, &order_of_all);
        assert!(after[first * words as usize..] == sorted, "{what}");
    }

    let there = len * 2 / 3;
    let (on_gpu, count) = (gpu.buffer(bits), gpu.buffer(&[there as u32]));
    let indices = gpu.buffer(&vec![7; keys.len()]);
    let counted = sort(&on_gpu).keep_keys().indices(&indices);
    run(&sorter, counted.count(&count, 0));
    assert!(gpu.read(&on_gpu) == bits, "{what}: kept");
    let after = gpu.read(&indices);
    let expected = expected(&keys[first..][..there], &OFFSETS, order);
    assert!(after[first..][..there] == expected, "{what}: indices");
    assert!(after[..first].iter().all(|&i| i == 7), "{what}");
    assert!(after[first + there..].iter().all(|&i| i == 7), "{what}");
}

#[test]
fn keys_of_32_bits() {
    let Some(gpu) = gpu() else { return };
    for first in [0, 70, 128] {
        check(gpu, &keys(first + 3000), first as usize, Order::Ascending);
    }
    let mut keys: Vec<f32> = generate(&Spec::new(Pattern::Full, 900)).unwrap();
    keys[5] = -f32::NAN;
    keys[50] = f32::NAN;
    check(gpu, &keys, 0, Order::Descending);
}

#[test]
fn keys_of_64_bits() {
    let Some(gpu) = gpu() else { return };
    for spec in [
        // (The greatest keys of all, too, which are what fills the places of those that are not there.)
        Spec::new(Pattern::Maximal, 3070),
        Spec::new(Pattern::FewDistinct, 3070).distinct(90),
        Spec::new(Pattern::Full, 3070),
    ] {
        let keys: Vec<u64> = generate(&spec).unwrap();
        check(gpu, &keys, 70, Order::Ascending);
    }
    let mut keys: Vec<f64> = generate(&Spec::new(Pattern::Full, 900)).unwrap();
    keys[5] = -f64::NAN;
    keys[50] = f64::NAN;
    check(gpu, &keys, 0, Order::Descending);
}

/// More than a tile of them, in thousands of arrays and in a giant one between empty ones.
fn check_many<T: SortKey>(gpu: &Gpu, with_indices: bool) {
    let sorter = sorter(gpu);
    let len = 40_000_u64;
    let keys: Vec<T> = generate(&Spec::new(Pattern::FewDistinct, len).distinct(900)).unwrap();
    let small: Vec<u32> = (0..13_000).map(|i| 3 * i).collect();
    let giant = [vec![0; 500], vec![1], vec![39_999; 500]].concat();
    for offsets in [small, giant] {
        let order = expected(&keys, &offsets, Order::Ascending);
        let bits: Vec<u32> = bytemuck::pod_collect_to_vec(&keys);
        let (on_gpu, indices) = (gpu.buffer(&bits), gpu.empty_buffer(4 * len));
        let starts = gpu.buffer(&offsets);
        let sort = BufferSort::new(&on_gpu, len, T::KEY_TYPE);
        let sort = sort.segments(&starts, offsets.len() as u32);
        if with_indices {
            run(&sorter, sort.indices(&indices));
            assert!(gpu.read(&indices) == order);
        } else {
            run(&sorter, sort);
        }
        assert!(gpu.read(&on_gpu) == in_order(&bits, T::KEY_TYPE.words(), &order));
    }
}

#[test]
fn many_keys_of_32_bits() {
    let Some(gpu) = gpu() else { return };
    check_many::<f32>(gpu, false);
    check_many::<u32>(gpu, true);
}

#[test]
fn many_keys_of_64_bits() {
    let Some(gpu) = gpu() else { return };
    check_many::<f64>(gpu, false);
    check_many::<i64>(gpu, true);

    // As one array, by keys that stay.
    let len = 40_000;
    let keys: Vec<i64> = generate(&Spec::new(Pattern::FewDistinct, len).distinct(900)).unwrap();
    let bits: &[u32] = bytemuck::cast_slice(&keys);
    let (on_gpu, indices) = (gpu.buffer(bits), gpu.empty_buffer(4 * len));
    let sort = BufferSort::new(&on_gpu, len, i64::KEY_TYPE).keep_keys();
    run(&sorter(gpu), sort.indices(&indices));
    assert!(gpu.read(&indices) == expected(&keys, &[0], Order::Ascending));
    assert!(gpu.read(&on_gpu) == bits);
}

/// By a field of rows, which move with it, in place and to another buffer.
#[test]
fn rows_by_a_field() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let keys: Vec<i64> = generate(&Spec::new(Pattern::ZeroOne, 3000)).unwrap();
    let mut structs = rows(3000, 4);
    for (row, key) in structs.chunks_mut(4).zip(&keys) {
        row[2..].copy_from_slice(bytemuck::cast_slice(&[*key]));
    }
    let sorted = in_order(&structs, 4, &expected(&keys, &OFFSETS, Order::Ascending));
    let starts = gpu.buffer(&OFFSETS);
    let (on_gpu, elsewhere) = (gpu.buffer(&structs), gpu.empty_buffer(4 * 4 * 3000));
    let sort = || {
        BufferSort::of_rows(&on_gpu, 3000, 4, 2, i64::KEY_TYPE)
            .segments(&starts, OFFSETS.len() as u32)
    };
    run(&sorter, sort().sorted_into(&elsewhere));
    assert!(gpu.read(&elsewhere) == sorted);
    assert!(gpu.read(&on_gpu) == structs);
    run(&sorter, sort());
    assert!(gpu.read(&on_gpu) == sorted);
}

/// One for each key: all are as they were.
#[test]
fn packed_keys() {
    let Some(gpu) = gpu() else { return };
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 1000)).unwrap();
    let each: Vec<u32> = (0..4000).collect();
    let (on_gpu, starts) = (gpu.buffer(&keys), gpu.buffer(&each));
    let sort = BufferSort::of_packed(&on_gpu, 4000, PackedKey::I8);
    run(&sorter(gpu), sort.segments(&starts, 4000));
    assert!(gpu.read(&on_gpu) == keys);
}
