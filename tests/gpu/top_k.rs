//! The top k of segments on this machine's adapter.

use crate::device::gpu;
use wgpu_bcfsort::{Error, KeyType, Keys, Order, SortKey, TopKJob};

fn noise(i: u32) -> u64 {
    let mixed = (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 29
}

/// Keys with a few equal ones, all equal in every seventh hundred, and NaNs if they are floats.
fn keys<T: SortKey>(len: u32) -> Vec<T> {
    let key = |i: u32| {
        let bits = match i / 100 % 7 {
            0 => noise(i / 100),
            1 => noise(i % 5),
            _ => noise(i),
        };
        T::from_bits64(bits)
    };
    (0..len).map(key).collect()
}

/// The first k of each segment, by a stable sort.
fn first_of_each<T: SortKey>(keys: &[T], bounds: &[u32], order: Order, k: u32) -> Vec<Vec<u32>> {
    let first = |bounds: &[u32]| {
        let mut records: Vec<u32> = (bounds[0]..bounds[1]).collect();
        records.sort_by_key(|&i| keys[i as usize].rank(order));
        records.truncate(k as usize);
        records
    };
    bounds.windows(2).map(first).collect()
}

fn check<T: SortKey>(bounds: &[u32], order: Order, k: u32, is_rows: bool) {
    let Some(gpu) = gpu() else { return };
    let len = *bounds.last().unwrap();
    let keys = keys::<T>(len);
    let count = bounds.len() - 1;
    let words = size_of::<T>() / 4;
    let on_gpu = gpu.buffer(&bytemuck::pod_collect_to_vec(&keys));
    let offsets = gpu.buffer(&bounds[..count]);
    let rows = count * k as usize;
    let mut expected = [rows * words, rows].map(|words| vec![7_u32; words + 2]);
    let [best, indices] = [&expected[0], &expected[1]].map(|words| gpu.buffer(words));
    let from = Keys::new(&on_gpu, T::KEY_TYPE);
    let job = if is_rows {
        TopKJob::of_rows(from, count as u32, bounds[1], k)
    } else {
        TopKJob::segmented(from, len.into(), &offsets, count as u32, k)
    };
    let job = job
        .order(order)
        .keys(best.slice(8..))
        .indices(indices.slice(4..));
    job.prepare(&gpu.first).unwrap().run().unwrap();
    let first = first_of_each(&keys, bounds, order, k);
    for (row, records) in first.iter().enumerate() {
        let at = row * k as usize;
        expected[1][at + 1..][..records.len()].copy_from_slice(records);
        let keys: Vec<T> = records.iter().map(|&i| keys[i as usize]).collect();
        let keys: Vec<u32> = bytemuck::pod_collect_to_vec(&keys);
        expected[0][at * words + 2..][..keys.len()].copy_from_slice(&keys);
    }
    let what = format!("{} {order:?} {k} of {bounds:?}", T::KEY_TYPE);
    assert!(gpu.read(&indices) == expected[1], "indices, {what}");
    assert!(gpu.read(&best) == expected[0], "keys, {what}");
    assert!(
        gpu.read(&on_gpu) == bytemuck::pod_collect_to_vec::<T, u32>(&keys),
        "{what}"
    );
}

fn check_all<T: SortKey>() {
    for order in [Order::Ascending, Order::Descending] {
        for k in [1, 64, 1000, 1024] {
            let mut end = 0;
            let mut bounds = vec![0];
            for len in [0, 1, k - 1, k, k + 1, 0, 1000, 5000, 1024, 129] {
                end += len;
                bounds.push(end);
            }
            check::<T>(&bounds, order, k, false);
            let rows: Vec<u32> = (0..=70).map(|row| row * 1024).collect();
            check::<T>(&rows, order, k, true);
        }
    }
}

#[test]
fn the_first_of_each_segment_equal_the_cpu() {
    check_all::<u32>();
    check_all::<f32>();
    check_all::<i32>();
    check_all::<u64>();
    check_all::<f64>();
    check_all::<i64>();
}

/// More segments than workgroups in a row of a dispatch, most of them empty.
#[test]
fn many_segments_have_a_workgroup_each() {
    let bounds: Vec<u32> = (0..=70_000).map(|i| i / 3).collect();
    check::<u32>(&bounds, Order::Ascending, 2, false);
    check::<f32>(
        &(0..=70_000).collect::<Vec<u32>>(),
        Order::Descending,
        1,
        true,
    );
}

/// A workgroup goes through all of a segment. It may have 2^20 records, and others do not count.
#[test]
fn long_segments_are_searched_to_their_end() {
    for len in [100_000, 1 << 20] {
        check::<u32>(&[0, len], Order::Descending, 100, true);
        check::<f64>(&[0, 5, len], Order::Ascending, 1024, false);
    }
    let Some(gpu) = gpu() else { return };
    let len = (1 << 20) + 9_u32;
    let keys: Vec<u32> = (0..len).collect();
    let [keys, offsets, best] = [&keys[..], &[4], &[0; 2]].map(|words| gpu.buffer(words));
    let from = Keys::new(&keys, KeyType::U32);
    let job = TopKJob::segmented(from, len.into(), &offsets, 1, 2).keys(&best);
    let job = job.order(Order::Descending);
    job.prepare(&gpu.first).unwrap().run().unwrap();
    assert_eq!(gpu.read(&best), [(1 << 20) + 3, (1 << 20) + 2]);
}

/// Only the indices of packed keys, and of a field of structs.
#[test]
fn packed_and_strided_keys_have_indices() {
    let Some(gpu) = gpu() else { return };
    let (rows, len, k) = (40_u32, 601_u32, 70_u32);
    let count = (rows * len) as usize;
    let bytes: Vec<u8> = (0..count as u32 + 3).map(|i| noise(i) as u8).collect();
    let words = bytemuck::pod_collect_to_vec(&bytes[..count.next_multiple_of(4)]);
    let expected = |key: &dyn Fn(u32) -> u64| -> Vec<u32> {
        let row = |row: u32| {
            let mut records: Vec<u32> = (row * len..(row + 1) * len).collect();
            records.sort_by_key(|&i| key(i));
            records.truncate(k as usize);
            records
        };
        (0..rows).flat_map(row).collect()
    };
    let indices = gpu.buffer(&vec![0; (rows * k) as usize]);
    let packed = gpu.buffer(&words);
    let of = |keys| TopKJob::of_rows(keys, rows, len, k).indices(&indices);
    let run = |job: TopKJob<'_>| job.prepare(&gpu.first).unwrap().run().unwrap();
    run(of(Keys::new(&packed, KeyType::I8)));
    let signed = |i: u32| u64::from(bytes[i as usize] ^ 0x80);
    assert!(gpu.read(&indices) == expected(&signed));
    let structs: Vec<u32> = (0..3 * count as u32).map(|i| noise(i) as u32).collect();
    let on_gpu = gpu.buffer(&structs);
    let field = wgpu_bcfsort::Field {
        stride: 12,
        offset: 8,
    };
    let keys = Keys::strided(&on_gpu, KeyType::U32, field);
    run(of(keys).order(Order::Descending));
    let highest = |i: u32| u64::from(!structs[3 * i as usize + 2]);
    assert!(gpu.read(&indices) == expected(&highest));
}

#[test]
fn errors_say_what_to_change() {
    let Some(gpu) = gpu() else { return };
    let [keys, small] = [100, 5].map(|words| gpu.buffer(&vec![0; words]));
    let of = |key, k| TopKJob::of_rows(Keys::new(&keys, key), 10, 10, k);
    let error = |job: TopKJob<'_>| job.prepare(&gpu.first).unwrap_err();
    for k in [0, 1025, u32::MAX] {
        let text = error(of(KeyType::U32, k).indices(&small)).to_string();
        assert!(text.starts_with(&format!(
            "option k is {k}, but must be 1 to 1024: SortJob::top"
        )));
    }
    let long = TopKJob::of_rows(Keys::new(&keys, KeyType::U32), 0, (1 << 20) + 1, 1);
    let text = error(long).to_string();
    assert_eq!(
        text,
        "option length of a row is 1048577, but must be at most 2^20"
    );
    let text = error(of(KeyType::F16, 2).keys(&small)).to_string();
    assert!(text.starts_with("option bits of the keys is 16"), "{text}");
    let text = error(of(KeyType::U32, 2).keys(&small)).to_string();
    assert!(
        text.starts_with("the output buffer has 20 bytes, and needs 80"),
        "{text}"
    );
    let text = error(of(KeyType::U64, 1).indices(&small)).to_string();
    assert!(text.starts_with("the keys buffer has 400 bytes"), "{text}");
    let text = error(of(KeyType::U32, 2).indices(&keys)).to_string();
    assert!(
        text.starts_with("the keys and the indices are in one buffer"),
        "{text}"
    );
    let text = error(of(KeyType::U32, 2).indices(&small)).to_string();
    assert!(
        text.starts_with("the indices buffer has 20 bytes, and needs 80"),
        "{text}"
    );
    let keys64 = Keys::new(&keys, KeyType::U64);
    let job = TopKJob::of_rows(keys64, 1, 2, 1).keys(small.slice(4..));
    assert!(matches!(error(job), Error::Offset { .. }));
    let keys = Keys::new(&keys, KeyType::U32);
    let job = TopKJob::segmented(keys.clone(), 100, &small, 6, 1).indices(&small);
    let text = error(job).to_string();
    assert!(
        text.starts_with("the segment offsets buffer has 20 bytes"),
        "{text}"
    );
    // Nothing to select, or nothing to write.
    for job in [
        TopKJob::of_rows(keys.clone(), 0, 10, 5).indices(&small),
        TopKJob::of_rows(keys.clone(), 5, 0, 1).indices(&small),
        TopKJob::of_rows(keys, 2, 10, 5),
    ] {
        job.prepare(&gpu.first).unwrap().run().unwrap();
    }
    assert_eq!(gpu.read(&small), [0; 5]);
}
