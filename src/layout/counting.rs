//! The counting sort of packed keys alone.
//!
//! ```text
//! clear            -> counts
//! counted tiles    keys -> counts
//! scan counts      counts -> group sums
//! add group sums   group sums -> counts (16 bits: there are several groups)
//! decode counts    -> keys
//! ```

use super::encode::Composer;
use crate::kernel::{BINS, Kernel, LayoutKernel, SampleSortKernel, Tile};
use crate::plan::{DeviceLimits, SampleSort, Tuning, grid, parts};
use crate::recording::{Buffer, Phase, Step};
use crate::{KeyType, Payload};

/// Bins of all tables. Where keys are of few values, tiles wait for each other's additions to one
/// table. (2^24 `u8` on an H200: 0.63 ms with one.)
const MOST_BINS: u32 = 1 << 13;

/// Whether counting is faster than sorting: of more than few tiles.
pub(super) fn pays(len: u32, key: KeyType, tuning: &Tuning, limits: &DeviceLimits) -> bool {
    let plan = SampleSort::new(len, key, Payload::None, tuning, limits);
    !plan.is_one_tile() && plan.merged == 0
}

impl Composer<'_> {
    /// Sorts packed keys by counting how many there are of each.
    pub(super) fn counting(&mut self, tuning: &Tuning) {
        let (len, limits) = (self.job.len, self.job.limits);
        let arrangement = self.job.arrangement;
        let (Some(bits), Some(to)) = (arrangement.bits, arrangement.end_of_keys()) else {
            return;
        };
        let plan = SampleSort::new(len, self.job.key, Payload::None, tuning, limits);
        let bins = 1_u32 << bits;
        let tables = (MOST_BINS / bins).max(1);
        let words = bins * tables;
        let counts = self.recording.reserve(Buffer::Counts, u64::from(words) * 4);
        let sums = self
            .recording
            .reserve(Buffer::GroupSums, u64::from(bins) * 4);
        let phase = Phase::CountedKeys;
        let cleared = [("destination", counts)];
        self.step(
            phase,
            LayoutKernel::Clear,
            &cleared,
            &[("words", words)],
            words.into(),
        );
        let tile = Tile {
            records: plan.tile,
            merges: plan.merges,
        };
        for (first, end) in parts(plan.tiles(), plan.tile, limits) {
            let tiles = [
                ("len", len),
                ("first", first),
                ("end", end),
                ("tables", tables),
            ];
            self.recording.steps.push(Step {
                phase,
                round: 1,
                kernel: Kernel::SampleSort(SampleSortKernel::CountedTiles { tile }),
                workgroups: grid(end - first, limits),
                bindings: vec![("source", Buffer::Keys), ("counts", counts)],
                parameters: [&tiles[..], &arrangement.key_places()].concat(),
                keys: u64::from(end - first) * u64::from(plan.tile),
            });
        }
        let numbers = [
            &[("len", len), ("unused", 32 - bits), ("tables", tables)][..],
            &self.map(),
        ]
        .concat();
        let mut scan = |round, kernel, bindings: [_; 2], parameters| {
            self.recording.steps.push(Step {
                phase,
                round,
                kernel: Kernel::Layout(kernel),
                workgroups: grid(bins.div_ceil(BINS), limits),
                bindings: bindings.to_vec(),
                parameters,
                keys: bins.into(),
            });
        };
        let buffers = [("counts", counts), ("sums", sums)];
        scan(2, LayoutKernel::ScanCounts, buffers, numbers);
        let mut ends = sums;
        if bins > BINS {
            // (Keys have been counted.)
            ends = counts;
            let buffers = [("sums", sums), ("ends", ends)];
            let numbers = vec![("len", len), ("bins", bins)];
            scan(3, LayoutKernel::AddGroupSums, buffers, numbers);
        }
        let source = ("ends", ends);
        self.decode_words(LayoutKernel::DecodeCounts, source, ("source_stride", 1), to);
    }
}
