//! Key-value sorts and argsorts on this machine's adapter.

use crate::device::{Gpu, gpu, open};
use crate::rows::run;
use crate::sample_sort::{options, tuning};
use bcfsort_data::{Pattern, Spec, generate};
use std::sync::Arc;
use wgpu_bcfsort::{
    Error, KeyType, Keys, Options, Order, Scratch, SortJob, SortKey, Sorter, requirements,
};

/// One sorter for all tests here, so that lavapipe compiles its kernels once.
pub(crate) fn sorter(gpu: &Gpu) -> Arc<Sorter> {
    gpu.sorter(&options(tuning(gpu)))
}

/// The indices of a stable sort on the CPU.
pub(crate) fn stable<T: SortKey>(keys: &[T], order: Order) -> Vec<u32> {
    let mut indices: Vec<u32> = (0..keys.len() as u32).collect();
    indices.sort_by(|&a, &b| {
        let (a, b) = (&keys[a as usize], &keys[b as usize]);
        match order {
            Order::Ascending => a.total_order(b),
            Order::Descending => b.total_order(a),
        }
    });
    indices
}

#[test]
fn pairs_stay_together_and_indices_are_stable() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    for (len, pattern) in [
        (1, Pattern::Full),
        (900, Pattern::Maximal),
        (5000, Pattern::ZeroOne),
        (70_001, Pattern::FewDistinct),
    ] {
        let keys: Vec<u32> = generate(&Spec::new(pattern, len)).unwrap();
        let values: Vec<u32> = (0..len as u32)
            .map(|i| i.wrapping_mul(0x9e37_79b1))
            .collect();
        let by_key = stable(&keys, Order::Ascending);
        let sorted: Vec<u32> = by_key.iter().map(|&i| keys[i as usize]).collect();

        let (k, v) = (gpu.buffer(&keys), gpu.buffer(&values));
        let sort = SortJob::new(Keys::new(&k, KeyType::U32), len);
        run(&sorter, &sort.values(&v));
        assert!(gpu.read(&k) == sorted, "{len} keys");
        let mut pairs: Vec<_> = keys.iter().zip(&values).collect();
        let read = gpu.read(&v);
        let mut found: Vec<_> = sorted.iter().zip(&read).collect();
        pairs.sort_unstable();
        found.sort_unstable();
        assert!(pairs == found, "{len} pairs");

        let (k, v) = (gpu.buffer(&keys), gpu.buffer(&values));
        let sort = SortJob::new(Keys::new(&k, KeyType::U32), len);
        run(&sorter, &sort.indices(&v));
        assert!(gpu.read(&k) == sorted, "{len} keys");
        assert!(gpu.read(&v) == by_key, "{len} indices");
    }
}

#[test]
fn one_buffer_for_keys_and_values_is_refused() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default());
    let keys = gpu.buffer(&[3, 1, 2]);
    let sort = || SortJob::new(Keys::new(&keys, KeyType::U32), 3);
    let refused = sort().values(&keys).prepare(&sorter);
    assert!(matches!(refused, Err(Error::SameBuffer { .. })));
    let short = gpu.buffer(&[0]);
    let refused = sort().indices(&short).prepare(&sorter);
    assert!(matches!(refused, Err(Error::BufferTooSmall { .. })));
}

#[test]
fn argsort_is_stable_for_all_types_and_both_orders() {
    fn check<T: SortKey>(sorter: &Sorter, order: Order, len: u64, pattern: Pattern) {
        let keys: Vec<T> = generate(&Spec::new(pattern, len)).unwrap();
        let indices = sorter.argsort(&keys, order).unwrap();
        assert!(
            indices == stable(&keys, order),
            "{len} {} {pattern}",
            T::KEY_TYPE
        );
    }
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    for pattern in [Pattern::Full, Pattern::Maximal, Pattern::ZeroOne] {
        for len in [0, 1, 2, 33, 1023, 1024, 1025, 40_000] {
            check::<u32>(&sorter, Order::Ascending, len, pattern);
        }
        // One tile, and so one kernel, for each other type.
        check::<f64>(&sorter, Order::Descending, 1000, pattern);
        if gpu.runs_all_cases() {
            check::<u32>(&sorter, Order::Descending, 700, pattern);
            check::<i32>(&sorter, Order::Ascending, 999, pattern);
        }
    }
    let keys = [3_u32, 1, 2, 1];
    let by_future = pollster::block_on(sorter.argsort_async(&keys, Order::Ascending));
    assert_eq!(by_future.unwrap(), [1, 3, 2, 0]);
}

#[test]
fn argsort_of_more_than_fits_the_device_is_stable() {
    let Some(gpu) = gpu() else { return };
    let mut limits = requirements(&gpu.adapter).unwrap().limits;
    limits.max_storage_buffer_binding_size = 16 << 20;
    let (device, queue) = open(&gpu.adapter, limits);
    let sorter = Sorter::new(&device, &queue, options(tuning(gpu))).unwrap();
    let most = sorter.max_len(KeyType::U32);
    assert_eq!(most, 4 << 20);
    let keys: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, most + 1001)).unwrap();
    let indices = sorter.argsort(&keys, Order::Ascending).unwrap();
    assert!(indices == stable(&keys, Order::Ascending));
}

#[test]
fn sort_pairs_and_sort_by_key_move_values_of_any_type() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let keys: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, 5000)).unwrap();
    // A type that is not `Copy`, with heap memory of various sizes.
    let names: Vec<String> = (0..keys.len()).map(|i| "x".repeat(i % 7)).collect();
    let expected = stable(&keys, Order::Ascending);
    let (mut sorted, mut values) = (keys.clone(), names.clone());
    sorter
        .sort_pairs(&mut sorted, &mut values, Order::Ascending)
        .unwrap();
    assert!(sorted.is_sorted());
    assert!((expected.iter().zip(&values)).all(|(&i, name)| *name == names[i as usize]));

    let mut items: Vec<(u32, String)> = keys.iter().copied().zip(names.clone()).collect();
    sorter
        .sort_by_key(&mut items, Order::Ascending, |item| item.0)
        .unwrap();
    assert!(items.into_iter().eq(sorted.into_iter().zip(values)));

    let (mut keys, mut values) = ([3_u32, 1, 2], ["a", "b"]);
    let error = sorter
        .sort_pairs(&mut keys, &mut values, Order::Ascending)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 keys but 2 values: the lengths must be equal"
    );
    assert_eq!((keys, values), ([3, 1, 2], ["a", "b"]));
}

#[test]
fn sorts_share_scratch_memory_in_one_submission() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let scratch = Scratch::default();
    let mut largest = 0;
    let mut sorts = Vec::new();
    // Growing and shrinking.
    for len in [900, 30_000, 40_000, 5000] {
        let keys: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, len)).unwrap();
        let buffers = [gpu.buffer(&keys), gpu.buffer(&vec![7; keys.len()])];
        let sort = SortJob::new(Keys::new(&buffers[0], KeyType::U32), len).indices(&buffers[1]);
        let needed = sort.scratch_size(&sorter).unwrap();
        largest = largest.max(needed);
        let sort = sort.scratch(&scratch).prepare(&sorter).unwrap();
        assert!(scratch.bytes() >= needed);
        sorts.push((keys, buffers, sort));
    }
    // The memory of the largest sort. Buffers that were too small are freed.
    assert!(scratch.bytes() <= 2 * largest);
    let device = &gpu.device;
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    for (.., sort) in &sorts {
        sort.record(&mut encoder);
    }
    gpu.queue.submit([encoder.finish()]);
    for (keys, [sorted, indices], _) in &sorts {
        let expected = stable(keys, Order::Ascending);
        assert!(gpu.read(indices) == expected, "{} keys", keys.len());
        let sorted = gpu.read(sorted);
        assert!((expected.iter().zip(&sorted)).all(|(&i, &key)| keys[i as usize] == key));
    }
}

/// Two sorts in one pass.
#[test]
fn sorts_are_recorded_into_a_compute_pass() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 40_000)).unwrap();
    let (first, second) = (gpu.buffer(&keys), gpu.buffer(&keys[..700]));
    let indices = gpu.buffer(&vec![0; keys.len()]);
    let key = KeyType::U32;
    let sorts = [
        SortJob::new(Keys::new(&first, key), 40_000).indices(&indices),
        SortJob::new(Keys::new(&second, key), 700),
    ]
    .map(|job| job.prepare(&sorter).unwrap());
    let device = &gpu.device;
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    for sort in &sorts {
        sort.record_in_pass(&mut pass);
    }
    drop(pass);
    gpu.queue.submit([encoder.finish()]);
    assert!(gpu.read(&indices) == stable(&keys, Order::Ascending));
    assert!(gpu.read(&first).is_sorted());
    let mut expected = keys[..700].to_vec();
    expected.sort_unstable();
    assert!(gpu.read(&second) == expected);
}
