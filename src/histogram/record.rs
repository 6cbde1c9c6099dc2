//! The dispatches of a histogram.

use super::kernels::{self, HistogramParams, MOST_COPIES, NEAR_BINS, SLOTS, TILE};
use crate::device::{DeviceLimits, grid, parts};
use crate::key::KeyType;
use crate::layout::counted;
use crate::layout::kernels::{LayoutParams, MOVED, clear};
use crate::order::Order;
use crate::recording::{Buffer, Phase, Recording, Step};

/// Where the keys of a histogram are, their bounds, and their counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramLayout {
    /// The first key in [`Buffer::Keys`], counted in keys.
    pub first: u32,
    /// The distance of consecutive keys, in keys: 1 if they are contiguous.
    pub stride: u32,
    /// Bits of a packed key, 8 or 16.
    pub bits: Option<u32>,
    /// The word of [`Buffer::Count`] that holds the number of keys.
    pub count_at: Option<u32>,
    /// The number of bins.
    pub bins: u32,
    /// The number of bounds in [`Buffer::Bounds`]. With one for each bin, the last bin has no end.
    /// Bins that begin after all others' ends and have no bound are empty.
    pub bounds: u32,
    /// The index of the first bound.
    pub bounds_first: u32,
    /// The first word of the counts in [`Buffer::BinCounts`].
    pub counts_first: u32,
}

/// Records the histogram of `len` keys, or of at most as many.
#[must_use]
pub fn record_histogram(
    len: u32,
    key: KeyType,
    layout: &HistogramLayout,
    limits: &DeviceLimits,
) -> Recording {
    let mut recording = Recording::new(len, key, Order::Ascending);
    recording.bits = layout.bits.unwrap_or(recording.bits);
    if len > 0 && layout.bounds > 0 {
        recording.steps = counting(len, key, layout, limits);
    }
    let mut recording = counted(recording, layout.count_at);
    // Whatever the number of keys is, all counts are cleared.
    recording.steps.splice(0..0, clearing(layout, limits));
    recording
}

/// The dispatches by which all counts become 0.
fn clearing(layout: &HistogramLayout, limits: &DeviceLimits) -> Vec<Step> {
    let step = |(first, end)| Step {
        phase: Phase::Histogram,
        round: 0,
        kernel: clear(),
        workgroups: grid(end - first, limits),
        bindings: vec![("destination", Buffer::BinCounts)],
        parameters: LayoutParams {
            first,
            end,
            words: layout.bins,
            destination_first: layout.counts_first,
            ..LayoutParams::default()
        }
        .into(),
        keys: u64::from(end - first) * u64::from(MOVED),
    };
    let groups = layout.bins.div_ceil(MOVED);
    parts(groups, MOVED, limits).map(step).collect()
}

/// The dispatches that count.
fn counting(len: u32, key: KeyType, layout: &HistogramLayout, limits: &DeviceLimits) -> Vec<Step> {
    let near = kernels::count(key.words(), true);
    let is_near = layout.bins <= NEAR_BINS && near.workgroup_bytes() <= limits.workgroup_bytes;
    let kernel = if is_near {
        near
    } else {
        kernels::count(key.words(), false)
    };
    let parameters = parameters(len, key, layout);
    let step = |(first, end)| Step {
        phase: Phase::Histogram,
        round: 1,
        kernel: kernel.clone(),
        workgroups: grid(end - first, limits),
        bindings: vec![
            ("source", Buffer::Keys),
            ("counts", Buffer::BinCounts),
            ("bounds", Buffer::Bounds),
        ],
        parameters: HistogramParams {
            first,
            end,
            ..parameters
        }
        .into(),
        keys: u64::from(end - first) * u64::from(TILE),
    };
    parts(len.div_ceil(TILE), TILE, limits).map(step).collect()
}

/// The parameters of all dispatches that count, but for their tiles.
fn parameters(len: u32, key: KeyType, layout: &HistogramLayout) -> HistogramParams {
    let map = key.map(Order::Ascending);
    let bits = layout.bits.unwrap_or(32);
    // An odd distance, so that the copies of a bin are in different banks.
    let copy_stride = layout.bins | 1;
    let copies = (SLOTS / copy_stride).clamp(1, MOST_COPIES);
    HistogramParams {
        len,
        first: 0,
        end: 0,
        key_first: layout.first,
        key_stride: layout.stride,
        // Log2 of the keys per word.
        key_shift: (32 / bits).ilog2(),
        key_low: 0,
        key_up: 32 - bits,
        sign_low: map.sign_mask as u32,
        sign_high: (map.sign_mask >> 32) as u32,
        flip_low: map.flip as u32,
        flip_high: (map.flip >> 32) as u32,
        bins: layout.bins,
        bounds: layout.bounds,
        power: 1 << layout.bounds.max(1).ilog2(),
        bounds_first: layout.bounds_first,
        counts_first: layout.counts_first,
        copies: 1 << copies.ilog2(),
        copy_stride,
    }
}
