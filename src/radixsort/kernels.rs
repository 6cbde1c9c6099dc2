//! The kernels of the radix sort: `shaders/radixsort`.

use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, Source, parameters, wgsl};

parameters! {
    /// `radixsort/records.wgsl`.
    DigitParams {
        len, first, end, tiles, tile, flip, shift, mask, next_shift, next_mask,
        key_first, key_stride, key_shift, key_low, key_up, sign_low, flip_low,
    }
}

/// Lanes of a workgroup, and possible digits.
pub(super) const LANES: u32 = 256;

/// Records of a tile, and where workgroup memory is less than 48 KiB.
const TILES: [u32; 2] = [32 * LANES, 16 * LANES];

const WORKGROUP: Source = wgsl!("lib/workgroup.wgsl");
const PARAMS: Source = wgsl!("radixsort/records.wgsl", "params");
const SCAN: [Source; 3] = [
    wgsl!("lib/scan.wgsl", "words"),
    wgsl!("lib/scan.wgsl", "memory"),
    wgsl!("lib/scan.wgsl", "sum"),
];
const SCAN_BYTES: u32 = 4 * (LANES + LANES / 32 + 32);

/// The records that a pass reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// From keys of the user's to one word for each: the next digit, and the index.
    KeysToWords,
    /// From such words to their indices.
    WordsToIndices,
    /// From keys of the user's to pairs of each, mapped, and its index.
    KeysToPairs,
    /// From pairs to pairs.
    PairsToPairs,
}

impl Pass {
    /// Whether keys are read as a [`SortLayout`](crate::layout::SortLayout) says.
    #[must_use]
    pub const fn reads_user_keys(self) -> bool {
        matches!(self, Self::KeysToWords | Self::KeysToPairs)
    }
}

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    use Pass::{KeysToPairs, KeysToWords, PairsToPairs, WordsToIndices};
    let of = |tile| {
        let passes = [KeysToWords, WordsToIndices, KeysToPairs, PairsToPairs];
        let moves = passes.map(|pass| move_records(pass, tile));
        let counts = [true, false].map(|of_user| count_digits(of_user, tile));
        counts.into_iter().chain(moves)
    };
    let of_tiles = TILES.into_iter().flat_map(of);
    of_tiles.chain([digit_offsets()]).collect()
}

/// Records of a tile, for so many bytes of workgroup memory. `None` if no tile fits.
#[must_use]
pub fn tile(workgroup_bytes: u32) -> Option<u32> {
    let fits = |tile: &u32| move_bytes(*tile) <= workgroup_bytes;
    TILES.into_iter().find(fits)
}

/// The texts with which a kernel reads keys.
fn keys(of_user: bool) -> Vec<Source> {
    if of_user {
        vec![
            wgsl!("lib/key_map.wgsl", "one_word"),
            wgsl!("layout/load.wgsl", "keys"),
            wgsl!("radixsort/records.wgsl", "user_keys"),
        ]
    } else {
        vec![wgsl!("radixsort/records.wgsl", "words")]
    }
}

/// First phase of a pass: the digits of each tile, of keys of the user's or of words.
#[must_use]
pub fn count_digits(of_user: bool, tile: u32) -> Kernel {
    let own = wgsl!("radixsort/digits.wgsl", "count_digits");
    let texts = [&[WORKGROUP, PARAMS], &keys(of_user)[..], &[own]].concat();
    let name = if of_user {
        "radixsort.count_digits.keys"
    } else {
        "radixsort.count_digits.words"
    };
    Definition {
        // Four counts of each digit.
        workgroup_bytes: 16 * LANES,
        // The keys determine which counts are added to.
        conflicts: Conflicts::WhereItSearches,
        ..kernel(name, tile, &texts)
    }
    .into()
}

/// Second phase of a pass: the digits of the tiles before each.
#[must_use]
pub fn digit_offsets() -> Kernel {
    let own = wgsl!("radixsort/digits.wgsl", "digit_offsets");
    let texts = [&[WORKGROUP, PARAMS], &SCAN[..], &[own]].concat();
    Definition {
        constants: vec![("LANES", LANES), ("VALUES", LANES)],
        workgroup_bytes: SCAN_BYTES,
        ..kernel("radixsort.digit_offsets", TILES[0], &texts)
    }
    .into()
}

/// Third phase of a pass: moves the records.
#[must_use]
pub fn move_records(pass: Pass, tile: u32) -> Kernel {
    let indices = wgsl!("radixsort/records.wgsl", "indices");
    let values = wgsl!("radixsort/records.wgsl", "values");
    let to_words = wgsl!("radixsort/records.wgsl", "to_words");
    let to_indices = wgsl!("radixsort/records.wgsl", "to_indices");
    let to_pairs = wgsl!("radixsort/records.wgsl", "to_pairs");
    let (name, from, to) = match pass {
        Pass::KeysToWords => ("keys_to_words", indices, to_words),
        Pass::WordsToIndices => ("words_to_indices", indices, to_indices),
        Pass::KeysToPairs => ("keys_to_pairs", indices, to_pairs),
        Pass::PairsToPairs => ("pairs_to_pairs", values, to_pairs),
    };
    let own = wgsl!("radixsort/move_records.wgsl");
    let keys = keys(pass.reads_user_keys());
    let texts = [&[WORKGROUP, PARAMS], &keys[..], &[from, to, own]].concat();
    Definition {
        workgroup_bytes: move_bytes(tile),
        // The digits determine the places of the records.
        conflicts: Conflicts::WhereItSearches,
        name: format!("radixsort.move_records.{name}").into(),
        ..kernel("", tile, &texts)
    }
    .into()
}

/// Workgroup memory of a kernel that moves tiles: entries, counts, places, and sums. A number by
/// itself takes 16 bytes.
const fn move_bytes(tile: u32) -> u32 {
    4 * (tile + tile / 32 + 8 * LANES + 2 * LANES + LANES / 16) + 16
}

fn kernel(name: &'static str, tile: u32, texts: &[Source]) -> Definition {
    Definition {
        name: name.into(),
        variant: if tile == TILES[0] { "" } else { ".small" },
        key: KeyType::U32,
        constants: vec![("LANES", LANES), ("VALUES", LANES), ("TILE", tile)],
        pieces: texts.iter().copied().map(Piece::File).collect(),
        parameters: DigitParams::default().into(),
        workgroup_bytes: 0,
        conflicts: Conflicts::None,
    }
}
