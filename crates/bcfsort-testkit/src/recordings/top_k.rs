//! Recordings of the top k of segments, and the expected results.

use crate::LIMITS;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::layout::record_copy;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::top_k::kernels::{Rounds, Written};
use wgpu_bcfsort::internals::top_k::{Segments, TopKLayout, record_top_k};
use wgpu_bcfsort::{KeyType, Order};

/// The offsets of segments in an [`Execution`](super::Execution), as many as any recording has.
pub(super) fn offsets(len: u32) -> [u32; 2] {
    [0, len / 3]
}

/// Recordings that use every kernel for keys of this width. Keys that are written end in
/// [`Buffer::Keys`].
pub(super) fn top_k(key: KeyType, order: Order) -> Vec<Recording> {
    let limits = DeviceLimits {
        keys_per_dispatch: 4096,
        workgroups: 2,
        ..LIMITS
    };
    let record = |(len, k, count, segments, rounds), written: Written| {
        let layout = TopKLayout {
            k,
            count,
            segments,
            first: 0,
            stride: 1,
            bits: None,
            low: 0,
            unused: 0,
            rounds,
            output: written.keys.then_some(0),
            indices: written.indices.then_some(0),
        };
        let mut recording = record_top_k(len, (key, order), &layout, &limits);
        if written.keys {
            let keys = count * k;
            recording.reserve(Buffer::Output, u64::from(keys) * key.bytes());
            let way = [Buffer::Output, Buffer::Keys];
            record_copy(&mut recording, Phase::TopK, keys, way, &limits);
        }
        recording
    };
    let cases = [
        (5 * 900, 70, 5, Segments::Rows(900), Rounds::Needed),
        (4200, 600, 2, Segments::Offsets(0), Rounds::Needed),
        (4200, 600, 2, Segments::Offsets(0), Rounds::All),
        (3 * 1500, 30, 3, Segments::Rows(1500), Rounds::All),
    ];
    let of_case = |case| Written::ALL.map(|written| record(case, written));
    cases.into_iter().flat_map(of_case).collect()
}

/// The dispatch of a top k, if the recording is of one.
pub(super) fn selecting(recording: &Recording) -> Option<&Step> {
    let mut steps = recording.steps.iter();
    steps.find(|step| step.kernel.is("top_k.select"))
}

/// True if keys and indices are those that this dispatch selects. Keys have these ranks, before and
/// after it.
pub(super) fn was_selected(
    (recording, step): (&Recording, &Step),
    before: &[u64],
    after: &[u64],
    indices: &[u32],
) -> bool {
    let parameter = |name| step.parameter(name).unwrap_or_default();
    let [k, count, row] = ["k", "segments", "segment_len"].map(parameter);
    let first = |number: u32| match row {
        0 => (offsets(recording.len).get(number as usize)).map_or(recording.len, |&first| first),
        row => number * row,
    };
    let mut selected = Vec::new();
    for number in 0..count {
        let mut records: Vec<u32> = (first(number)..first(number + 1)).collect();
        records.sort_by_key(|&record| before[record as usize]);
        records.truncate(k as usize);
        selected.extend(records);
    }
    let has_indices =
        step.buffer("indices").is_none() || indices.get(..selected.len()) == Some(&selected[..]);
    let mut expected = before.to_vec();
    if step.buffer("output").is_some() {
        for (key, &record) in expected.iter_mut().zip(&selected) {
            *key = before[record as usize];
        }
    }
    has_indices && after == expected
}
