//! The kernels that move keys and rows to and from a sort.

use super::{PARAMETER_BLOCK, Pieces};

/// Lanes of a workgroup that moves keys or rows.
const LANES: u32 = 256;

/// Keys, or words of rows, that a workgroup moves.
pub(crate) const MOVED: u32 = 8 * LANES;

/// A kernel that moves keys or rows to and from a sort, or looks at them; see `shaders/rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RowsKernel {
    /// Brings the number of records, which a buffer says, to other kernels.
    TakenCount,
    /// Moves keys between where the caller has them and where they are sorted.
    MovedKeys,
    /// Makes codes of one-word keys.
    TakenCodes {
        /// Whether they are of many arrays.
        segmented: bool,
    },
    /// Makes keys of codes again.
    ReturnedCodes,
    /// Makes keys of two words by which records are put in the order of their arrays.
    SegmentCodes,
    /// Numbers the rows that are to be compared.
    Numbers,
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
    pub(super) const ALL: [Self; 10] = [
        Self::TakenCount,
        Self::MovedKeys,
        Self::TakenCodes { segmented: false },
        Self::TakenCodes { segmented: true },
        Self::ReturnedCodes,
        Self::SegmentCodes,
        Self::Numbers,
        Self::MovedRows { ordered: false },
        Self::MovedRows { ordered: true },
        Self::OutOfOrder,
    ];

    /// The pieces of its text.
    pub(super) fn pieces(self) -> Pieces {
        const SEGMENTS: &str = shader!("rows/segments.wgsl");
        let mut constants = vec![("LANES", LANES)];
        let (shared, text) = match self {
            Self::TakenCount => {
                constants.push(("BLOCK", PARAMETER_BLOCK / 4));
                (vec![], shader!("rows/taken_count.wgsl"))
            }
            Self::MovedKeys => (vec![], shader!("rows/moved_keys.wgsl")),
            Self::TakenCodes { segmented } => {
                let arrays = if segmented {
                    vec![SEGMENTS, shader!("rows/segmented.wgsl")]
                } else {
                    vec![shader!("rows/whole.wgsl")]
                };
                (arrays, shader!("rows/taken_codes.wgsl"))
            }
            Self::ReturnedCodes => (vec![], shader!("rows/returned_codes.wgsl")),
            Self::SegmentCodes => (vec![SEGMENTS], shader!("rows/segment_codes.wgsl")),
            Self::Numbers => (vec![], shader!("rows/numbers.wgsl")),
            Self::MovedRows { ordered } => {
                let order = if ordered {
                    shader!("rows/ordered.wgsl")
                } else {
                    shader!("rows/as_they_are.wgsl")
                };
                (vec![order], shader!("rows/moved_rows.wgsl"))
            }
            Self::OutOfOrder => (vec![], shader!("rows/out_of_order.wgsl")),
        };
        Pieces {
            constants,
            shared,
            ..Pieces::plain(text)
        }
    }

    /// Its name in labels and reports.
    pub(super) fn name(self) -> String {
        let name = match self {
            Self::TakenCount => "taken_count",
            Self::MovedKeys => "moved_keys",
            Self::TakenCodes { segmented: true } => "taken_codes.segmented",
            Self::TakenCodes { segmented: false } => "taken_codes",
            Self::ReturnedCodes => "returned_codes",
            Self::SegmentCodes => "segment_codes",
            Self::Numbers => "numbers",
            Self::MovedRows { ordered: true } => "moved_rows.ordered",
            Self::MovedRows { ordered: false } => "moved_rows",
            Self::OutOfOrder => "out_of_order",
        };
        format!("rows.{name}")
    }
}
