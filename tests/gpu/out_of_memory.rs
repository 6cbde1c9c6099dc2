//! A device without memory for a sort, on this machine's adapter.
//!
//! Where the device is the CPU, its memory is the process's own, and can be made scarce: by a limit
//! to addresses, which costs none.

use crate::device::{gpu, is_alone};
use bcfsort_testkit::data::{Pattern, Spec, generate};
use std::process::Command;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{
    Comparator, Error, KeyType, Keys, Options, Order, SortJob, Sorter, WideKey, requirements,
};

/// Bytes that wgpu takes from the driver at a time, and hands out in parts.
const BLOCK: u64 = 128 << 20;

/// In a process of its own, whose limits are nobody else's.
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

/// The process gets most of a block more, which is enough for all but another block.
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

/// Fills the device's memory with buffers, of a MiB and then of less, which are never written to.
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
        // (Of host memory, half of that.)
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

    // With kernels compiled, and no memory kept for the next sort: this one's is another's.
    let warm = Sorter::new(&device, &queue, Options::default()).unwrap();
    warm.sort(&mut keys[..300_000].to_vec(), order).unwrap();
    let sorter = warm.with_options(Options::default()).unwrap();
    limit_addresses();
    let mut taken = fill(&device);
    println!("{} buffers fill the device", taken.len());

    // None at all.
    let rising = Comparator::wide(1, WideKey::MostFirst).unwrap();
    let is_out_of_memory =
        |error: &Error| matches!(error, Error::OutOfMemory { bytes, .. } if *bytes > 0);
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
        ] {
            let error = outcome.unwrap_err();
            assert!(is_out_of_memory(&error), "{len}: {error:?}");
        }
        assert!(moved == values, "{len}: the values were touched");
    }
    assert!(slice == keys, "the slice was touched");
    // For scratch memory.
    let job = SortJob::new(Keys::new(&taken[0], KeyType::U32), 1 << 18);
    let error = sorter.prepare(&job).unwrap_err();
    assert!(is_out_of_memory(&error), "{error:?}");

    // Room for 2^20 keys and scratch memory, but not for what they are uploaded from besides: a
    // half at a time.
    let part = taken.len() / 2;
    taken.drain(part..part + 10);
    let few = &mut slice[..1 << 20];
    sorter.sort(few, order).unwrap();
    assert!(few.is_sorted(), "sorted in halves");
    slice.clone_from(&keys);
    taken.extend(fill(&device));

    // Room for half of the keys, but for no scratch memory besides: a quarter at a time.
    let part = taken.len() / 2;
    taken.drain(part..part + 7);
    let profile = sorter.sort_profiled(&mut slice, order).unwrap();
    assert!(slice == expected, "sorted in parts");
    assert!(!profile.merge.is_zero(), "it was not in parts");

    // Room for all.
    taken.clear();
    slice.clone_from(&keys);
    let profile = sorter.sort_profiled(&mut slice, order).unwrap();
    assert!(slice == expected, "sorted at once");
    assert!(profile.merge.is_zero(), "it was in parts");
}
