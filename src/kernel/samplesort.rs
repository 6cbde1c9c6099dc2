//! The kernels of the sample sort: which there are, and how their texts are put together.

use super::tile_sort::{rank_in_others, tile_sort};

/// What a record is: a key of one or two words, and maybe a value of one, by which equal keys are
/// ordered.
///
/// Records are compared as unsigned words, the most significant one first: of a key of two words
/// the second; the value last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// A key of one word.
    Word,
    /// A key of two.
    TwoWords,
    /// A key of one, and a value.
    Pair,
    /// A key of two, and a value.
    WidePair,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Word, Self::TwoWords, Self::Pair, Self::WidePair];

    /// The shape of records with keys of so many words.
    #[must_use]
    pub const fn new(key_words: u32, has_value: bool) -> Self {
        match (key_words, has_value) {
            (1, false) => Self::Word,
            (1, true) => Self::Pair,
            (_, false) => Self::TwoWords,
            (_, true) => Self::WidePair,
        }
    }

    /// Words of a key.
    #[must_use]
    pub const fn key_words(self) -> u32 {
        match self {
            Self::Word | Self::Pair => 1,
            Self::TwoWords | Self::WidePair => 2,
        }
    }

    /// Whether there is a value.
    #[must_use]
    pub const fn has_value(self) -> bool {
        matches!(self, Self::Pair | Self::WidePair)
    }

    /// Words of a record.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.key_words() + self.has_value() as u32
    }

    /// The name in labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Word => "u32",
            Self::TwoWords => "u64",
            Self::Pair => "u32_pair",
            Self::WidePair => "u64_pair",
        }
    }
}

/// A kernel of the sample sort. Types and directions are parameters; the shape of a record, and
/// sizes, are in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKernel {
    /// What it does.
    pub stage: Stage,
    /// What a record is.
    pub shape: Shape,
}

/// What a kernel of the sample sort does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Chooses splitters.
    Splitters {
        /// Nodes of a segment's tree, and so its most children.
        nodes: u32,
        /// Samples, at the most.
        samples: u32,
        /// Lanes of a workgroup.
        lanes: u32,
    },
    /// Counts what each child has.
    Count(Partition),
    /// Moves records to their children.
    Partition(Partition),
    /// Makes the table of children, or the list of what is to be sorted.
    Table {
        /// Nodes of a segment's tree.
        nodes: u32,
    },
    /// Sorts tiles of the input, or items of the list.
    Sort {
        /// Records of a tile.
        tile: u32,
        /// Records of a lane: 16 or 32.
        each: u32,
        /// Whether there is a list of items.
        listed: bool,
        /// Whether records stay in their buffer.
        in_place: bool,
    },
    /// Merges sorted tiles.
    Merge {
        /// Tiles, at the most.
        tiles: u32,
    },
}

/// How a tile is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Nodes of a segment's tree, and so its most children.
    pub nodes: u32,
    /// Records of a tile.
    pub tile: u32,
    /// Lanes of a workgroup: no fewer than nodes, nor than a sixteenth of the tile's records.
    pub lanes: u32,
}

/// Lanes of a workgroup that merges tiles.
pub(crate) const MERGE_LANES: u32 = 64;

/// The parts of a kernel's text.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) constants: Vec<(&'static str, u32)>,
    pub(crate) pieces: Vec<&'static str>,
    /// What is written out.
    pub(crate) made: String,
    pub(crate) main: &'static str,
}

/// Values whose prefix sums a partition needs at once: counts of children, and marks of places.
const fn values(nodes: u32, tile: u32) -> u32 {
    if nodes > tile / 16 { nodes } else { tile / 16 }
}

/// Words of a variable of one word more, as they are counted.
const fn and_one(words: u32) -> u32 {
    (words + 1).next_multiple_of(4)
}

impl SortKernel {
    /// Every kernel with the sizes that the default tunings come to on a device with 32 KiB of
    /// workgroup memory and workgroups of 1024 lanes.
    pub(super) fn all() -> Vec<Self> {
        let of = |shape: Shape| {
            let words = shape.words();
            let tile = 4096 >> words.next_power_of_two().ilog2();
            let samples = if words == 3 { 2048 } else { 4096 };
            let mut stages = Vec::new();
            for (nodes, tile, lanes, samples) in [
                (256, 4096, 512, samples),
                (512, 4096, 512, samples),
                (512, 8192, 1024, samples),
                (256, 2048, 256, 1024),
            ] {
                let partition = Partition { nodes, tile, lanes };
                stages.extend([
                    Stage::Splitters {
                        nodes,
                        samples,
                        lanes: 1024.min(samples / 2),
                    },
                    Stage::Count(partition),
                    Stage::Table { nodes },
                    Stage::Partition(partition),
                ]);
            }
            let mut sorts = vec![(1024, 16, false), (1024, 16, true), (tile, 16, false)];
            sorts.push((tile, if words == 1 { 32 } else { 16 }, true));
            sorts.sort_unstable();
            sorts.dedup();
            for (tile, each, listed) in sorts {
                stages.extend([false, true].map(|in_place| Stage::Sort {
                    tile,
                    each,
                    listed,
                    in_place,
                }));
            }
            stages.extend([4, 16].map(|tiles| Stage::Merge { tiles }));
            stages.sort_unstable();
            stages.dedup();
            stages.into_iter().map(move |stage| Self { stage, shape })
        };
        let mut all: Vec<_> = Shape::ALL.into_iter().flat_map(of).collect();
        all.sort_unstable();
        all
    }

    /// Lanes of a workgroup.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        match self.stage {
            Stage::Splitters { lanes, .. } => lanes,
            Stage::Count(of) | Stage::Partition(of) => of.lanes,
            Stage::Table { nodes, .. } => nodes,
            Stage::Sort { tile, each, .. } => tile / each,
            Stage::Merge { .. } => MERGE_LANES,
        }
    }

    /// Bytes of workgroup memory. Each variable is rounded up to a multiple of 16, as WebGPU counts.
    #[must_use]
    pub const fn workgroup_bytes(self) -> u32 {
        let words = self.shape.words();
        4 * match self.stage {
            Stage::Splitters { samples, .. } => samples * words,
            Stage::Count(Partition { nodes, .. }) => nodes * words + and_one(nodes),
            Stage::Partition(Partition { nodes, tile, .. }) => {
                let cells = if tile > nodes * words {
                    tile
                } else {
                    nodes * words
                };
                cells + 2 * and_one(nodes) + (values(nodes, tile) + 64) + tile / 16 + nodes
            }
            Stage::Table { nodes, .. } => 4 * and_one(nodes) + (nodes + 64) + and_one(0),
            Stage::Sort { tile, .. } => tile * words,
            Stage::Merge { .. } => 0,
        }
    }

    /// Whether lanes meet in banks, as the data leads them: where splitters are searched for, or
    /// counters and places are theirs.
    #[must_use]
    pub const fn searches(self) -> bool {
        matches!(
            self.stage,
            Stage::Splitters { .. }
                | Stage::Count(_)
                | Stage::Partition(_)
                | Stage::Table { .. }
                | Stage::Merge { .. }
        )
    }

    /// Its name in labels and reports.
    #[must_use]
    pub fn name(self) -> String {
        let shape = self.shape.name();
        match self.stage {
            Stage::Splitters { nodes, samples, .. } => {
                format!("samplesort.splitters.{nodes}.{samples}.{shape}")
            }
            Stage::Count(of) => format!("samplesort.count.{}.{}.{shape}", of.nodes, of.tile),
            Stage::Partition(of) => {
                format!("samplesort.partition.{}.{}.{shape}", of.nodes, of.tile)
            }
            Stage::Table { nodes } => format!("samplesort.table.{nodes}.{shape}"),
            Stage::Sort {
                tile,
                each,
                listed,
                in_place,
            } => format!(
                "samplesort.sort{}.{tile}x{each}{}.{shape}",
                if listed { "_items" } else { "_tiles" },
                if in_place { ".in_place" } else { "" }
            ),
            Stage::Merge { tiles } => format!("samplesort.merge.{tiles}.{shape}"),
        }
    }

    pub(crate) fn text(self) -> Text {
        const SEGMENTS: &str = shader!("samplesort/segments.wgsl");
        const TREE: &str = shader!("samplesort/tree.wgsl");
        const SCAN: &str = shader!("samplesort/scan.wgsl");
        const TILE: &str = shader!("samplesort/tile.wgsl");
        let words = self.shape.words();
        let (record, cells, splitter) = match words {
            1 => (
                shader!("samplesort/record_1.wgsl"),
                shader!("samplesort/cells_1.wgsl"),
                shader!("samplesort/splitter_1.wgsl"),
            ),
            2 => (
                shader!("samplesort/record_2.wgsl"),
                shader!("samplesort/cells_2.wgsl"),
                shader!("samplesort/splitter_2.wgsl"),
            ),
            _ => (
                shader!("samplesort/record_3.wgsl"),
                shader!("samplesort/cells_3.wgsl"),
                shader!("samplesort/splitter_3.wgsl"),
            ),
        };
        let key = match self.shape {
            Shape::Word | Shape::Pair => shader!("samplesort/key_1.wgsl"),
            Shape::TwoWords | Shape::WidePair => shader!("samplesort/key_2.wgsl"),
        };
        let shape = match self.shape {
            Shape::Word => shader!("samplesort/shape/word.wgsl"),
            Shape::TwoWords => shader!("samplesort/shape/two_words.wgsl"),
            Shape::Pair => shader!("samplesort/shape/pair.wgsl"),
            Shape::WidePair => shader!("samplesort/shape/wide_pair.wgsl"),
        };
        let (source, target) = if self.shape.has_value() {
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
        let mut text = Text {
            constants: vec![("WORDS", words), ("LANES", self.lanes())],
            pieces: vec![record, key, shape, shader!("samplesort/params.wgsl")],
            ..Text::default()
        };
        match self.stage {
            Stage::Splitters { nodes, samples, .. } => {
                text.constants.extend([
                    ("NODES", nodes),
                    ("SAMPLES", samples),
                    ("CELLS", samples * words),
                ]);
                text.pieces.extend([source, cells, SEGMENTS, TREE]);
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
                    ("VALUES", values(of.nodes, of.tile)),
                ]);
                let word = match self.shape {
                    Shape::Word => shader!("samplesort/io/word_to_word.wgsl"),
                    Shape::TwoWords => shader!("samplesort/io/word_to_two_words.wgsl"),
                    Shape::Pair => shader!("samplesort/io/word_to_pair.wgsl"),
                    Shape::WidePair => shader!("samplesort/io/word_to_wide_pair.wgsl"),
                };
                text.pieces
                    .extend([source, target, word, cells, SEGMENTS, TILE, splitter, SCAN]);
                text.main = shader!("samplesort/partition.wgsl");
            }
            Stage::Table { nodes } => {
                text.constants.extend([("NODES", nodes), ("VALUES", nodes)]);
                text.pieces.extend([SEGMENTS, TREE, splitter, SCAN]);
                text.main = shader!("samplesort/table.wgsl");
            }
            Stage::Sort {
                tile,
                each,
                listed,
                in_place,
            } => {
                text.constants.push(("SORT_TILE", tile));
                let has_value = self.shape.has_value();
                text.pieces.extend(match (in_place, listed, has_value) {
                    (true, _, false) => vec![shader!("samplesort/io/in_place_keys.wgsl")],
                    (true, _, true) => vec![shader!("samplesort/io/in_place_pairs.wgsl")],
                    (false, false, _) => vec![source, target],
                    (false, true, false) => {
                        vec![shader!("samplesort/io/scratch_keys.wgsl"), target]
                    }
                    (false, true, true) => {
                        vec![shader!("samplesort/io/scratch_pairs.wgsl"), target]
                    }
                });
                text.pieces.push(if listed {
                    shader!("samplesort/items.wgsl")
                } else {
                    shader!("samplesort/tiles.wgsl")
                });
                text.made = tile_sort(words, tile, each);
                text.main = shader!("samplesort/sort.wgsl");
            }
            Stage::Merge { tiles } => {
                text.pieces.extend([source, target]);
                text.made = rank_in_others(tiles - 1);
                text.main = shader!("samplesort/merge.wgsl");
            }
        }
        text
    }
}
