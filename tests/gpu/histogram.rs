//! Histograms on this machine's adapter.

use crate::device::gpu;
use wgpu_bcfsort::{Error, Field, HistogramJob, KeyField, KeyType, Keys, Order, SortKey};

fn noise(i: u32) -> u64 {
    let mixed = (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 29
}

/// Any keys, and in every third hundred few distinct ones.
fn made<T: SortKey>(len: u32) -> Vec<T> {
    let key = |i: u32| match i / 100 % 3 {
        0 => noise(i % 5),
        _ => noise(i),
    };
    (0..len).map(|i| T::from_bits64(key(i))).collect()
}

/// The counts, by a search on the CPU.
fn counts_of<T: SortKey>(keys: &[T], bounds: &[T]) -> Vec<u32> {
    let mut counts = vec![0; bounds.len() - 1];
    for key in keys {
        let begun = bounds.partition_point(|bound| bound.total_order(key).is_le());
        if (1..bounds.len()).contains(&begun) {
            counts[begun - 1] += 1;
        }
    }
    counts
}

fn check<T: SortKey>(len: u32, bins: u32) {
    let Some(gpu) = gpu() else { return };
    let keys = made::<T>(len);
    let mut bounds: Vec<T> = made::<T>(7 * bins + 7).into_iter().step_by(7).collect();
    bounds.sort_by(T::total_order);
    let what = format!("{len} {} keys, {bins} bins", T::KEY_TYPE);
    let expected = [&[9], &counts_of(&keys, &bounds)[..], &[9]].concat();
    let on_gpu = gpu.buffer(&bytemuck::pod_collect_to_vec(&keys));
    let before = vec![9; expected.len()];
    let counts = gpu.buffer(&before);
    let end = 4 + 4 * u64::from(bins);
    let from = Keys::new(&on_gpu, T::KEY_TYPE);
    let job = HistogramJob::by_bounds(from.clone(), len.into(), &bounds, counts.slice(4..end));
    let histogram = job.prepare(&gpu.first).unwrap();
    // Twice: the counts are cleared.
    histogram.run().unwrap();
    histogram.run().unwrap();
    assert!(gpu.read(&counts) == expected, "{what}");

    // The same bounds in a buffer, after another key, for some of the keys.
    let used = len / 2;
    let expected = counts_of(&keys[..used as usize], &bounds);
    let in_front = [&bounds[..1], &bounds].concat();
    let bounds = gpu.buffer(&bytemuck::pod_collect_to_vec(&in_front));
    let (count, counts) = (gpu.buffer(&[used]), gpu.buffer(&vec![9; bins as usize]));
    let bounds = bounds.slice(size_of::<T>() as u64..);
    let job = HistogramJob::by_bounds_in(from, len.into(), bounds, bins, &counts).len_from(&count);
    job.prepare(&gpu.first).unwrap().run().unwrap();
    assert!(gpu.read(&counts) == expected, "{what}, counted");
    assert!(
        gpu.read(&on_gpu) == bytemuck::pod_collect_to_vec::<T, u32>(&keys),
        "{what}"
    );
}

#[test]
fn counts_equal_the_cpu() {
    for len in [1, 255, 8192, 70_001] {
        for bins in [1, 16, 333, 1024, 1025, 5000] {
            check::<u32>(len, bins);
            check::<f32>(len, bins);
            check::<i64>(len, bins);
            check::<f64>(len, bins);
        }
    }
    check::<i32>((1 << 22) + 5, 256);
    check::<u64>((1 << 22) + 5, 3000);
}

#[test]
fn even_bins_of_every_type_equal_the_cpu() {
    fn even<T: SortKey>(len: u32, range: std::ops::Range<T>, bounds: &[T]) {
        let Some(gpu) = gpu() else { return };
        let keys = made::<T>(len);
        let on_gpu = gpu.buffer(&bytemuck::pod_collect_to_vec(&keys));
        let bins = bounds.len() as u32 - 1;
        let counts = gpu.buffer(&vec![9; bins as usize]);
        let from = Keys::new(&on_gpu, T::KEY_TYPE);
        let job = HistogramJob::even(from, len.into(), range, bins, &counts);
        job.prepare(&gpu.first).unwrap().run().unwrap();
        assert!(
            gpu.read(&counts) == counts_of(&keys, bounds),
            "{}",
            T::KEY_TYPE
        );
    }
    even(
        20_000,
        0..1 << 31,
        &[0_u32, 1 << 29, 1 << 30, 3 << 29, 1 << 31],
    );
    even(20_000, -8..1 << 30, &[-8_i32, (1 << 29) - 4, 1 << 30]);
    even(20_000, i64::MIN..0, &[i64::MIN, i64::MIN / 2, 0]);
    even(
        20_000,
        0..u64::MAX,
        &[0, u64::MAX / 3, u64::MAX / 3 * 2, u64::MAX],
    );
    even(20_000, -1.0..1.0, &[-1.0_f32, -0.5, 0.0, 0.5, 1.0]);
    even(20_000, -1e100..1e100, &[-1e100, 0.0, 1e100_f64]);
}

/// Packed keys by bounds of wider types, and a field of structs.
#[test]
fn packed_and_strided_keys_are_counted() {
    let Some(gpu) = gpu() else { return };
    let len = 20_003_u32;
    let bytes: Vec<u8> = (0..=len).map(|i| noise(i) as u8).collect();
    let packed = gpu.buffer(&bytemuck::pod_collect_to_vec(&bytes));
    let run = |job: HistogramJob<'_>| job.prepare(&gpu.first).unwrap().run().unwrap();
    let count = |is_counted: &dyn Fn(u8) -> bool| {
        let keys = bytes[..len as usize].iter();
        keys.filter(|&&key| is_counted(key)).count() as u32
    };
    let counts = gpu.buffer(&[7; 3]);
    let keys = Keys::new(&packed, KeyType::U8);
    let job = HistogramJob::by_bounds(keys, len.into(), &[3_u32, 200, 256, 1000], &counts);
    run(job);
    let expected = [
        count(&|key| (3..200).contains(&key)),
        count(&|key| key >= 200),
        0,
    ];
    assert_eq!(gpu.read(&counts), expected);
    let keys = Keys::new(&packed, KeyType::I8);
    run(HistogramJob::even(keys, len.into(), -200..100, 3, &counts));
    let signed =
        |range: std::ops::Range<i32>| count(&|key| range.contains(&i32::from(key.cast_signed())));
    assert_eq!(
        gpu.read(&counts),
        [signed(-200..-100), signed(-100..0), signed(0..100)]
    );

    // Pairs of bytes as keys, and every third word.
    let keys = Keys::new(&packed, KeyType::Bf16);
    let pairs = len / 2;
    let bounds = [f32::NEG_INFINITY, 0.0, 1.0, f32::INFINITY];
    run(HistogramJob::by_bounds(
        keys,
        pairs.into(),
        &bounds,
        &counts,
    ));
    let mut expected = [0; 3];
    for pair in bytes.chunks_exact(2).take(pairs as usize) {
        let key = f32::from_bits(u32::from(pair[0]) << 16 | u32::from(pair[1]) << 24);
        let begun = bounds.iter().filter(|bound| bound.total_cmp(&key).is_le());
        if let Some(count) = begun
            .count()
            .checked_sub(1)
            .and_then(|bin| expected.get_mut(bin))
        {
            *count += 1;
        }
    }
    assert_eq!(gpu.read(&counts), expected);
    let words: Vec<u32> = (0..3 * len).map(|i| noise(i) as u32).collect();
    let structs = gpu.buffer(&words);
    let field = Field {
        stride: 12,
        offset: 8,
    };
    let keys = Keys::strided(&structs, KeyType::U32, field);
    let bounds = [5, 1 << 30, 1 << 31, u32::MAX];
    run(HistogramJob::by_bounds(keys, len.into(), &bounds, &counts));
    let third: Vec<u32> = words.into_iter().skip(2).step_by(3).collect();
    assert_eq!(gpu.read(&counts), counts_of(&third, &bounds));
}

#[test]
fn errors_of_histograms_say_what_to_change() {
    let Some(gpu) = gpu() else { return };
    let [keys, counts] = [100, 4].map(|words| gpu.buffer(&vec![5; words]));
    let of = |key| Keys::new(&keys, key);
    let error = |job: HistogramJob<'_>| job.prepare(&gpu.first).unwrap_err().to_string();
    let by = |bounds: &[u32]| HistogramJob::by_bounds(of(KeyType::U32), 100, bounds, &counts);
    for (bounds, why) in [
        (&[][..], "0 of them have no bin"),
        (&[1], "1 of them have no bin"),
        (&[1, 5, 4], "number 2 is below"),
    ] {
        let text = error(by(bounds));
        assert!(
            text.starts_with("bounds of bins: ") && text.contains(why),
            "{text}"
        );
    }
    assert!(error(by(&[0; 6])).starts_with("the bin counts buffer has 16 bytes, and needs 20"));
    let job = HistogramJob::by_bounds(of(KeyType::F32), 100, &[1_u32, 2], &counts);
    assert_eq!(
        error(job),
        "bounds of bins: they are of u32, and the keys of f32"
    );
    for bins in [0, u32::MAX] {
        let even = HistogramJob::even(of(KeyType::U32), 9, 0_u32..9, bins, &counts);
        let listed = HistogramJob::by_bounds_in(of(KeyType::U32), 9, &keys, bins, &counts);
        for text in [error(even), error(listed)] {
            let is_right = match bins {
                0 => text == "bounds of bins: there are no bins",
                _ => text.starts_with("the bounds buffer would need 17179869184 bytes"),
            };
            assert!(is_right, "{text}");
        }
    }
    let text = error(HistogramJob::by_bounds(
        of(KeyType::U32),
        100,
        &[1_u32, 2],
        &keys,
    ));
    assert!(
        text.starts_with("the keys and the bin counts are in one buffer"),
        "{text}"
    );
    let job = HistogramJob::by_bounds_in(of(KeyType::U32), 100, &counts, 2, &counts);
    let text = error(job);
    assert!(
        text.starts_with("the bounds and the bin counts are in one buffer"),
        "{text}"
    );
    let text = error(by(&[1, 2]).len_from(&counts));
    assert!(
        text.starts_with("the record count and the bin counts are in"),
        "{text}"
    );
    let job = HistogramJob::by_bounds_in(of(KeyType::U64), 50, keys.slice(4..), 2, &counts);
    assert!(matches!(job.prepare(&gpu.first), Err(Error::Offset { .. })));
    let text = error(HistogramJob::even(
        of(KeyType::U32).bits(3..9),
        9,
        0_u32..9,
        3,
        &counts,
    ));
    assert!(
        text.starts_with("option number of bits that count is 6"),
        "{text}"
    );
    let field = KeyField {
        offset: 0,
        key: KeyType::U32,
        order: Order::Ascending,
    };
    let fields = Keys::fields(&keys, 8, &[field]);
    let text = error(HistogramJob::even(fields, 9, 0_u32..9, 3, &counts));
    assert!(text.starts_with("option fields of a key is 1"), "{text}");
    // The bounds may be in the buffer of the keys. Without keys, all counts are cleared.
    let job = HistogramJob::by_bounds_in(of(KeyType::U32), 0, &keys, 3, &counts);
    job.prepare(&gpu.first).unwrap().run().unwrap();
    assert_eq!(gpu.read(&counts), [0, 0, 0, 5]);
}
