//! The kernels of the top k of segments: `shaders/top_k`.

use crate::device::DeviceKind;
use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, parameters, wgsl};

parameters! {
    /// `top_k/records.wgsl`.
    TopKParams {
        len, first, end,
        key_first, key_stride, key_shift, key_low, key_up,
        sign_low, sign_high, flip_low, flip_high,
        segments, offsets_first, segment_len,
        k, room, output_first, indices_first,
    }
}

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Records that a lane keeps in registers.
const EACH: u32 = 4;

/// Records that a workgroup sorts, at most: the largest k.
pub const CELLS: u32 = 1024;

/// Records of a segment, at most. A workgroup reads them again and again, and llvmpipe silently
/// ends the loops of a kernel after 65,535 iterations.
pub const LONGEST: u32 = 1 << 20;

/// What is written of each record, at least one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The key.
    pub keys: bool,
    /// The index.
    pub indices: bool,
}

impl Written {
    /// All choices.
    pub const ALL: [Self; 3] = [
        Self::of(true, false),
        Self::of(false, true),
        Self::of(true, true),
    ];

    const fn of(keys: bool, indices: bool) -> Self {
        Self { keys, indices }
    }
}

/// The rounds that a workgroup runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Until few enough records are left: mostly one.
    Needed,
    /// All, also those with nothing left to do: FXC takes no barrier in a loop that workgroup memory
    /// ends.
    All,
}

impl Rounds {
    /// The faster ones that this device's compiler takes.
    #[must_use]
    pub const fn of(kind: DeviceKind) -> Self {
        if kind.has_fxc {
            Self::All
        } else {
            Self::Needed
        }
    }
}

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let mut all = Vec::new();
    for rounds in [Rounds::Needed, Rounds::All] {
        for words in [1, 2] {
            all.extend(Written::ALL.map(|written| select(words, written, rounds)));
        }
    }
    all
}

/// The top k of segments by keys of `words` words.
#[must_use]
pub fn select(words: u32, written: Written, rounds: Rounds) -> Kernel {
    let written_name = match (written.keys, written.indices) {
        (true, false) => ".keys",
        (false, _) => ".indices",
        (true, true) => "",
    };
    let rounds_name = match rounds {
        Rounds::Needed => "",
        Rounds::All => ".all_rounds",
    };
    let (key, variant) = match words {
        1 => (KeyType::U32, ".1w"),
        _ => (KeyType::U64, ".2w"),
    };
    let [key_map, load, record, keys] = match words {
        1 => [
            wgsl!("lib/key_map.wgsl", "one_word"),
            wgsl!("layout/load.wgsl", "keys"),
            wgsl!("top_k/records.wgsl", "one_word"),
            wgsl!("top_k/records.wgsl", "keys"),
        ],
        _ => [
            wgsl!("lib/key_map.wgsl", "two_words"),
            wgsl!("layout/load.wgsl", "wide_keys"),
            wgsl!("top_k/records.wgsl", "two_words"),
            wgsl!("top_k/records.wgsl", "wide_keys"),
        ],
    };
    let texts = [
        wgsl!("lib/workgroup.wgsl"),
        wgsl!("top_k/records.wgsl", "params"),
        key_map,
        load,
        wgsl!("top_k/records.wgsl", "segments"),
        record,
        if written.keys {
            keys
        } else {
            wgsl!("top_k/records.wgsl", "no_keys")
        },
        if written.indices {
            wgsl!("top_k/records.wgsl", "indices")
        } else {
            wgsl!("top_k/records.wgsl", "no_indices")
        },
        wgsl!("lib/scan.wgsl", "words"),
        wgsl!("lib/scan.wgsl", "memory"),
        wgsl!("lib/scan.wgsl", "sum"),
        wgsl!("top_k/select.wgsl"),
    ];
    let scan = LANES + LANES / 32 + 32;
    Definition {
        name: format!("top_k.select{written_name}{rounds_name}").into(),
        variant,
        key,
        constants: vec![
            ("LANES", LANES),
            ("VALUES", LANES),
            ("BIN_BITS", LANES.ilog2()),
            ("EACH", EACH),
            ("CELLS", CELLS),
            ("LONGEST", LONGEST),
            ("IDLE_ROUNDS", u32::from(rounds == Rounds::All)),
        ],
        pieces: texts.into_iter().map(Piece::File).collect(),
        parameters: TopKParams::default().into(),
        // The records, the scan, the histogram, the bounds and the choice.
        workgroup_bytes: 4 * (CELLS * (words + 1) + scan + LANES + 16 + 4),
        conflicts: Conflicts::WhereItSearches,
    }
    .into()
}
