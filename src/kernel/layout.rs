//! The kernels before and after a sort of 32-bit words. Neither the key type nor the order changes
//! a kernel: both are parameters.

use super::{PARAMETER_BLOCK, Pieces};

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Keys, or words of rows, per workgroup that encodes, decodes or moves.
pub(crate) const MOVED: u32 = 8 * LANES;

/// Bins of a counting sort per workgroup that scans.
pub(crate) const BINS: u32 = 8 * LANES;

/// Keys per workgroup of a histogram, and the slots of workgroup memory that count them.
pub(crate) const COUNTED: u32 = 32 * LANES;
const SLOTS: u32 = 1024;

/// A kernel that runs before or after a sort of words, or `is_sorted`; see `shaders/layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayoutKernel {
    /// Copies the number of records from a GPU buffer to the parameters of all dispatches.
    SetCount,
    /// Composes the records of a sort of words.
    EncodeKeys {
        /// Words of a key.
        words: u32,
        /// True if the upper word of a record is its segment.
        segmented: bool,
        /// True if records have a value: the index, or the low word of a 64-bit key in a segment.
        valued: bool,
    },
    /// Composes the records of the second pass of a segmented argsort of 64-bit keys.
    EncodeSegments,
    /// Decodes keys of 8, 16 or 32 bits from sorted words.
    DecodeKeys,
    /// Decodes keys of 8 or 16 bits from the result of a counting sort.
    DecodeCounts,
    /// Decodes keys of 64 bits from sorted words.
    DecodeWideKeys {
        /// True if the low words are the values of the records.
        segmented: bool,
    },
    /// Gathers payload rows in sorted order.
    Gather,
    /// Copies words.
    Copy,
    /// Writes 0, 1, 2 and so on.
    Iota,
    /// Writes zeros.
    Clear,
    /// Counting sort: the histogram of the keys.
    CountKeys,
    /// Counting sort: inclusive prefix sums of each workgroup's bins.
    ScanCounts,
    /// Counting sort: inclusive prefix sums of all bins.
    AddGroupSums,
    /// `is_sorted`: finds the first key that is out of order.
    IsSorted {
        /// Words of a key.
        words: u32,
    },
}

impl LayoutKernel {
    /// Every kernel, in order.
    pub(super) const ALL: [Self; 22] = [
        Self::SetCount,
        Self::encode_keys(1, false, false),
        Self::encode_keys(1, false, true),
        Self::encode_keys(1, true, false),
        Self::encode_keys(1, true, true),
        Self::encode_keys(2, false, false),
        Self::encode_keys(2, false, true),
        Self::encode_keys(2, true, true),
        Self::EncodeSegments,
        Self::DecodeKeys,
        Self::DecodeCounts,
        Self::DecodeWideKeys { segmented: false },
        Self::DecodeWideKeys { segmented: true },
        Self::Gather,
        Self::Copy,
        Self::Iota,
        Self::Clear,
        Self::CountKeys,
        Self::ScanCounts,
        Self::AddGroupSums,
        Self::IsSorted { words: 1 },
        Self::IsSorted { words: 2 },
    ];

    const fn encode_keys(words: u32, segmented: bool, valued: bool) -> Self {
        Self::EncodeKeys {
            words,
            segmented,
            valued,
        }
    }

    /// Bytes of workgroup memory.
    pub(super) const fn workgroup_bytes(self) -> u32 {
        match self {
            Self::CountKeys => 4 * 2 * SLOTS,
            Self::ScanCounts | Self::AddGroupSums => 4 * LANES,
            _ => 0,
        }
    }

    /// Returns true if the keys determine which cells of workgroup memory the lanes access.
    pub(super) const fn searches(self) -> bool {
        matches!(self, Self::CountKeys)
    }

    /// The pieces of its text.
    #[allow(clippy::too_many_lines)]
    pub(super) fn pieces(self) -> Pieces {
        const KEY_MAP: &str = shader!("layout/key_map.wgsl");
        const LOAD_KEYS: &str = shader!("layout/load_keys.wgsl");
        const LOAD_WIDE_KEYS: &str = shader!("layout/load_wide_keys.wgsl");
        const SEGMENTS: &str = shader!("layout/segments.wgsl");
        const STORE_VALUES: &str = shader!("layout/store_values.wgsl");
        const SCAN: &str = shader!("layout/scan.wgsl");
        const EACH_ITEM: &str = shader!("layout/each_item.wgsl");
        let mut constants = vec![("LANES", LANES)];
        let (mut shared, text) = match self {
            Self::SetCount => {
                constants.push(("BLOCK", PARAMETER_BLOCK / 4));
                (vec![], shader!("layout/set_count.wgsl"))
            }
            Self::EncodeKeys {
                words,
                segmented,
                valued,
            } => {
                constants.push(("KEY_WORDS", words));
                let mut shared = vec![EACH_ITEM, KEY_MAP];
                shared.push(if words == 1 {
                    LOAD_KEYS
                } else {
                    LOAD_WIDE_KEYS
                });
                if segmented {
                    shared.push(SEGMENTS);
                }
                shared.push(if valued {
                    STORE_VALUES
                } else {
                    shader!("layout/store_no_values.wgsl")
                });
                shared.push(match (words, segmented) {
                    (1, false) => shader!("layout/store_keys.wgsl"),
                    (1, true) => shader!("layout/store_segment_keys.wgsl"),
                    (_, false) => shader!("layout/store_wide_keys.wgsl"),
                    (_, true) => shader!("layout/store_segment_wide_keys.wgsl"),
                });
                (shared, shader!("layout/encode_keys.wgsl"))
            }
            Self::EncodeSegments => (
                vec![EACH_ITEM, SEGMENTS, STORE_VALUES],
                shader!("layout/encode_segments.wgsl"),
            ),
            Self::DecodeKeys | Self::DecodeCounts => {
                constants.push(("KEY_WORDS", 1));
                let keys = match self {
                    Self::DecodeCounts => shader!("layout/keys_of_counts.wgsl"),
                    _ => shader!("layout/keys_of_words.wgsl"),
                };
                (
                    vec![EACH_ITEM, KEY_MAP, keys],
                    shader!("layout/decode_keys.wgsl"),
                )
            }
            Self::DecodeWideKeys { segmented } => {
                constants.push(("KEY_WORDS", 2));
                let low_words = if segmented {
                    shader!("layout/low_words_of_values.wgsl")
                } else {
                    shader!("layout/low_words.wgsl")
                };
                (
                    vec![EACH_ITEM, KEY_MAP, low_words],
                    shader!("layout/decode_wide_keys.wgsl"),
                )
            }
            Self::Gather => (
                vec![EACH_ITEM, shader!("layout/row_by_index.wgsl")],
                shader!("layout/gather.wgsl"),
            ),
            Self::Copy => (
                vec![EACH_ITEM, shader!("layout/row_in_place.wgsl")],
                shader!("layout/gather.wgsl"),
            ),
            Self::Iota => (vec![EACH_ITEM], shader!("layout/iota.wgsl")),
            Self::Clear => (vec![EACH_ITEM], shader!("layout/clear.wgsl")),
            Self::CountKeys => {
                constants.extend([("COUNTED", COUNTED), ("SLOTS", SLOTS)]);
                (vec![], shader!("layout/count_keys.wgsl"))
            }
            Self::ScanCounts => {
                constants.push(("KEY_WORDS", 1));
                (vec![KEY_MAP, SCAN], shader!("layout/scan_counts.wgsl"))
            }
            Self::AddGroupSums => (vec![SCAN], shader!("layout/add_group_sums.wgsl")),
            Self::IsSorted { words } => {
                constants.push(("KEY_WORDS", words));
                let load_keys = if words == 1 {
                    LOAD_KEYS
                } else {
                    LOAD_WIDE_KEYS
                };
                (vec![KEY_MAP, load_keys], shader!("layout/is_sorted.wgsl"))
            }
        };
        shared.extend((self != Self::SetCount).then_some(shader!("layout/params.wgsl")));
        Pieces {
            constants,
            shared,
            ..Pieces::plain(text)
        }
    }

    /// Its name in labels and reports.
    pub(super) fn name(self) -> String {
        let name = match self {
            Self::SetCount => "set_count",
            Self::EncodeKeys {
                words,
                segmented,
                valued,
            } => {
                let segment = if segmented { ".segment" } else { "" };
                let value = match (words, segmented, valued) {
                    (_, _, false) | (2, true, _) => "",
                    _ => ".index",
                };
                return format!("layout.encode_keys{segment}.{words}w{value}");
            }
            Self::EncodeSegments => "encode_segments",
            Self::DecodeKeys => "decode_keys",
            Self::DecodeCounts => "decode_keys.counts",
            Self::DecodeWideKeys { segmented: false } => "decode_wide_keys",
            Self::DecodeWideKeys { segmented: true } => "decode_wide_keys.segment",
            Self::Gather => "gather",
            Self::Copy => "copy",
            Self::Iota => "iota",
            Self::Clear => "clear",
            Self::CountKeys => "count_keys",
            Self::ScanCounts => "scan_counts",
            Self::AddGroupSums => "add_group_sums",
            Self::IsSorted { words } => return format!("layout.is_sorted.{words}w"),
        };
        format!("layout.{name}")
    }
}
