//! The kernels of the sample sort, and the assembly of their texts.

use super::tile_sort::{Fill, put_tile, rank_in_others, sort_tile, tile_load};
use crate::Comparator;

/// The type of a record: a key of one or two words, with or without a value of one word; or the
/// index of a row, for a custom comparator.
///
/// Keys and values are compared as unsigned words, the most significant word first. The second word
/// of a two-word key is its most significant one; the value is the least significant word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// A key of one word.
    Word,
    /// A key of two words.
    TwoWords,
    /// A key of one word, and a value.
    Pair,
    /// A key of two words, and a value.
    WidePair,
    /// The index of a row.
    Row {
        /// Words of the row that are kept next to its index in registers and in workgroup memory.
        /// With 0, each comparison reads the rows from their buffer.
        words: u32,
        /// True if the comparator's order is reversed.
        backwards: bool,
    },
}

impl Shape {
    /// Every shape with a key.
    pub const ALL: [Self; 4] = [Self::Word, Self::TwoWords, Self::Pair, Self::WidePair];

    /// The shape of records with keys of `key_words` words.
    #[must_use]
    pub const fn new(key_words: u32, has_value: bool) -> Self {
        match (key_words, has_value) {
            (1, false) => Self::Word,
            (1, true) => Self::Pair,
            (_, false) => Self::TwoWords,
            (_, true) => Self::WidePair,
        }
    }

    /// The shape of indices of rows of `words` words.
    #[must_use]
    pub const fn row(words: u32, backwards: bool) -> Self {
        let words = if words <= Comparator::MOST_WORDS_BESIDE {
            words
        } else {
            0
        };
        Self::Row { words, backwards }
    }

    /// Words of a key.
    #[must_use]
    pub const fn key_words(self) -> u32 {
        match self {
            Self::Word | Self::Pair | Self::Row { .. } => 1,
            Self::TwoWords | Self::WidePair => 2,
        }
    }

    /// Returns true if there is a value.
    #[must_use]
    pub const fn has_value(self) -> bool {
        matches!(self, Self::Pair | Self::WidePair)
    }

    /// Words of a record in a buffer.
    #[must_use]
    pub const fn stored_words(self) -> u32 {
        self.key_words() + self.has_value() as u32
    }

    /// Words of a record in registers and in workgroup memory.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::Row { words, .. } => 1 + words,
            _ => self.stored_words(),
        }
    }

    /// The name in labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Word => "u32",
            Self::TwoWords => "u64",
            Self::Pair => "u32_pair",
            Self::WidePair => "u64_pair",
            Self::Row { words, backwards } => match (words, backwards) {
                (0, false) => "rows.ascending",
                (0, true) => "rows.descending",
                (1, false) => "rows_1.ascending",
                (1, true) => "rows_1.descending",
                (2, false) => "rows_2.ascending",
                (2, true) => "rows_2.descending",
                (3, false) => "rows_3.ascending",
                (3, true) => "rows_3.descending",
                (_, false) => "rows_4.ascending",
                (_, true) => "rows_4.descending",
            },
        }
    }
}

/// A kernel of the sample sort. Key types and directions are parameters; the shape of a record and
/// the sizes are constants of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKernel {
    /// The stage of the sort.
    pub stage: Stage,
    /// The type of a record.
    pub shape: Shape,
}

/// A stage of the sample sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Chooses splitters.
    Splitters {
        /// The largest number of samples: a power of two.
        samples: u32,
        /// True if one piece of code serves all column passes over the tile of samples.
        is_compact: bool,
    },
    /// Counts the records of each child.
    Count(Partition),
    /// Moves records to their children.
    Partition(Partition),
    /// Makes the table of children, or the list of items to be sorted.
    Table {
        /// Nodes of a segment's tree.
        nodes: u32,
    },
    /// Sorts tiles of the input, or the items of a list.
    Sort {
        /// Records of a tile.
        tile: u32,
        /// Records per lane: 16, or 32 if a record has one word.
        each: u32,
        /// True if one piece of code serves all column passes over a tile.
        is_compact: bool,
        /// True if source and target are the same buffer.
        in_place: bool,
    },
    /// Merges up to 16 sorted tiles.
    Merge,
}

/// The sizes with which a tile is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Nodes of a segment's tree: the largest number of its children.
    pub nodes: u32,
    /// Records of a tile.
    pub tile: u32,
    /// Lanes of a workgroup: at least `nodes`, and at least a sixteenth of the tile's records.
    pub lanes: u32,
}

/// The largest number of tiles that are merged at once.
pub(crate) const MERGED_TILES: u32 = 16;

/// Records per lane in a sort of many large tiles of one-word records. These are items of a list,
/// and not mapped when they are read. A test for a map costs 0.5 % of a sort of 2^26 on an H200.
pub(crate) const EACH_OF_ITEMS: u32 = 32;

/// Lanes of a workgroup that merges tiles.
pub(crate) const MERGE_LANES: u32 = 64;

/// The parts of a kernel's text.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) constants: Vec<(&'static str, u32)>,
    pub(crate) pieces: Vec<&'static str>,
    /// The generated part: unrolled networks.
    pub(crate) generated: String,
    pub(crate) main: &'static str,
}

/// The largest number of lanes of a workgroup that sorts a tile of rows.
const LANES_FOR_ROWS: u32 = 256;

/// Samples per lane.
const SAMPLES_PER_LANE: u32 = 16;

/// Values of one scan in a partition: the counts of children, or the marks of positions.
const fn scan_values(nodes: u32, tile: u32) -> u32 {
    if nodes > tile / 16 { nodes } else { tile / 16 }
}

/// Words of an array with one more element, rounded up to a multiple of 16 bytes.
const fn with_one_more(words: u32) -> u32 {
    (words + 1).next_multiple_of(4)
}

impl SortKernel {
    /// Every kernel with the sizes that the default tunings give on a device with 32 KiB of
    /// workgroup memory and workgroups of 1024 lanes.
    pub(super) fn all() -> Vec<Self> {
        let of = |shape: Shape| {
            let words = shape.words();
            let tile = 4096 >> words.next_power_of_two().ilog2();
            let samples = if words == 3 { 2048 } else { 4096 };
            let mut stages = Vec::new();
            for (nodes, tile, lanes) in [(256, 4096, 512), (512, 4096, 512), (512, 8192, 1024)] {
                let partition = Partition { nodes, tile, lanes };
                stages.extend([
                    Stage::Count(partition),
                    Stage::Table { nodes },
                    Stage::Partition(partition),
                ]);
            }
            let few = [(1024, true), (1024, false), (samples, false)];
            stages.extend(few.map(|(samples, is_compact)| Stage::Splitters {
                samples,
                is_compact,
            }));
            let many = if words == 1 { EACH_OF_ITEMS } else { 16 };
            for (tile, each, is_compact) in [
                (1024, 16, true),
                (1024, 16, false),
                (tile, 16, false),
                (tile, many, false),
            ] {
                stages.extend([false, true].map(|in_place| Stage::Sort {
                    tile,
                    each,
                    is_compact,
                    in_place,
                }));
            }
            stages.push(Stage::Merge);
            stages.sort_unstable();
            stages.dedup();
            stages.into_iter().map(move |stage| Self::new(stage, shape))
        };
        let mut all: Vec<_> = Shape::ALL.into_iter().flat_map(of).collect();
        all.extend([0, 1].into_iter().flat_map(Self::of_rows));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The kernels of a sort by a comparator, for rows of `words` words.
    pub(crate) fn of_rows(words: u32) -> Vec<Self> {
        let shape = Shape::row(words, false);
        let samples = 4096.min(1 << ((8 << 10) / shape.words()).ilog2());
        let partition = Partition {
            nodes: 256,
            tile: 4096,
            lanes: 512,
        };
        let mut stages = vec![
            Stage::Count(partition),
            Stage::Table { nodes: 256 },
            Stage::Partition(partition),
        ];
        stages.extend([1024, samples].map(|samples| Stage::Splitters {
            samples,
            is_compact: false,
        }));
        stages.extend([false, true].map(|in_place| Stage::Sort {
            tile: 1024,
            each: 16,
            is_compact: false,
            in_place,
        }));
        stages
            .into_iter()
            .map(|stage| Self::new(stage, shape))
            .collect()
    }

    /// The kernel of a stage.
    #[must_use]
    pub const fn new(mut stage: Stage, shape: Shape) -> Self {
        // Tiles of rows have one loop for all passes in any case.
        if let (
            Stage::Sort { is_compact, .. } | Stage::Splitters { is_compact, .. },
            Shape::Row { .. },
        ) = (&mut stage, shape)
        {
            *is_compact = false;
        }
        let shape = match (stage, shape) {
            // The kernel gets the number of words of a splitter as a parameter.
            (Stage::Table { .. }, _) => Shape::Word,
            (_, shape) => shape,
        };
        Self { stage, shape }
    }

    /// Returns true if a custom comparator compares the records.
    #[must_use]
    pub const fn compares_rows(self) -> bool {
        matches!(self.shape, Shape::Row { .. }) && !matches!(self.stage, Stage::Table { .. })
    }

    /// Lanes of a workgroup.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        match self.stage {
            Stage::Count(of) | Stage::Partition(of) => of.lanes,
            Stage::Table { nodes, .. } => nodes,
            Stage::Splitters { samples: tile, .. } | Stage::Sort { tile, .. }
                if self.compares_rows() =>
            {
                if tile / 2 < LANES_FOR_ROWS {
                    tile / 2
                } else {
                    LANES_FOR_ROWS
                }
            }
            Stage::Splitters { samples, .. } => samples / SAMPLES_PER_LANE,
            Stage::Sort { tile, each, .. } => tile / each,
            Stage::Merge => MERGE_LANES,
        }
    }

    /// Bytes of workgroup memory. The size of each variable is rounded up to a multiple of 16, as
    /// WebGPU does.
    #[must_use]
    pub const fn workgroup_bytes(self) -> u32 {
        let words = self.shape.words();
        4 * match self.stage {
            Stage::Splitters { samples, .. } => samples * words,
            Stage::Count(Partition { nodes, .. }) => nodes * words + with_one_more(nodes),
            Stage::Partition(Partition { nodes, tile, .. }) => {
                let cells = if tile > nodes * words {
                    tile
                } else {
                    nodes * words
                };
                cells
                    + 2 * with_one_more(nodes)
                    + (scan_values(nodes, tile) + 64)
                    + tile / 16
                    + nodes
            }
            Stage::Table { nodes, .. } => {
                4 * with_one_more(nodes) + (nodes + 64) + with_one_more(0)
            }
            Stage::Sort { tile, .. } => tile * words,
            Stage::Merge => 0,
        }
    }

    /// Returns true if its accesses may have bank conflicts: where lanes search for splitters, or
    /// access counters and positions that depend on the data.
    #[must_use]
    pub const fn searches(self) -> bool {
        matches!(
            self.stage,
            Stage::Splitters { .. }
                | Stage::Count(_)
                | Stage::Partition(_)
                | Stage::Table { .. }
                | Stage::Merge
        )
    }

    /// Its name in labels and reports.
    #[must_use]
    pub fn name(self) -> String {
        let shape = self.shape.name();
        match self.stage {
            Stage::Splitters {
                samples,
                is_compact,
            } => format!(
                "samplesort.splitters.{samples}{}.{shape}",
                if is_compact { ".compact" } else { "" }
            ),
            Stage::Count(of) => format!("samplesort.count.{}.{}.{shape}", of.nodes, of.tile),
            Stage::Partition(of) => {
                format!("samplesort.partition.{}.{}.{shape}", of.nodes, of.tile)
            }
            Stage::Table { nodes } => format!("samplesort.table.{nodes}"),
            Stage::Sort {
                tile,
                each,
                is_compact,
                in_place,
            } => format!(
                "samplesort.sort.{tile}x{each}{}{}.{shape}",
                if is_compact { ".compact" } else { "" },
                if in_place { ".in_place" } else { "" }
            ),
            Stage::Merge => format!("samplesort.merge.{shape}"),
        }
    }

    #[allow(clippy::too_many_lines)]
    pub(crate) fn text(self) -> Text {
        const SEGMENTS: &str = shader!("samplesort/segments.wgsl");
        const TREE: &str = shader!("samplesort/tree.wgsl");
        const SCAN: &str = shader!("samplesort/scan.wgsl");
        const TILE: &str = shader!("samplesort/tile.wgsl");
        let words = self.shape.words();
        let pieces = self.shape.pieces();
        let RecordPieces {
            cells,
            splitter,
            source,
            target,
            word,
            ..
        } = pieces;
        let mut text = Text {
            constants: vec![
                ("WORDS", self.shape.stored_words()),
                ("LANES", self.lanes()),
            ],
            pieces: pieces.record,
            ..Text::default()
        };
        match self.stage {
            Stage::Splitters {
                samples,
                is_compact,
            } => {
                text.constants.push(("SORT_TILE", samples));
                text.pieces.extend([source, SEGMENTS, TREE]);
                if self.compares_rows() {
                    text.constants.push(("CELLS", samples * words));
                    text.pieces
                        .extend([cells, shader!("samplesort/rows/sort_tile.wgsl")]);
                } else {
                    text.generated =
                        sort_tile(words, samples, SAMPLES_PER_LANE, is_compact, Fill::Samples);
                    text.generated += &tile_load(words, samples, SAMPLES_PER_LANE);
                }
                text.main = shader!("samplesort/splitters.wgsl");
            }
            Stage::Count(of) => {
                text.constants.extend([
                    ("NODES", of.nodes),
                    ("TILE", of.tile),
                    ("CELLS", of.nodes * words),
                ]);
                text.pieces
                    .extend([source, cells, SEGMENTS, TILE, splitter]);
                text.main = shader!("samplesort/count.wgsl");
            }
            Stage::Partition(of) => {
                text.constants.extend([
                    ("NODES", of.nodes),
                    ("TILE", of.tile),
                    ("CELLS", of.tile.max(of.nodes * words)),
                    ("VALUES", scan_values(of.nodes, of.tile)),
                ]);
                text.pieces
                    .extend([source, target, word, cells, SEGMENTS, TILE, splitter, SCAN]);
                text.main = shader!("samplesort/partition.wgsl");
            }
            Stage::Table { nodes } => {
                text.constants.extend([("NODES", nodes), ("VALUES", nodes)]);
                text.pieces = vec![shader!("samplesort/params.wgsl"), SEGMENTS, TREE, SCAN];
                text.main = shader!("samplesort/table.wgsl");
            }
            Stage::Sort {
                tile,
                each,
                is_compact,
                in_place,
            } => {
                text.constants.push(("SORT_TILE", tile));
                let has_value = self.shape.has_value();
                let source = match (in_place, has_value) {
                    (true, false) => shader!("samplesort/io/in_place_keys.wgsl"),
                    (true, true) => shader!("samplesort/io/in_place_pairs.wgsl"),
                    (false, false) => shader!("samplesort/io/scratch_keys.wgsl"),
                    (false, true) => shader!("samplesort/io/scratch_pairs.wgsl"),
                };
                text.pieces.extend([source, target]);
                if self.compares_rows() {
                    text.constants.push(("CELLS", tile * words));
                    text.pieces.extend([
                        cells,
                        shader!("samplesort/rows/sort_tile.wgsl"),
                        shader!("samplesort/rows/put_tile.wgsl"),
                    ]);
                } else {
                    let fill = if each == EACH_OF_ITEMS {
                        Fill::Rows
                    } else {
                        Fill::MappedRows
                    };
                    text.generated = sort_tile(words, tile, each, is_compact, fill);
                    text.generated += &put_tile(words, tile, each);
                }
                text.main = shader!("samplesort/sort.wgsl");
            }
            Stage::Merge => {
                text.pieces.extend([source, target]);
                text.generated = rank_in_others(MERGED_TILES - 1);
                text.main = shader!("samplesort/merge.wgsl");
            }
        }
        if let Shape::Row {
            words: words @ 1..,
            backwards: _,
        } = self.shape
        {
            text.constants.push(("ROW_WORDS", words));
        }
        text
    }
}

/// Pieces of text that differ by the shape of a record.
struct RecordPieces {
    /// The record's type, its order, and the parameters.
    record: Vec<&'static str>,
    /// The record's layout in workgroup memory, and that of splitters.
    cells: &'static str,
    splitter: &'static str,
    /// Load and store functions for a record, and for one word of it.
    source: &'static str,
    target: &'static str,
    word: &'static str,
}

impl Shape {
    #[allow(clippy::too_many_lines)]
    fn pieces(self) -> RecordPieces {
        const PARAMS: &str = shader!("samplesort/params.wgsl");
        const MAPS: &str = shader!("samplesort/maps.wgsl");
        const KEY_1: &str = shader!("samplesort/key_1.wgsl");
        const KEY_2: &str = shader!("samplesort/key_2.wgsl");
        const RECORD_2: &str = shader!("samplesort/record_2.wgsl");
        let (cells, splitter) = match self.words() {
            1 => (
                shader!("samplesort/cells_1.wgsl"),
                shader!("samplesort/splitter_1.wgsl"),
            ),
            2 => (
                shader!("samplesort/cells_2.wgsl"),
                shader!("samplesort/splitter_2.wgsl"),
            ),
            _ => (
                shader!("samplesort/cells_3.wgsl"),
                shader!("samplesort/splitter_3.wgsl"),
            ),
        };
        let (source, target) = if self.has_value() {
            (
                shader!("samplesort/io/source_pairs.wgsl"),
                shader!("samplesort/io/target_pairs.wgsl"),
            )
        } else {
            (
                shader!("samplesort/io/source_keys.wgsl"),
                shader!("samplesort/io/target_keys.wgsl"),
            )
        };
        let pieces = |record, word| RecordPieces {
            record,
            cells,
            splitter,
            source,
            target,
            word,
        };
        match self {
            Self::Word => pieces(
                vec![
                    shader!("samplesort/record_1.wgsl"),
                    KEY_1,
                    shader!("samplesort/shape/word.wgsl"),
                    PARAMS,
                    MAPS,
                ],
                shader!("samplesort/io/word_to_word.wgsl"),
            ),
            Self::TwoWords => pieces(
                vec![
                    RECORD_2,
                    KEY_2,
                    shader!("samplesort/shape/two_words.wgsl"),
                    PARAMS,
                    MAPS,
                ],
                shader!("samplesort/io/word_to_two_words.wgsl"),
            ),
            Self::Pair => pieces(
                vec![
                    RECORD_2,
                    KEY_1,
                    shader!("samplesort/shape/pair.wgsl"),
                    PARAMS,
                    MAPS,
                ],
                shader!("samplesort/io/word_to_pair.wgsl"),
            ),
            Self::WidePair => pieces(
                vec![
                    shader!("samplesort/record_3.wgsl"),
                    KEY_2,
                    shader!("samplesort/shape/wide_pair.wgsl"),
                    PARAMS,
                    MAPS,
                ],
                shader!("samplesort/io/word_to_wide_pair.wgsl"),
            ),
            Self::Row { words, .. } => {
                let mut record = if words == 0 {
                    vec![shader!("samplesort/rows/index.wgsl")]
                } else {
                    vec![shader!("samplesort/rows/record_beside.wgsl")]
                };
                match words {
                    0 => record.extend([
                        shader!("samplesort/rows/rows.wgsl"),
                        shader!("samplesort/rows/compared_index.wgsl"),
                    ]),
                    1 => record.push(shader!("samplesort/rows/words_1.wgsl")),
                    2 => record.push(shader!("samplesort/rows/words_2.wgsl")),
                    3 => record.push(shader!("samplesort/rows/words_3.wgsl")),
                    _ => record.push(shader!("samplesort/rows/words_4.wgsl")),
                }
                record.extend([PARAMS, shader!("samplesort/no_maps.wgsl")]);
                let pieces = pieces(record, shader!("samplesort/io/word_to_word.wgsl"));
                if words == 0 {
                    return pieces;
                }
                RecordPieces {
                    cells: shader!("samplesort/rows/cells_beside.wgsl"),
                    splitter: shader!("samplesort/rows/splitter.wgsl"),
                    ..pieces
                }
            }
        }
    }
}
