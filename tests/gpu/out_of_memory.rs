//! Sorts on a device that is out of memory, on this machine's adapter.
//!
//! If the device is the CPU, its memory is that of the process, so a limit on the address space
//! makes it scarce without filling it.

use crate::device::{gpu, is_alone, profiled};
use bcfsort_data::{Pattern, Spec, generate};
use std::process::Command;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{
    Comparator, Error, KeyType, Keys, Options, Order, SortJob, Sorter, WideKey, requirements,
};

/// The block size in which wgpu allocates memory from the driver, in bytes.
const BLOCK: u64 = 128 << 20;

/// Runs in its own process, so that the limit affects no other test.
#[test]
fn a_sort_without_memory_is_an_error_or_several_sorts() {
    let this = "out_of_memory::a_sort_without_memory_is_an_error_or_several_sorts";
    let Some(gpu) = gpu() else { return };
    let is_cpu = gpu.adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    if !is_cpu || cfg!(not(target_os = "linux")) {
        println!("SKIPPED: the memory of this device cannot be limited");
        return;
    }
    if is_alone(this, &[]) {
        sort_without_memory(&gpu.adapter);
    }
}

/// Leaves the process less than one more block: enough for everything but another block.
fn limit_addresses() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let size = size.and_then(|size| size.trim().strip_suffix("kB"));
    let kib: u64 = size.unwrap().trim().parse().unwrap();
    let limit = (kib << 10) + BLOCK / 8 * 7;
    let limited = Command::new("prlimit")
        .args(["--pid", &std::process::id().to_string()])
        .arg(format!("--as={limit}"))
        .status();
    assert!(limited.expect("prlimit, of util-linux").success());
}

/// Fills the device's memory with buffers of a MiB, then smaller ones. They are never written.
fn fill(device: &wgpu::Device) -> Vec<wgpu::Buffer> {
    let mut buffers = Vec::new();
    for size in [1 << 20, 1 << 16, 1 << 12] {
        loop {
            let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            if pollster::block_on(scope.pop()).is_some() {
                break;
            }
            buffers.push(buffer);
        }
    }
    buffers
}

fn sort_without_memory(adapter: &wgpu::Adapter) {
    let needs = requirements(adapter).unwrap();
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_limits: needs.limits,
        // Blocks of host memory have half of this size.
        memory_hints: wgpu::MemoryHints::Manual {
            suballocated_device_memory_block_size: 2 * BLOCK..2 * BLOCK,
        },
        ..Default::default()
    }))
    .unwrap();
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 2 << 20)).unwrap();
    let order = Order::Ascending;
    let mut expected = keys.clone();
    sort_on_cpu(&mut expected, order);

    // The second sorter shares compiled kernels with the first, but not the memory that the first
    // keeps for its next sort.
    let warm = Sorter::new(&device, &queue, Options::default()).unwrap();
    warm.sort(&mut keys[..300_000].to_vec(), order).unwrap();
    let sorter = warm.with_options(Options::default()).unwrap();
    limit_addresses();
    let mut taken = fill(&device);
    println!("{} buffers fill the device", taken.len());

    // No memory at all.
    let rising = Comparator::wide(1, WideKey::MostFirst).unwrap();
    // (Of the host, where the copy of a slice that is partitioned finds no room.)
    let is_out_of_memory = |error: &Error| match error {
        Error::OutOfMemory { bytes, .. } | Error::OutOfHostMemory { bytes, .. } => *bytes > 0,
        _ => false,
    };
    let mut slice = keys.clone();
    for len in [1024, 300_000, keys.len()] {
        let slice = &mut slice[..len];
        let values: Vec<usize> = (0..len).collect();
        let mut moved = values.clone();
        for outcome in [
            sorter.sort(slice, order),
            pollster::block_on(sorter.sort_async(slice, order)),
            sorter.argsort(slice, order).map(|_| ()),
            sorter.sort_pairs(slice, &mut moved, order),
            sorter.sort_by(slice, &rising, order),
            sorter.sort_to(slice, order, |_| Ok::<_, Error>(())),
        ] {
            let error = outcome.unwrap_err();
            assert!(is_out_of_memory(&error), "{len}: {error:?}");
        }
        assert!(moved == values, "{len}: the values were touched");
    }
    assert!(slice == keys, "the slice was touched");
    // No scratch memory.
    let job = SortJob::new(Keys::new(&taken[0], KeyType::U32), 1 << 18);
    let error = job.prepare(&sorter).unwrap_err();
    assert!(is_out_of_memory(&error), "{error:?}");

    // Memory for 2^20 keys and scratch memory, but not for the upload buffer: sorted in halves.
    let part = taken.len() / 2;
    taken.drain(part..part + 10);
    let few = &mut slice[..1 << 20];
    sorter.sort(few, order).unwrap();
    assert!(few.is_sorted(), "sorted in halves");
    let few = &keys[..1 << 20];
    let mut few_sorted = Vec::new();
    let take = |block: &[u32]| {
        few_sorted.extend_from_slice(block);
        Ok::<_, Error>(())
    };
    sorter.sort_to(few, order, take).unwrap();
    assert_eq!(few_sorted.len(), few.len());
    assert!(few_sorted.is_sorted(), "sorted in halves, to a closure");
    slice.clone_from(&keys);
    taken.extend(fill(&device));

    // Memory for half of the keys, but not for scratch memory: sorted in quarters.
    let part = taken.len() / 2;
    taken.drain(part..part + 7);
    let profile = profiled(&sorter, &mut slice, order).unwrap();
    assert!(slice == expected, "sorted in parts");
    assert!(!profile.partition.is_zero(), "it was not in parts");

    // Memory for all.
    taken.clear();
    slice.clone_from(&keys);
    let profile = profiled(&sorter, &mut slice, order).unwrap();
    assert!(slice == expected, "sorted at once");
    assert!(profile.partition.is_zero(), "it was in parts");
}
