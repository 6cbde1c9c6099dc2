//! The kernels that move keys and rows to and from a sort.

use super::{PARAMETER_BLOCK, Pieces};

/// Which of many arrays a record is in.
pub(super) const SEGMENTS: &str = shader!("rows/segments.wgsl");

/// Lanes of a workgroup that moves keys or rows.
const LANES: u32 = 256;

/// Keys, or words of rows, that a workgroup moves.
pub(crate) const MOVED: u32 = 8 * LANES;

/// Kinds of keys that a workgroup adds up.
pub(crate) const COUNTED: u32 = 8 * LANES;

/// A kernel that moves keys or rows to and from a sort, or looks at them; see `shaders/rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowsKernel {
    /// Brings the number of records, which a buffer says, to other kernels.
    TakenCount,
    /// Moves keys between where the caller has them and where they are sorted.
    MovedKeys,
    /// Makes words of narrow keys.
    NarrowKeys {
        /// Whether they are taken in the order of the sort, or as they are.
        ordered: bool,
    },
    /// Makes keys of them again.
    ReturnedKeys {
        /// Whether keys are known by their number, or by the words.
        counted: bool,
    },
    /// Writes zeros.
    Cleared,
    /// Adds up how many keys of each kind there are: where they end, among those of a workgroup.
    KeyPlaces,
    /// Adds up those of all workgroups.
    KeyEnds,
    /// Numbers records.
    Numbers {
        /// Whether in the order of the sort, or as they are.
        ordered: bool,
    },
    /// Moves rows of words.
    MovedRows {
        /// Whether to the order of the sort, or as they are.
        ordered: bool,
    },
    /// Looks whether keys are in order.
    OutOfOrder,
}

impl RowsKernel {
    /// All of them, in order.
    pub(super) const ALL: [Self; 14] = [
        Self::TakenCount,
        Self::MovedKeys,
        Self::NarrowKeys { ordered: false },
        Self::NarrowKeys { ordered: true },
        Self::ReturnedKeys { counted: false },
        Self::ReturnedKeys { counted: true },
        Self::Cleared,
        Self::KeyPlaces,
        Self::KeyEnds,
        Self::Numbers { ordered: false },
        Self::Numbers { ordered: true },
        Self::MovedRows { ordered: false },
        Self::MovedRows { ordered: true },
        Self::OutOfOrder,
    ];

    /// Bytes of workgroup memory.
    pub(super) const fn workgroup_bytes(self) -> u32 {
        match self {
            Self::KeyPlaces | Self::KeyEnds => 4 * LANES,
            _ => 0,
        }
    }

    /// The pieces of its text.
    pub(super) fn pieces(self) -> Pieces {
        let order = |ordered| {
            if ordered {
                shader!("rows/ordered.wgsl")
            } else {
                shader!("rows/as_they_are.wgsl")
            }
        };
        let mut constants = vec![("LANES", LANES)];
        let (shared, text) = match self {
            Self::TakenCount => {
                constants.push(("BLOCK", PARAMETER_BLOCK / 4));
                (vec![], shader!("rows/taken_count.wgsl"))
            }
            Self::MovedKeys => (vec![], shader!("rows/moved_keys.wgsl")),
            Self::NarrowKeys { ordered } => {
                (vec![order(ordered)], shader!("rows/narrow_keys.wgsl"))
            }
            Self::ReturnedKeys { counted } => {
                let keys = if counted {
                    shader!("rows/counted_keys.wgsl")
                } else {
                    shader!("rows/stored_keys.wgsl")
                };
                (vec![keys], shader!("rows/returned_keys.wgsl"))
            }
            Self::Cleared => (vec![], shader!("rows/cleared.wgsl")),
            Self::KeyPlaces => (
                vec![shader!("sample_sort/scan.wgsl")],
                shader!("rows/key_places.wgsl"),
            ),
            Self::KeyEnds => (
                vec![shader!("sample_sort/scan.wgsl")],
                shader!("rows/key_ends.wgsl"),
            ),
            Self::Numbers { ordered } => (vec![order(ordered)], shader!("rows/numbers.wgsl")),
            Self::MovedRows { ordered } => (vec![order(ordered)], shader!("rows/moved_rows.wgsl")),
            Self::OutOfOrder => (vec![], shader!("rows/out_of_order.wgsl")),
        };
        let io = match self {
            Self::OutOfOrder => vec![super::IN_ROWS],
            _ => Vec::new(),
        };
        Pieces {
            constants,
            io,
            shared,
            ..Pieces::plain(text)
        }
    }

    /// Its name in labels and reports.
    pub(super) fn name(self) -> String {
        let name = match self {
            Self::TakenCount => "taken_count",
            Self::MovedKeys => "moved_keys",
            Self::NarrowKeys { ordered: true } => "narrow_keys.ordered",
            Self::NarrowKeys { ordered: false } => "narrow_keys",
            Self::ReturnedKeys { counted: true } => "returned_keys.counted",
            Self::ReturnedKeys { counted: false } => "returned_keys",
            Self::Cleared => "cleared",
            Self::KeyPlaces => "key_places",
            Self::KeyEnds => "key_ends",
            Self::Numbers { ordered: true } => "numbers.ordered",
            Self::Numbers { ordered: false } => "numbers",
            Self::MovedRows { ordered: true } => "moved_rows.ordered",
            Self::MovedRows { ordered: false } => "moved_rows",
            Self::OutOfOrder => "out_of_order",
        };
        format!("rows.{name}")
    }
}
