//! The kernels of merges: `shaders/merging`.

use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, Source, parameters, wgsl};

parameters! {
    /// `merging/inputs.wgsl`.
    MergeParams {
        len_a, len_b, first, end, tiles, tile,
        first_a, first_b, first_output,
        values_a, values_b, values_output,
        is_counted, count_a, count_b,
        sign_low, sign_high, flip_low, flip_high,
    }
}

/// Lanes of a workgroup that merges.
const LANES: u32 = 256;

/// Lanes of a workgroup that searches for splits. They wait for memory: so they are on many
/// multiprocessors.
pub(super) const SPLITS: u32 = 64;

/// How many records a workgroup merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileSize {
    /// As many as fit the workgroup memory that most devices have.
    Large,
    /// As many as fit the least that this library needs.
    Small,
}

impl TileSize {
    /// The largest one that fits so many bytes of workgroup memory.
    #[must_use]
    pub fn fitting(of: KeyType, workgroup_bytes: u32) -> Self {
        if bytes(of, Self::Large) <= workgroup_bytes {
            Self::Large
        } else {
            Self::Small
        }
    }

    /// Records that a lane merges: an odd number, so that lanes are in different banks.
    const fn each(self, of: KeyType) -> u32 {
        match (self, of.words()) {
            (Self::Large, 1) => 13,
            (Self::Large, _) | (Self::Small, 1) => 7,
            (Self::Small, _) => 3,
        }
    }

    /// Records that a workgroup merges.
    #[must_use]
    pub const fn tile(self, of: KeyType) -> u32 {
        self.each(of) * LANES
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Large => "",
            Self::Small => ".small",
        }
    }
}

/// Bytes of workgroup memory: keys, and a word for each lane.
const fn bytes(of: KeyType, size: TileSize) -> u32 {
    (size.tile(of) * of.words() + LANES) * 4
}

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let of = |key| {
        let merges = |size| [false, true].map(|valued| merge(key, size, valued));
        let merges = [merges(TileSize::Large), merges(TileSize::Small)];
        merges.into_iter().flatten().chain([splits(key)])
    };
    [KeyType::U32, KeyType::U64]
        .into_iter()
        .flat_map(of)
        .collect()
}

/// Returns true if there are merges of keys of this type: of 32 and 64 bits.
#[must_use]
pub const fn merges(of: KeyType) -> bool {
    of.bytes() >= 4
}

/// First phase: the records of A before each tile.
#[must_use]
pub fn splits(of: KeyType) -> Kernel {
    Definition {
        name: "merging.splits".into(),
        ..kernel(of, &[("LANES", SPLITS)], &[wgsl!("merging/splits.wgsl")])
    }
    .into()
}

/// Second phase: merges each tile. If `valued`, each record has a value.
#[must_use]
pub fn merge(of: KeyType, size: TileSize, valued: bool) -> Kernel {
    let (name, values) = if valued {
        (".values", wgsl!("merging/inputs.wgsl", "values"))
    } else {
        ("", wgsl!("merging/inputs.wgsl", "no_values"))
    };
    let texts = [values, wgsl!("merging/merge.wgsl")];
    // A lane searches among at most half the records of a tile.
    let first_step = (size.tile(of) / 2 + 1).next_power_of_two() / 2;
    let constants = [
        ("LANES", LANES),
        ("TILE", size.tile(of)),
        ("EACH", size.each(of)),
        ("FIRST_STEP", first_step),
    ];
    Definition {
        name: format!("merging.merge{name}{}", size.name()).into(),
        workgroup_bytes: bytes(of, size),
        // The keys determine which cells of workgroup memory the lanes compare.
        conflicts: Conflicts::WhereItSearches,
        ..kernel(of, &constants, &texts)
    }
    .into()
}

/// A kernel of keys of this width, with the texts that are its own.
fn kernel(of: KeyType, constants: &[(&'static str, u32)], own: &[Source]) -> Definition {
    debug_assert!(merges(of), "{of} keys are not merged");
    let (key, variant, texts) = match of.words() {
        1 => (
            KeyType::U32,
            ".1w",
            [
                wgsl!("lib/key_map.wgsl", "one_word"),
                wgsl!("merging/inputs.wgsl", "one_word"),
            ],
        ),
        _ => (
            KeyType::U64,
            ".2w",
            [
                wgsl!("lib/key_map.wgsl", "two_words"),
                wgsl!("merging/inputs.wgsl", "two_words"),
            ],
        ),
    };
    let shared = [
        wgsl!("lib/workgroup.wgsl"),
        wgsl!("merging/inputs.wgsl", "params"),
        wgsl!("merging/inputs.wgsl", "inputs"),
    ];
    let texts = texts.iter().chain(&shared).chain(own);
    Definition {
        name: "".into(),
        variant,
        key,
        constants: constants.to_vec(),
        pieces: texts.copied().map(Piece::File).collect(),
        parameters: MergeParams::default().into(),
        workgroup_bytes: 0,
        conflicts: Conflicts::None,
    }
}
