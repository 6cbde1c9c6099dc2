//! The top k of segments in lock-step, compared with the CPU: of keys of all widths, whatever the
//! offsets are.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Execution, unexpected};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::internals::top_k::kernels::Rounds;
use wgpu_bcfsort::internals::top_k::{Segments, TopKLayout, record_top_k};
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::Config;

/// Some segments per dispatch, in two rows.
const LIMITS: DeviceLimits = DeviceLimits {
    keys_per_dispatch: 1 << 13,
    workgroups: 2,
    ..bcfsort_testkit::LIMITS
};

/// What no kernel may change.
const UNTOUCHED: u32 = 0x0dd_ba11;

/// Keys of a segment: the bits in which they differ.
const DIFFER: [u64; 6] = [
    u64::MAX,
    0xff,
    0,
    0x0fff_0000,
    0x8000_0000_8000_0001,
    0xffff_ffff_0000_0000,
];

fn random(i: u32) -> u64 {
    let mixed = (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 29
}

struct Case {
    key: KeyType,
    bits: u32,
    order: Order,
    k: u32,
    differ: u64,
    /// First records, with one past the last.
    offsets: Vec<u32>,
    is_rows: bool,
    stride: u32,
    written: (bool, bool),
}

impl Case {
    fn code(&self, key: u64) -> u64 {
        let key = if self.bits < 32 {
            key << (32 - self.bits)
        } else {
            key
        };
        self.key.map(self.order).encode(key)
    }

    fn len(&self) -> u32 {
        *self.offsets.last().unwrap()
    }

    /// The first records of each segment: the row, the rank, and the index.
    fn expected(&self, keys: &[u64]) -> Vec<(usize, usize, u32)> {
        let mut all = Vec::new();
        for (row, bounds) in self.offsets.windows(2).enumerate() {
            let [first, end] = [bounds[0], bounds[1]].map(|at| at.min(self.len()));
            let mut records: Vec<u32> = (first..end).collect();
            records.sort_by_key(|&i| self.code(keys[i as usize]));
            records.truncate(self.k as usize);
            let ranked = records.into_iter().enumerate();
            all.extend(ranked.map(|(rank, index)| (row, rank, index)));
        }
        all
    }

    fn check(&self) {
        self.check_with(Rounds::Needed);
        self.check_with(Rounds::All);
    }

    fn check_with(&self, rounds: Rounds) {
        let Self { bits, k, .. } = *self;
        let what = format!(
            "{} of {bits} bits, {:?}, top {k} of {:?}, {:x}, rounds: {rounds:?}",
            self.key, self.order, self.offsets, self.differ
        );
        let mask = u64::MAX >> (64 - bits);
        let keys: Vec<u64> = (0..self.len())
            .map(|i| random(i) & self.differ & mask)
            .collect();
        // Two keys in front.
        let mut bytes = vec![0xff; bits as usize / 4];
        for key in &keys {
            bytes.extend(&key.to_le_bytes()[..bits as usize / 8]);
            bytes.resize(
                bytes.len() + (self.stride - 1) as usize * bits as usize / 8,
                7,
            );
        }
        bytes.resize((bytes.len() + 8) / 4 * 4, 0xff);
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        let count = self.offsets.len() - 1;
        let layout = TopKLayout {
            k,
            count: count as u32,
            segments: if self.is_rows {
                Segments::Rows(self.offsets[1])
            } else {
                Segments::Offsets(1)
            },
            first: 2,
            stride: self.stride,
            bits: (bits < 32).then_some(bits),
            low: 0,
            unused: 32_u32.saturating_sub(bits),
            rounds,
            output: self.written.0.then_some(3),
            indices: self.written.1.then_some(1),
        };
        let recording = record_top_k(self.len(), (self.key, self.order), &layout, &LIMITS);
        let mut execution = Execution::new(&recording, &words, Config::default());
        let room = count * k as usize + 5;
        let key_words = self.key.words() as usize;
        let mut outputs = [UNTOUCHED; 2].map(|word| vec![word; room * key_words]);
        execution.set_buffer(Buffer::Output, outputs[0].clone());
        execution.set_buffer(Buffer::Values, outputs[1].clone());
        let offsets = [&[UNTOUCHED], &self.offsets[..count]].concat();
        execution.set_buffer(Buffer::Offsets, offsets);
        for kernel in execution.run().unwrap() {
            let findings = unexpected(&kernel.report);
            assert!(findings.is_empty(), "{what}: {findings:?}");
        }
        for (row, rank, index) in self.expected(&keys) {
            let at = row * k as usize + rank;
            let key = keys[index as usize];
            if self.written.0 {
                let to = (at + 3) * key_words;
                outputs[0][to] = key as u32;
                if key_words == 2 {
                    outputs[0][to + 1] = (key >> 32) as u32;
                }
            }
            if self.written.1 {
                outputs[1][at + 1] = index;
            }
        }
        assert!(execution.buffer(Buffer::Output) == outputs[0], "{what}");
        assert!(execution.buffer(Buffer::Values) == outputs[1], "{what}");
        assert!(execution.buffer(Buffer::Keys) == words, "{what}");
    }
}

const TYPES: [(KeyType, u32); 8] = [
    (KeyType::U32, 32),
    (KeyType::F64, 64),
    (KeyType::F32, 32),
    (KeyType::U64, 64),
    (KeyType::I32, 8),
    (KeyType::F32, 16),
    (KeyType::I64, 64),
    (KeyType::I32, 32),
];

#[test]
fn the_first_of_each_segment_equal_the_cpu() {
    let mut number = 0;
    for (key, bits) in TYPES {
        for k in [1, 3, 64, 65, 1000, 1024] {
            for differ in DIFFER {
                number += 1;
                if !all_cases() && (number % 3 > 0 || k > 65 && number % 4 > 0) {
                    continue;
                }
                let written = if bits < 32 {
                    (false, true)
                } else {
                    [(true, true), (false, true), (true, false)][number / 3 % 3]
                };
                let of = |offsets, is_rows| Case {
                    key,
                    bits,
                    order: [Order::Ascending, Order::Descending][number / 3 % 2],
                    k,
                    differ,
                    offsets,
                    is_rows,
                    stride: [1, 3][number / 5 % 2],
                    written,
                };
                let lens = [0, 1, k - 1, k, k + 1, 0, 1000, 1025, 2500];
                let mut end = number as u32 % 4;
                let offsets = lens.map(|len| {
                    end += len;
                    end
                });
                of(offsets.to_vec(), false).check();
                let row = [1, 31, 129, 1024, 1500][number % 5];
                of((0..=4).map(|i| i * row).collect(), true).check();
            }
        }
    }
}

/// Offsets that descend, overlap, or are beyond the end: such segments are empty.
#[test]
fn any_offsets_are_safe() {
    for (key, bits) in TYPES {
        let case = |offsets: &[u32]| Case {
            key,
            bits,
            order: Order::Descending,
            k: 5,
            differ: 0xff,
            offsets: offsets.to_vec(),
            is_rows: false,
            stride: 1,
            written: (bits >= 32, true),
        };
        case(&[900, 20, 2000, 10, u32::MAX, 30, 700, 1300]).check();
        case(&[u32::MAX, u32::MAX - 1, 100]).check();
        case(&[0, 0, 0, 0, 1]).check();
        case(&[7, 7]).check();
    }
}
