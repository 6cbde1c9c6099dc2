//! Copies between host memory and GPU buffers, by way of pooled staging buffers.

use crate::device::gpu;

/// Staging buffers are pieces of 32 MiB, at most 4 in flight.
const PIECE: usize = 32 << 20;

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
