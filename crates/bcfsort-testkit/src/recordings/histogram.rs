//! Recordings of histograms, and the expected results.

use crate::LIMITS;
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::histogram::{HistogramLayout, record_histogram};
use wgpu_bcfsort::internals::recording::{Buffer, PayloadKind, Recording, Step};

/// Recordings that use every kernel for keys of this width. The first keys are the bounds, in
/// whatever order they are, and the counts end in [`Buffer::Values`].
pub(super) fn histograms(key: KeyType) -> Vec<Recording> {
    let limits = DeviceLimits {
        keys_per_dispatch: 1 << 13,
        workgroups: 2,
        ..LIMITS
    };
    let record = |(len, bins)| {
        let layout = HistogramLayout {
            first: 0,
            stride: 1,
            bits: None,
            count_at: None,
            bins,
            bounds: bins + 1,
            bounds_first: 0,
            counts_first: 0,
        };
        let mut recording = record_histogram(len, key, &layout, &limits);
        recording.payload = PayloadKind::Values;
        for binding in recording
            .steps
            .iter_mut()
            .flat_map(|step| &mut step.bindings)
        {
            binding.1 = match binding.1 {
                Buffer::Bounds => Buffer::Keys,
                Buffer::BinCounts => Buffer::Values,
                buffer => buffer,
            };
        }
        recording
    };
    [(9001, 20), (8500, 1024), (9001, 1500)].map(record).into()
}

/// The first dispatch that counts, if the recording is of a histogram.
pub(super) fn counting(recording: &Recording) -> Option<&Step> {
    let mut steps = recording.steps.iter();
    steps.find(|step| step.kernel.is("histogram.count"))
}

/// True if these are the counts after the recording of this dispatch. The keys have these ranks,
/// before and after it.
pub(super) fn was_counted(step: &Step, before: &[u64], after: &[u64], values: &[u32]) -> bool {
    let bins = step.parameter("bins").unwrap_or_default() as usize;
    let bounds = &before[..=bins];
    let mut counts: Vec<u32> = (0..values.len() as u32).collect();
    counts[..bins].fill(0);
    for key in before {
        // Bounds that do not ascend are searched as others are.
        let mut begun = 0;
        let mut step = 1 << bounds.len().ilog2();
        while step > 0 {
            let next = begun + step;
            if bounds.get(next - 1).is_some_and(|bound| bound <= key) {
                begun = next;
            }
            step /= 2;
        }
        if (1..=bins).contains(&begun) {
            counts[begun - 1] += 1;
        }
    }
    before == after && counts == values
}
