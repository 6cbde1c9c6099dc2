//! Histograms in lock-step, compared with the CPU: of keys of all widths, with few bins and many,
//! with a count in a buffer, and by bounds in any order.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Execution, unexpected};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::histogram::{HistogramLayout, record_histogram};
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::Config;

/// A tile per dispatch.
const LIMITS: DeviceLimits = DeviceLimits {
    keys_per_dispatch: 1 << 13,
    workgroups: 2,
    ..bcfsort_testkit::LIMITS
};

/// What no kernel may change.
const UNTOUCHED: u32 = 0x0dd_ba11;

const TYPES: [(KeyType, u32); 9] = [
    (KeyType::U32, 32),
    (KeyType::F64, 64),
    (KeyType::F32, 32),
    (KeyType::U64, 64),
    (KeyType::I32, 8),
    (KeyType::U32, 8),
    (KeyType::F32, 16),
    (KeyType::I64, 64),
    (KeyType::I32, 32),
];

fn random(i: u32) -> u64 {
    let mixed = (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 29
}

struct Case {
    key: KeyType,
    bits: u32,
    /// Keys, and room for more if the count is in a buffer.
    len: u32,
    room: u32,
    bins: u32,
    /// How many bounds there are: as many as bins, or one more.
    bounds: u32,
    /// The bits in which keys differ.
    differ: u64,
    stride: u32,
    ascends: bool,
    workgroup_bytes: u32,
}

impl Case {
    /// The place of a key in its order.
    fn rank(&self, key: u64) -> u64 {
        let unused = 32_u32.saturating_sub(self.bits);
        self.key.map(Order::Ascending).encode(key << unused)
    }

    /// The words of keys, packed, with two others in front of them.
    fn words(&self, keys: &[u64], stride: u32) -> Vec<u32> {
        let each = self.bits as usize / 8;
        let mut bytes = vec![0xff; 2 * each];
        for key in keys {
            bytes.extend(&key.to_le_bytes()[..each]);
            bytes.resize(bytes.len() + (stride - 1) as usize * each, 7);
        }
        bytes.resize((bytes.len() + 8) / 4 * 4, 0xff);
        bytemuck::pod_collect_to_vec(&bytes)
    }

    /// The counts, by a comparison of each key with each bound.
    fn counts(&self, keys: &[u64], bounds: &[u64]) -> Vec<u32> {
        let ranks: Vec<u64> = bounds.iter().map(|&bound| self.rank(bound)).collect();
        let mut counts = vec![0; self.bins as usize];
        for key in keys {
            let rank = self.rank(*key);
            let begun = ranks.iter().filter(|&&bound| bound <= rank).count();
            let bin = begun.checked_sub(1).and_then(|bin| counts.get_mut(bin));
            if let Some(count) = bin {
                *count += 1;
            }
        }
        counts
    }

    fn check(&self) {
        let Self {
            bits, bins, len, ..
        } = *self;
        let what = format!(
            "{} of {bits} bits, {len} of {}, {bins} bins, {} bounds, {:x}",
            self.key, self.room, self.bounds, self.differ
        );
        let mask = u64::MAX >> (64 - bits) & self.differ;
        let keys: Vec<u64> = (0..self.room).map(|i| random(i) & mask).collect();
        // Some are equal to keys, and some are not.
        let mut bounds: Vec<u64> = (0..self.bounds)
            .map(|i| random(i * 3 + self.room / 2 * (i % 2)) & mask)
            .collect();
        if self.ascends {
            bounds.sort_by_key(|&bound| self.rank(bound));
        }
        let layout = HistogramLayout {
            first: 2,
            stride: self.stride,
            bits: (bits < 32).then_some(bits),
            count_at: (len != self.room).then_some(1),
            bins,
            bounds: self.bounds,
            bounds_first: 2,
            counts_first: 3,
        };
        let limits = DeviceLimits {
            workgroup_bytes: self.workgroup_bytes,
            ..LIMITS
        };
        let recording = record_histogram(self.room, self.key, &layout, &limits);
        let words = self.words(&keys, self.stride);
        let mut execution = Execution::new(&recording, &words, Config::default());
        execution.set_buffer(Buffer::Bounds, self.words(&bounds, 1));
        execution.set_buffer(Buffer::Count, vec![UNTOUCHED, len]);
        let mut expected = vec![UNTOUCHED; bins as usize + 5];
        execution.set_buffer(Buffer::BinCounts, expected.clone());
        for kernel in execution.run().unwrap() {
            let findings = unexpected(&kernel.report);
            assert!(findings.is_empty(), "{what}: {findings:?}");
        }
        assert!(execution.buffer(Buffer::Keys) == words, "{what}");
        let found = execution.buffer(Buffer::BinCounts);
        if self.ascends {
            let counts = self.counts(&keys[..len as usize], &bounds);
            expected[3..][..counts.len()].copy_from_slice(&counts);
            assert!(found == expected, "{what}");
            return;
        }
        // Each key is counted once, or not at all.
        let counts = &found[3..][..bins as usize];
        assert!(counts.iter().sum::<u32>() <= len, "{what}");
        expected[3..][..counts.len()].copy_from_slice(counts);
        assert!(found == expected, "{what}");
    }
}

#[test]
fn counts_equal_the_cpu() {
    let mut number = 0;
    for (key, bits) in TYPES {
        for bins in [1, 2, 31, 32, 33, 200, 1024, 1025, 3000] {
            for differ in [u64::MAX, 0xff, 0, 0x8000_0000_8000_0000 | 0x8080] {
                number += 1;
                if !all_cases() && (number % 3 > 0 || bins > 1024 && number % 2 > 0) {
                    continue;
                }
                let is_counted = number % 5 < 2;
                let room = [1, 700, 8192, 8193, 9001][number % 5];
                Case {
                    key,
                    bits,
                    len: if is_counted { room * 2 / 3 } else { room },
                    room,
                    bins,
                    bounds: bins + u32::from(number % 7 > 0),
                    differ,
                    stride: [1, 3][number / 2 % 2],
                    ascends: true,
                    workgroup_bytes: [8480, 16 << 10][number / 3 % 2],
                }
                .check();
            }
        }
    }
}

/// The search ends in some bin, and nothing outside the counts is written.
#[test]
fn bounds_in_any_order_are_safe() {
    for (key, bits) in TYPES {
        for (bins, len) in [(1, 50), (77, 9000), (1024, 500), (2000, 8200)] {
            Case {
                key,
                bits,
                len,
                room: 9000,
                bins,
                bounds: bins + 1,
                differ: u64::MAX,
                stride: 1,
                ascends: false,
                workgroup_bytes: 16 << 10,
            }
            .check();
        }
    }
}

/// Without keys, or without bounds up to any key, all counts are cleared.
#[test]
fn counts_of_no_keys_are_cleared() {
    for (len, room, bounds) in [(0, 0, 8), (0, 9000, 8), (9000, 9000, 0)] {
        Case {
            key: KeyType::U32,
            bits: 32,
            len,
            room,
            bins: 7,
            bounds,
            differ: u64::MAX,
            stride: 1,
            ascends: true,
            workgroup_bytes: 16 << 10,
        }
        .check();
    }
}
