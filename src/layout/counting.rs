//! The counting sort of packed keys without payload.
//!
//! ```text
//! clear            -> counts
//! count keys       keys -> counts
//! scan counts      counts -> group sums
//! add group sums   group sums -> counts (only for 16 bits: several groups)
//! decode counts    -> keys
//! ```

use super::encode::Composer;
use super::kernels::{self, BINS, COUNTED, LayoutParams};
use crate::device::{grid, parts};
use crate::recording::{Buffer, Phase, Step};
use crate::samplesort::Tuning;

/// Bins of all tables. With few distinct keys, workgroups would wait for each other's additions to
/// a single table.
const MOST_BINS: u32 = 1 << 13;

/// Returns true if a counting sort is faster: if there are too many keys for a sort in few
/// dispatches.
pub(super) const fn pays(len: u32, tuning: &Tuning) -> bool {
    len > tuning.tile && len > tuning.merged
}

impl Composer<'_> {
    /// Sorts packed keys by a histogram.
    pub(super) fn counting(&mut self) {
        let (len, limits) = (self.job.len, self.job.limits);
        let layout = self.job.layout;
        let (Some(bits), Some(to)) = (layout.bits, layout.key_output()) else {
            return;
        };
        let bins = 1_u32 << bits;
        let tables = (MOST_BINS / bins).max(1);
        let words = bins * tables;
        let parameters = LayoutParams {
            bins,
            tables,
            ..self.parameters()
        };
        let counts = self.recording.reserve(Buffer::Counts, u64::from(words) * 4);
        let sums = self
            .recording
            .reserve(Buffer::GroupSums, u64::from(bins) * 4);
        let phase = Phase::CountingSort;
        self.clear(phase, counts, (0, words));
        let kernel = kernels::count_keys();
        for (first, end) in parts(len.div_ceil(COUNTED), COUNTED, limits) {
            self.recording.steps.push(Step {
                phase,
                round: 1,
                kernel: kernel.clone(),
                workgroups: grid(end - first, limits),
                bindings: vec![("source", Buffer::Keys), ("counts", counts)],
                parameters: LayoutParams {
                    first,
                    end,
                    ..parameters
                }
                .into(),
                keys: u64::from(end - first) * u64::from(COUNTED),
            });
        }
        let mut scan = |round, kernel, bindings: [_; 2]| {
            self.recording.steps.push(Step {
                phase,
                round,
                kernel,
                workgroups: grid(bins.div_ceil(BINS), limits),
                bindings: bindings.to_vec(),
                parameters: parameters.into(),
                keys: bins.into(),
            });
        };
        let buffers = [("counts", counts), ("sums", sums)];
        scan(2, kernels::scan_counts(), buffers);
        let mut ends = sums;
        if bins > BINS {
            // The histogram is no longer needed.
            ends = counts;
            let buffers = [("sums", sums), ("ends", ends)];
            scan(3, kernels::add_group_sums(), buffers);
        }
        let source = ("ends", ends);
        self.decode_words(&kernels::decode_counts(), source, 1, to);
    }
}
