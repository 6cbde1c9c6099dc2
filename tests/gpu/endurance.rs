//! Endurance: thousands of sorts, and many threads.

use crate::device::{Gpu, gpu, is_alone};
use crate::pairs::stable;
use crate::sample_sort::tuning;
use bcfsort_data::{Pattern, Spec, generate};
use std::sync::Arc;
use wgpu_bcfsort::{
    Comparator, KeyType, Keys, Options, Order, PreparedSort, Scratch, SortJob, Sorter,
};

/// Threads may share these types, or this would not compile. `faults` checks the other types.
const _: fn() = || {
    fn check<T: Send + Sync>() {}
    check::<Scratch>();
    check::<SortJob<'static>>();
    check::<Comparator>();
};

/// The tiles are those of other tests, so that kernels are compiled once.
fn sorter(gpu: &Gpu) -> Arc<Sorter> {
    gpu.sorter(&Options::default().tuning(tuning(gpu)))
}

fn submit(gpu: &Gpu, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder =
        (gpu.device).create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    record(&mut encoder);
    gpu.queue.submit([encoder.finish()]);
}

/// Keys, the indices that sort them, and the sorted keys.
fn case(len: u64, seed: u64) -> [Vec<u32>; 3] {
    let spec = Spec::new(Pattern::FewDistinct, len).distinct(300);
    let keys: Vec<u32> = generate(&spec.seed(seed)).unwrap();
    let indices = stable(&keys, Order::Ascending);
    let sorted = indices.iter().map(|&i| keys[i as usize]).collect();
    [keys, indices, sorted]
}

/// Runs in its own process, where no other tests allocate memory.
#[test]
fn thousands_of_sorts_leave_no_memory_behind() {
    let this = "endurance::thousands_of_sorts_leave_no_memory_behind";
    // One heap for all threads (glibc), and no Vulkan validation layers, which keep memory.
    let variables = [("MALLOC_ARENA_MAX", "1"), ("WGPU_VALIDATION", "0")];
    if gpu().is_some() && is_alone(this, &variables) {
        sort_thousands_of_times();
    }
}

/// The memory in use while the device is idle.
#[derive(Debug)]
struct Held {
    /// Resident memory of the process, if the system reports it as Linux does.
    resident_kib: Option<u64>,
    /// The number and bytes of the device's allocations, if wgpu makes them itself.
    on_device: Option<(usize, u64)>,
}

impl Held {
    fn now(gpu: &Gpu) -> Self {
        let report = gpu.device.generate_allocator_report();
        Self {
            resident_kib: resident_kib(),
            on_device: report.map(|r| (r.allocations.len(), r.total_allocated_bytes)),
        }
    }
}

fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn sort_thousands_of_times() {
    // One tile: the time is the overhead of each sort, not the sorting.
    const LEN: u64 = 500;
    let (key, order) = (KeyType::U32, Order::Ascending);
    let gpu = gpu().expect("the parent process found an adapter");
    let sorter = sorter(gpu);
    let cases: Vec<_> = (0..15).map(|seed| case(LEN, seed)).collect();
    let buffer = gpu.buffer(&cases[0][0]);
    let keys = Keys::new(&buffer, key);
    let prepare = || {
        let job = SortJob::new(keys.clone(), LEN).order(order);
        job.prepare(&sorter).unwrap()
    };
    let run = |sort: &PreparedSort| {
        submit(gpu, |encoder| sort.record(encoder));
    };
    let kept = prepare();
    // A segmented sort or one by a comparator, prepared each time, with the user's scratch memory.
    let comparator = Comparator::new(
        "struct Row { key: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }",
    );
    let comparator = comparator.unwrap();
    let (starts, numbers) = (gpu.buffer(&[0, 0]), gpu.empty_buffer(LEN * 4));
    let scratch = Scratch::default();
    let prepare_other = |i: usize| {
        let sort = if i.is_multiple_of(16) {
            let job = SortJob::by(&buffer, &comparator, LEN);
            job.scratch(&scratch).prepare(&sorter)
        } else {
            let job = SortJob::segmented(keys.clone(), LEN, &starts, 2).indices(&numbers);
            job.scratch(&scratch).prepare(&sorter)
        };
        sort.unwrap()
    };
    let mut sort = |i: usize| {
        let [keys, indices, sorted] = &cases[i % cases.len()];
        let on_host = i % 8 == 7;
        if !on_host {
            gpu.queue
                .write_buffer(&buffer, 0, bytemuck::cast_slice(keys));
        }
        match i % 8 {
            0..=2 => prepare().run().unwrap(),
            3 | 4 => run(&prepare()),
            5 => run(&prepare_other(i / 8)),
            6 => run(&kept),
            _ if i % 64 == 63 => {
                let found = sorter.argsort(keys, order).unwrap();
                assert!(found == *indices, "sort {i}");
            }
            // This waits for all earlier submissions.
            _ => {
                let mut keys = keys.clone();
                sorter.sort(&mut keys, order).unwrap();
                assert!(keys == *sorted, "sort {i}");
            }
        }
        // Checked now and then, after sorts of every kind, and before memory is measured.
        if !on_host && (i.is_multiple_of(97) || i.is_multiple_of(1000)) {
            assert!(gpu.read(&buffer) == *sorted, "sort {i}");
        }
    };
    // The limit on the growth of resident memory: about 2 KiB per sort, and less than 1 KiB if
    // there are many. A leaked buffer would take at least a page.
    let (first, all, most_kib) = if gpu.runs_all_cases() {
        (1000, 10_000, 8 << 10)
    } else {
        (1000, 3000, 4 << 10)
    };
    (1..=first).for_each(&mut sort);
    let before = Held::now(gpu);
    (first + 1..=all).for_each(&mut sort);
    let after = Held::now(gpu);
    println!("after {first} sorts: {before:?}");
    println!("after {all} sorts: {after:?}");
    if let (Some(before), Some(after)) = (before.resident_kib, after.resident_kib) {
        assert!(after <= before + most_kib, "{before} KiB, then {after} KiB");
    }
    if let (Some(before), Some(after)) = (before.on_device, after.on_device) {
        assert!(after.0 <= before.0 + 2, "{} allocations", after.0);
        assert!(after.1 <= before.1 + (1 << 16), "{} bytes", after.1);
    }
}

/// Each thread prepares its own sorts, shares a prepared one, and sorts slices, whose scratch
/// memory the threads reuse. (In `faults`, threads sort only slices.)
#[test]
fn threads_sort_buffers_and_slices_with_one_sorter() {
    // More than a tile, which needs scratch memory.
    const LEN: u64 = 2500;
    let (key, order) = (KeyType::U32, Order::Ascending);
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let buffer = gpu.empty_buffer(LEN * 4);
    let shared = SortJob::new(Keys::new(&buffer, key), LEN)
        .order(order)
        .prepare(&sorter)
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (sorter, shared_keys, shared) = (&sorter, &buffer, &shared);
            scope.spawn(move || {
                for round in 0..8 {
                    let [keys, indices, sorted] = case(LEN, 100 * thread + round);
                    let what = format!("thread {thread}, round {round}");

                    let buffer = gpu.buffer(&keys);
                    let job = SortJob::new(Keys::new(&buffer, key), LEN).order(order);
                    job.prepare(sorter).unwrap().run().unwrap();
                    assert!(gpu.read(&buffer) == sorted, "{what}: a buffer");

                    let (buffer, numbers) = (gpu.buffer(&keys), gpu.empty_buffer(LEN * 4));
                    let job = SortJob::new(Keys::new(&buffer, key), LEN).order(order);
                    let own = job.indices(&numbers).prepare(sorter).unwrap();
                    submit(gpu, |encoder| own.record(encoder));
                    assert!(gpu.read(&buffer) == sorted, "{what}: with indices");
                    assert!(gpu.read(&numbers) == indices, "{what}: indices");

                    // Commands of one submission are not interleaved with those of other threads.
                    let (from, to) = (gpu.buffer(&keys), gpu.empty_buffer(LEN * 4));
                    submit(gpu, |encoder| {
                        encoder.copy_buffer_to_buffer(&from, 0, shared_keys, 0, LEN * 4);
                        shared.record(encoder);
                        encoder.copy_buffer_to_buffer(shared_keys, 0, &to, 0, LEN * 4);
                    });
                    assert!(gpu.read(&to) == sorted, "{what}: prepared for all");

                    let found = sorter.argsort(&keys, order).unwrap();
                    assert!(found == indices, "{what}: the indices of a slice");
                    let mut slice = keys;
                    sorter.sort(&mut slice, order).unwrap();
                    assert!(slice == sorted, "{what}: a slice");
                }
            });
        }
    });
}
