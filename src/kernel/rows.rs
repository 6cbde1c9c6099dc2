//! The kernels that move keys and rows to and from a sort.

use super::Pieces;

/// Lanes of a workgroup that moves keys or rows.
const LANES: u32 = 256;

/// Keys, or words of rows, that a workgroup moves.
pub(crate) const MOVED: u32 = 8 * LANES;

/// A kernel that moves keys or rows to and from a sort, or looks at them; see `shaders/rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RowsKernel {
    /// Moves keys between where the caller has them and where they are sorted.
    MovedKeys {
        /// Whether a buffer says how many there are.
        counted: bool,
    },
    /// Makes codes of one-word keys.
    TakenCodes {
        /// Whether a buffer says how many there are.
        counted: bool,
        /// Whether they are of many arrays.
        segmented: bool,
    },
    /// Makes keys of codes again.
    ReturnedCodes {
        /// Whether a buffer says how many there are.
        counted: bool,
    },
    /// Makes keys of two words by which records are put in the order of their arrays.
    SegmentCodes {
        /// Whether a buffer says how many there are.
        counted: bool,
    },
    /// Numbers the rows that are to be compared.
    Numbers {
        /// Whether a buffer says how many there are.
        counted: bool,
    },
    /// Moves rows of words.
    MovedRows {
        /// Whether a buffer says how many there are.
        counted: bool,
        /// Whether to the order of the sort, or as they are.
        ordered: bool,
    },
    /// Looks whether keys are in order.
    OutOfOrder,
}

impl RowsKernel {
    /// All of them, in order.
    pub(super) fn all() -> Vec<Self> {
        let mut all: Vec<_> = [false, true]
            .into_iter()
            .flat_map(|counted| {
                [
                    Self::MovedKeys { counted },
                    Self::TakenCodes {
                        counted,
                        segmented: false,
                    },
                    Self::TakenCodes {
                        counted,
                        segmented: true,
                    },
                    Self::ReturnedCodes { counted },
                    Self::SegmentCodes { counted },
                    Self::Numbers { counted },
                    Self::MovedRows {
                        counted,
                        ordered: false,
                    },
                    Self::MovedRows {
                        counted,
                        ordered: true,
                    },
                ]
            })
            .chain([Self::OutOfOrder])
            .collect();
        all.sort_unstable();
        all
    }

    /// The pieces of its text.
    pub(super) fn pieces(self) -> Pieces {
        const SEGMENTS: &str = shader!("rows/segments.wgsl");
        let count = |counted| {
            if counted {
                shader!("rows/counted.wgsl")
            } else {
                shader!("rows/all.wgsl")
            }
        };
        let (shared, text) = match self {
            Self::MovedKeys { counted } => (vec![count(counted)], shader!("rows/moved_keys.wgsl")),
            Self::TakenCodes { counted, segmented } => {
                let arrays: &[_] = if segmented {
                    &[SEGMENTS, shader!("rows/segmented.wgsl")]
                } else {
                    &[shader!("rows/whole.wgsl")]
                };
                (
                    [&[count(counted)], arrays].concat(),
                    shader!("rows/taken_codes.wgsl"),
                )
            }
            Self::ReturnedCodes { counted } => {
                (vec![count(counted)], shader!("rows/returned_codes.wgsl"))
            }
            Self::SegmentCodes { counted } => (
                vec![count(counted), SEGMENTS],
                shader!("rows/segment_codes.wgsl"),
            ),
            Self::Numbers { counted } => (vec![count(counted)], shader!("rows/numbers.wgsl")),
            Self::MovedRows { counted, ordered } => {
                let order = if ordered {
                    shader!("rows/ordered.wgsl")
                } else {
                    shader!("rows/as_they_are.wgsl")
                };
                (vec![count(counted), order], shader!("rows/moved_rows.wgsl"))
            }
            Self::OutOfOrder => (Vec::new(), shader!("rows/out_of_order.wgsl")),
        };
        Pieces {
            constants: vec![("LANES", LANES)],
            shared,
            ..Pieces::plain(text)
        }
    }

    /// Its name in labels and reports.
    pub(super) fn name(self) -> String {
        let (name, counted) = match self {
            Self::MovedKeys { counted } => ("rows.moved_keys", counted),
            Self::TakenCodes {
                counted,
                segmented: true,
            } => ("rows.taken_codes.segmented", counted),
            Self::TakenCodes {
                counted,
                segmented: false,
            } => ("rows.taken_codes", counted),
            Self::ReturnedCodes { counted } => ("rows.returned_codes", counted),
            Self::SegmentCodes { counted } => ("rows.segment_codes", counted),
            Self::Numbers { counted } => ("rows.numbers", counted),
            Self::MovedRows {
                counted,
                ordered: true,
            } => ("rows.moved_rows.ordered", counted),
            Self::MovedRows {
                counted,
                ordered: false,
            } => ("rows.moved_rows", counted),
            Self::OutOfOrder => ("rows.out_of_order", false),
        };
        format!("{name}{}", if counted { ".counted" } else { "" })
    }
}
