//! The kernels of histograms: `shaders/histogram`.

use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, parameters, wgsl};

parameters! {
    /// `histogram/count.wgsl`.
    HistogramParams {
        len, first, end,
        key_first, key_stride, key_shift, key_low, key_up,
        sign_low, sign_high, flip_low, flip_high,
        bins, bounds, power, bounds_first, counts_first,
        copies, copy_stride,
    }
}

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Keys of a tile, which a workgroup counts.
pub const TILE: u32 = 32 * LANES;

/// The most bins that a workgroup counts in its own memory. With keys of one word, that is as much
/// as every device has.
pub const NEAR_BINS: u32 = 1024;

/// Their bounds.
const BOUNDS: u32 = NEAR_BINS + 1;

/// Counts in workgroup memory: for 32 copies of 32 bins, each one in another bank.
pub(super) const SLOTS: u32 = 32 * 33;

/// The most copies: lanes that access workgroup memory at the same time.
pub(super) const MOST_COPIES: u32 = 32;

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let of = |words| [count(words, true), count(words, false)];
    [1, 2].into_iter().flat_map(of).collect()
}

/// Counts keys of `words` words. If `is_near`, there are at most [`NEAR_BINS`] bins.
#[must_use]
pub fn count(words: u32, is_near: bool) -> Kernel {
    let (key, variant) = match words {
        1 => (KeyType::U32, ".1w"),
        _ => (KeyType::U64, ".2w"),
    };
    let [key_map, load, bounds, kept] = match words {
        1 => [
            wgsl!("lib/key_map.wgsl", "one_word"),
            wgsl!("layout/load.wgsl", "keys"),
            wgsl!("histogram/count.wgsl", "bounds"),
            wgsl!("histogram/count.wgsl", "kept"),
        ],
        _ => [
            wgsl!("lib/key_map.wgsl", "two_words"),
            wgsl!("layout/load.wgsl", "wide_keys"),
            wgsl!("histogram/count.wgsl", "wide_bounds"),
            wgsl!("histogram/count.wgsl", "wide_kept"),
        ],
    };
    let mut texts = vec![
        wgsl!("lib/workgroup.wgsl"),
        wgsl!("histogram/count.wgsl", "params"),
        key_map,
        wgsl!("lib/key_map.wgsl", "order"),
        load,
        bounds,
    ];
    let mut constants = vec![("LANES", LANES), ("TILE", TILE)];
    if is_near {
        texts.extend([kept, wgsl!("histogram/count.wgsl", "near")]);
        constants.extend([("BOUNDS", BOUNDS), ("SLOTS", SLOTS)]);
    } else {
        texts.push(wgsl!("histogram/count.wgsl", "far"));
    }
    texts.push(wgsl!("histogram/count.wgsl", "count"));
    let (name, workgroup_bytes, conflicts) = if is_near {
        // The keys determine which bounds are compared, and what is counted.
        let bytes = 4 * (BOUNDS * words + SLOTS);
        ("histogram.count", bytes, Conflicts::WhereItSearches)
    } else {
        ("histogram.count.far", 0, Conflicts::None)
    };
    Definition {
        name: name.into(),
        variant,
        key,
        constants,
        pieces: texts.into_iter().map(Piece::File).collect(),
        parameters: HistogramParams::default().into(),
        workgroup_bytes,
        conflicts,
    }
    .into()
}
