//! The dispatches of the top k of segments.

use super::kernels::{self, CELLS, Rounds, TopKParams, Written};
use crate::device::{DeviceLimits, grid, parts};
use crate::key::KeyType;
use crate::order::Order;
use crate::recording::{Buffer, PayloadKind, Phase, Recording, Step};

/// Where the segments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// One after the other, of this many records each: at most
    /// [`LONGEST`](super::kernels::LONGEST).
    Rows(u32),
    /// From their offsets in [`Buffer::Offsets`], of which this word is the first.
    Offsets(u32),
}

/// Where the records of a top k are, and what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKLayout {
    /// Records of a row of the outputs: 1 to [`CELLS`].
    pub k: u32,
    /// The number of segments.
    pub count: u32,
    /// Where they are.
    pub segments: Segments,
    /// The first key in [`Buffer::Keys`], counted in keys.
    pub first: u32,
    /// The distance of consecutive keys, in keys: 1 if they are contiguous.
    pub stride: u32,
    /// Bits of a packed key, 8 or 16. Such keys are not written.
    pub bits: Option<u32>,
    /// The first bit of a key that counts.
    pub low: u32,
    /// 32 minus the bits of a key that count, for keys of up to 32 bits.
    pub unused: u32,
    /// The rounds that a workgroup runs.
    pub rounds: Rounds,
    /// The index of the first key in [`Buffer::Output`], if keys are written.
    pub output: Option<u32>,
    /// The first word of the indices in [`Buffer::Values`], if indices are written.
    pub indices: Option<u32>,
}

/// Records the top k of segments of `len` records. With neither output there is nothing to do.
#[must_use]
pub fn record_top_k(
    len: u32,
    (key, order): (KeyType, Order),
    layout: &TopKLayout,
    limits: &DeviceLimits,
) -> Recording {
    let mut recording = Recording::new(len, key, order);
    recording.bits = layout.bits.unwrap_or(recording.bits);
    let written = Written {
        keys: layout.output.is_some(),
        indices: layout.indices.is_some(),
    };
    if written.indices {
        recording.payload = PayloadKind::Indices;
    }
    if len == 0 || layout.count == 0 || !(written.keys || written.indices) {
        return recording;
    }
    let map = key.map(order);
    // Of rows no offsets are read: any buffer will do that is not written.
    let (segment_len, offsets_first, offsets) = match layout.segments {
        Segments::Rows(len) => (len, 0, Buffer::Keys),
        Segments::Offsets(first) => (0, first, Buffer::Offsets),
    };
    let parameters = TopKParams {
        len,
        first: 0,
        end: layout.count,
        key_first: layout.first,
        key_stride: layout.stride,
        // Log2 of the keys per word.
        key_shift: (32 / layout.bits.unwrap_or(32)).ilog2(),
        key_low: layout.low,
        key_up: layout.unused,
        sign_low: map.sign_mask as u32,
        sign_high: (map.sign_mask >> 32) as u32,
        flip_low: map.flip as u32,
        flip_high: (map.flip >> 32) as u32,
        segments: layout.count,
        offsets_first,
        segment_len,
        k: layout.k,
        room: room(layout.k),
        output_first: layout.output.unwrap_or(0),
        indices_first: layout.indices.unwrap_or(0),
    };
    let bindings = [
        Some(("source", Buffer::Keys)),
        written.keys.then_some(("output", Buffer::Output)),
        written.indices.then_some(("indices", Buffer::Values)),
        Some(("offsets", offsets)),
    ];
    let bindings: Vec<_> = bindings.into_iter().flatten().collect();
    let kernel = kernels::select(key.words(), written, layout.rounds);
    // Of a segment, only the mean length is known.
    let each = len.div_ceil(layout.count);
    for (first, end) in parts(layout.count, each, limits) {
        recording.steps.push(Step {
            phase: Phase::TopK,
            round: 0,
            kernel: kernel.clone(),
            workgroups: grid(end - first, limits),
            bindings: bindings.clone(),
            parameters: TopKParams {
                first,
                end,
                ..parameters
            }
            .into(),
            keys: u64::from(end - first) * u64::from(each),
        });
    }
    recording
}

/// The most records that are sorted. With twice k, one round finds them mostly; few cost little.
const fn room(k: u32) -> u32 {
    match 2 * k.next_power_of_two() {
        ..64 => 64,
        room if room < CELLS => room,
        _ => CELLS,
    }
}
