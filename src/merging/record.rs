//! The dispatches of a merge.

use super::kernels::{self, MergeParams, SPLITS, TileSize};
use crate::device::{DeviceLimits, grid, parts};
use crate::key::{KeyMap, KeyType};
use crate::order::Order;
use crate::recording::{Buffer, PayloadKind, Phase, Recording, Step};

/// Where the records of a merge are, and what moves with the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeLayout {
    /// The index of A's first key in [`Buffer::Keys`].
    pub first_a: u32,
    /// The index of B's first key in [`Buffer::SecondKeys`].
    pub first_b: u32,
    /// The index of the first merged key in [`Buffer::Output`].
    pub output: u32,
    /// Where values are, if each record has one.
    pub values: Option<MergedValues>,
    /// The words of [`Buffer::Count`] and [`Buffer::SecondCount`] that hold the numbers of records.
    pub counts: Option<[u32; 2]>,
}

/// The indices of the first values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedValues {
    /// A's, in [`Buffer::Payload`] 0.
    pub a: u32,
    /// B's, in [`Buffer::Payload`] 1.
    pub b: u32,
    /// Those of the merged records, in [`Buffer::PayloadOutput`] 0.
    pub output: u32,
}

/// Records the merge of `lens` records of A and of B, or of at most as many, of a type that is
/// [merged](kernels::merges). Together they are at most [`u32::MAX`].
#[must_use]
pub fn record_merge(
    lens: [u32; 2],
    of: KeyType,
    order: Order,
    layout: &MergeLayout,
    limits: &DeviceLimits,
) -> Recording {
    let [len_a, len_b] = lens;
    let len = len_a + len_b;
    let mut recording = Recording::new(len, of, order);
    if layout.values.is_some() {
        recording.payload = PayloadKind::Indices;
    }
    if len == 0 {
        return recording;
    }
    let size = TileSize::fitting(of, limits.workgroup_bytes);
    let tile = size.tile(of);
    let tiles = len.div_ceil(tile);
    // The numbers of records, a split for each tile, and one for the end.
    let splits = recording.reserve(Buffer::Splits, (u64::from(tiles) + 3) * 4);
    let parameters = parameters(lens, tile, of.map(order), layout);
    // A buffer without records may be empty, and is not bound.
    let inputs = |a, b| match lens {
        [0, _] => [b, b],
        [_, 0] => [a, a],
        _ => [a, b],
    };
    let [keys_a, keys_b] = inputs(Buffer::Keys, Buffer::SecondKeys);
    let shared = [("keys_a", keys_a), ("keys_b", keys_b), ("splits", splits)];
    // Without counts any other buffer will do that is not written.
    let [counts_a, counts_b] = match layout.counts {
        Some(_) => [Buffer::Count, Buffer::SecondCount],
        None => [keys_a, keys_b],
    };
    let counts = [("counts_a", counts_a), ("counts_b", counts_b)];
    recording.steps.push(Step {
        phase: Phase::Search,
        round: 0,
        kernel: kernels::splits(of),
        workgroups: grid((tiles + 1).div_ceil(SPLITS), limits),
        bindings: [&shared[..], &counts].concat(),
        parameters: parameters.into(),
        // A search reads some keys of each tile.
        keys: (u64::from(tiles) + 1) * u64::from(SPLITS),
    });
    let mut bindings = shared.to_vec();
    bindings.push(("output_keys", Buffer::Output));
    if layout.values.is_some() {
        let [values_a, values_b] = inputs(Buffer::Payload(0), Buffer::Payload(1));
        bindings.push(("source_a", values_a));
        bindings.push(("source_b", values_b));
        bindings.push(("output_values", Buffer::PayloadOutput(0)));
    }
    for (first, end) in parts(tiles, tile, limits) {
        recording.steps.push(Step {
            phase: Phase::Merge,
            round: 0,
            kernel: kernels::merge(of, size, layout.values.is_some()),
            workgroups: grid(end - first, limits),
            bindings: bindings.clone(),
            parameters: MergeParams {
                first,
                end,
                ..parameters
            }
            .into(),
            keys: u64::from(end - first) * u64::from(tile),
        });
    }
    recording
}

/// The parameters of all dispatches, with all tiles in one.
fn parameters(
    [len_a, len_b]: [u32; 2],
    tile: u32,
    map: KeyMap,
    layout: &MergeLayout,
) -> MergeParams {
    let tiles = (len_a + len_b).div_ceil(tile);
    let values = layout.values.unwrap_or_default();
    let [count_a, count_b] = layout.counts.unwrap_or_default();
    MergeParams {
        len_a,
        len_b,
        first: 0,
        end: tiles,
        tiles,
        tile,
        first_a: layout.first_a,
        first_b: layout.first_b,
        first_output: layout.output,
        values_a: values.a,
        values_b: values.b,
        values_output: values.output,
        is_counted: layout.counts.is_some().into(),
        count_a,
        count_b,
        sign_low: map.sign_mask as u32,
        sign_high: (map.sign_mask >> 32) as u32,
        flip_low: map.flip as u32,
        flip_high: (map.flip >> 32) as u32,
    }
}
