//! Repeated use: sorts recorded several times or in chunks, and hundreds of sorts without a leak.

use crate::device::{Alone, ascending, check_sort, default_sorter, gpu, random, read, sorted};
use bcfsort_testkit::PaperOptions;
use wgpu::util::DeviceExt;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{Engine, KeyType, Keys, Options, Order};

#[test]
fn hundreds_of_sorts_do_not_leak_objects() {
    let Some(gpu) = gpu() else { return };
    let sorts = if gpu.runs_all_cases() { 2000 } else { 600 };
    let alone = Alone::open(Options::default().buckets(4));
    let sort = |i: u64| {
        let keys = random::<u32>(1 + (i * 37 % 9000) as usize, i);
        check_sort(&alone.sorter, &keys, Order::Ascending, "one of many");
    };
    (0..243).for_each(sort);
    let before = alone.objects();
    (243..sorts).for_each(sort);
    let after = alone.objects();
    for ((before, _), (after, _)) in before.iter().zip(after) {
        assert!(
            after <= before + 2,
            "objects of each kind: {before:?}, then {after:?}"
        );
    }
}

/// Not even a temporary object: all slots are taken, so it would add one.
#[test]
fn recording_makes_no_object_and_writes_nothing() {
    let Some(_) = gpu() else { return };
    let alone = Alone::open(Options::default().buckets(4));
    let (sorter, device) = (&alone.sorter, alone.sorter.device());
    let keys = random::<u32>(9000, 12);
    let buffer = |words: &[u32]| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(words),
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        })
    };
    let (on_gpu, found) = (buffer(&keys), buffer(&[7]));
    let of_keys = Keys::new(&on_gpu, KeyType::U32);
    let prepared = [
        ascending(&on_gpu, 9000).prepare(sorter),
        sorter.prepare_is_sorted(&of_keys, 9000, Order::Ascending, &found),
    ]
    .map(Result::unwrap);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    // Buffers that fill the free slots.
    let mut others = Vec::new();
    while alone.objects()[0].0 < alone.objects()[0].1 {
        others.push(buffer(&[0]));
    }
    let before = alone.objects();
    for (count, slots) in &before[..2] {
        assert_eq!(count, slots, "buffers and bind groups");
    }
    for sort in &prepared {
        sort.record(&mut encoder);
        for chunk in 0..sort.chunks() {
            sort.record_chunk(&mut encoder, chunk);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        sort.record_in_pass(&mut pass);
    }
    assert_eq!(alone.objects(), before);

    // The recorded commands are not submitted.
    drop(encoder);
    assert!(read(device, sorter.queue(), &on_gpu) == keys);
    assert_eq!(read(device, sorter.queue(), &found), [7]);
    drop(others);
}

#[test]
fn one_prepared_sort_is_recorded_twice_into_one_encoder() {
    let Some(gpu) = gpu() else { return };
    for engine in Engine::MERGESORTS {
        let sorter = gpu.sorter(&Options::default().engine(engine).buckets(16));
        let n = 50_000;
        let (a, b) = (random::<u32>(n, 4), random::<u32>(n, 5));
        let (from_a, from_b) = (gpu.buffer(&a), gpu.buffer(&b));
        let bytes = from_a.size();
        let (to_a, to_b) = (gpu.empty_buffer(bytes), gpu.empty_buffer(bytes));
        // Longer than the keys: the rest must stay.
        let keys = gpu.buffer(&vec![7; n + 100]);
        let sort = ascending(&keys, n as u64).prepare(&sorter).unwrap();
        let mut encoder = gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (from, to) in [(&from_a, &to_a), (&from_b, &to_b)] {
            encoder.copy_buffer_to_buffer(from, 0, &keys, 0, bytes);
            sort.record(&mut encoder);
            encoder.copy_buffer_to_buffer(&keys, 0, to, 0, bytes);
        }
        gpu.queue.submit([encoder.finish()]);
        assert!(gpu.read(&to_a) == sorted(&a), "{engine}: the first");
        assert!(gpu.read(&to_b) == sorted(&b), "{engine}: the second");
        assert!(gpu.read(&keys)[n..] == [7; 100], "{engine}: past the keys");
    }
}

#[test]
fn chunks_submitted_in_order_make_a_whole_sort() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().buckets(16).keys_per_dispatch(4096));
    let input = random::<u32>(60_000, 6);
    let keys = gpu.buffer(&input);
    let sort = ascending(&keys, 60_000)
        .order(Order::Descending)
        .prepare(&sorter)
        .unwrap();
    assert!(sort.chunks() > 10, "{}", sort.chunks());
    let encoder = || {
        gpu.device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    };
    for chunk in 0..sort.chunks() {
        let mut encoder = encoder();
        sort.record_chunk(&mut encoder, chunk);
        gpu.queue.submit([encoder.finish()]);
    }
    let mut expected = sorted(&input);
    expected.reverse();
    assert!(gpu.read(&keys) == expected);
    gpu.queue
        .write_buffer(&keys, 0, bytemuck::cast_slice(&input));
    sort.run().unwrap();
    assert!(gpu.read(&keys) == expected, "by the sort itself");
    for chunk in [sort.chunks(), usize::MAX] {
        let record = || sort.record_chunk(&mut encoder(), chunk);
        let recorded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(record));
        assert!(recorded.is_err(), "chunk {chunk} was recorded");
    }

    // By default a short sort is one submission, and the shortest is none.
    let sorter = default_sorter(gpu);
    let short = |len| ascending(&keys, len).prepare(&sorter).unwrap();
    assert_eq!(short(60_000).chunks(), 1);
    assert!(short(60_000).recording().steps.len() > 1);
    for len in [0, 1] {
        let sort = short(len);
        sort.record(&mut encoder());
        assert_eq!(sort.chunks(), 0);
        assert!(sort.recording().steps.is_empty());
    }
}
