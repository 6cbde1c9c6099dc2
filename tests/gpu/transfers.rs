//! Copies between host memory and GPU buffers, by way of pooled staging buffers.

use crate::device::gpu;
use wgpu_bcfsort::{Error, Options, Order, Sorter, wgpu};

/// Staging buffers are pieces of 32 MiB, at most 4 in flight.
const PIECE: usize = 32 << 20;

/// Sorted keys arrive in blocks of 16 MiB.
const BLOCK: usize = 16 << 20;

#[test]
fn buffers_of_any_number_of_pieces_come_back_as_they_went() {
    let Some(gpu) = gpu() else { return };
    let sorter = &gpu.first;
    let words: Vec<u32> = (0..(5 * PIECE / 4 + 3) as u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9))
        .collect();
    let words = &words;
    let round_trip = |bytes: usize, salt: usize| {
        let sent = &words[salt..salt + bytes / 4];
        let buffer = sorter.upload(sent).unwrap();
        let back: Vec<u32> = sorter.download(&buffer).unwrap();
        assert!(back == sent, "{bytes} bytes");
        buffer.destroy();
    };
    // Fewer pieces than before, and more: the pool has too many, and too few.
    for bytes in [
        5 * PIECE,
        4,
        PIECE,
        4 * PIECE,
        PIECE + 4,
        3 * PIECE - 4,
        5 * PIECE,
    ] {
        round_trip(bytes, 1);
    }
    // Threads that share the pool.
    std::thread::scope(|scope| {
        for salt in 0..3 {
            scope.spawn(move || round_trip(PIECE + 4 * salt, salt));
        }
    });
}

#[test]
fn sorts_of_several_pieces_use_them_again() {
    let Some(gpu) = gpu() else { return };
    let sorted: Vec<u32> = (0..(PIECE / 4 + 5) as u32).collect();
    let mut keys = sorted.clone();
    for _ in 0..2 {
        keys.reverse();
        gpu.first
            .sort(&mut keys, wgpu_bcfsort::Order::Ascending)
            .unwrap();
        assert!(keys == sorted);
    }
}

#[test]
fn sorted_blocks_are_handed_over_in_order_until_an_error() {
    let Some(gpu) = gpu() else { return };
    let order = wgpu_bcfsort::Order::Ascending;
    // None, one, and more pieces than are in flight.
    for len in [0, 1, 2, 1000, BLOCK / 4, 5 * BLOCK / 4 + 5] {
        let keys: Vec<u32> = (0..len as u32).rev().collect();
        let mut next = 0;
        gpu.first
            .sort_to(&keys, order, |block| {
                assert!(!block.is_empty() && block.len() <= BLOCK / 4);
                assert!((next..).zip(block).all(|(i, &key)| i == key));
                next += block.len() as u32;
                Ok::<_, Error>(())
            })
            .unwrap();
        assert_eq!(next as usize, len);
    }
    let mut keys: Vec<u32> = (0..(2 * BLOCK / 4) as u32).rev().collect();
    let mut blocks = 0;
    let failed = gpu.first.sort_to(&keys, order, |_| {
        blocks += 1;
        Err(Error::DeviceLost("by this test".to_owned()))
    });
    assert!(matches!(failed, Err(Error::DeviceLost(text)) if text == "by this test"));
    assert_eq!(blocks, 1);
    // The staging buffers of the failed call are not used again while they are mapped.
    keys.truncate(BLOCK / 2);
    gpu.first.sort(&mut keys, order).unwrap();
    assert!(keys.is_sorted());
}

#[test]
fn where_host_and_gpu_share_memory_no_key_is_copied_to_staging_buffers() {
    let Some(gpu) = gpu() else { return };
    let sorter = Sorter::open(Options::default().adapter(&gpu.adapter)).unwrap();
    let info = sorter.device().adapter_info();
    let shares = match (info.device_type, info.backend) {
        (wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan) => true,
        (wgpu::DeviceType::DiscreteGpu, _) => false,
        // On these, results alone may be copied.
        _ => return,
    };
    let sorted: Vec<u64> = (0..(PIECE / 8 + 5) as u64).collect();
    let mut keys = sorted.clone();
    keys.reverse();
    let indices = sorter.argsort(&keys, Order::Ascending).unwrap();
    assert!(indices.into_iter().rev().eq(0..keys.len() as u32));
    let mut blocks = Vec::new();
    let take = |block: &[u64]| {
        assert!(block.len() * 8 <= BLOCK);
        blocks.extend_from_slice(block);
        Ok::<_, Error>(())
    };
    sorter.sort_to(&keys, Order::Ascending, take).unwrap();
    assert!(blocks == sorted);
    sorter.sort(&mut keys, Order::Ascending).unwrap();
    assert!(keys == sorted);
    let report = sorter.device().generate_allocator_report().unwrap();
    let is_staging = |name: &str| name == "bcfsort.staging";
    let staging = report.allocations.iter().any(|all| is_staging(&all.name));
    assert_eq!(staging, !shares);
}
