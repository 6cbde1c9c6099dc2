//! The kernels of the sample sort: `shaders/samplesort`.
//!
//! Key types and directions are parameters; the shape of a record and the sizes are constants.

use super::networks::networks;
use super::shape::Shape;
use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, Source, parameters, wgsl};

parameters! {
    /// `samplesort/params.wgsl`.
    SortParams {
        len, first, end,
        segments, whole, source_room, target_room, stage, interval_log2, deviations,
        child, slots, nodes, bins, stride, samples, seed,
        rank_begin, rank_end, rank_segments, offsets_first, skips_done,
        tile, group_tiles, capacity, tiles, items, splitter_words, is_listed, is_spread,
        source_sign_low, source_sign_high, source_flip_low, source_flip_high,
        target_sign_low, target_sign_high, target_flip_low, target_flip_high,
    }
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

impl Partition {
    /// Records that are ordered at once in workgroup memory: at most eight words of each lane, and
    /// one word of each record.
    const fn part(self, shape: Shape) -> u32 {
        min(8 * self.lanes, self.tile) / shape.ordered_words().next_power_of_two()
    }

    /// True if its kernels search records in bins.
    const fn has_bins(self, shape: Shape) -> bool {
        bins(self.nodes, true, shape) > 0
    }
}

/// What `samplesort/table.wgsl` makes of a level's counts: the table of its children, or their room
/// by an estimate; and once the records are moved, the table of children that had room.
pub(super) const COUNTED: u32 = 0;
pub(super) const ROOMS: u32 = 1;
pub(super) const MOVED: u32 = 2;

/// The largest number of tiles that are merged at once: `merge.wgsl` searches in all but one.
pub(crate) const MERGED_TILES: u32 = 16;

/// Lanes of a workgroup that merges tiles.
pub(crate) const MERGE_LANES: u32 = 64;

/// The sizes with which tiles are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSizes {
    /// Records of a tile.
    pub tile: u32,
    /// True if one piece of code serves all column passes over a tile.
    pub is_compact: bool,
    /// True if source and target are the same buffer.
    pub in_place: bool,
    /// True if a tile is partitioned first, as items of a list are.
    pub is_spread: bool,
}

/// The largest number of lanes of a workgroup that sorts a tile of rows.
const LANES_FOR_ROWS: u32 = 256;

/// Records of a tile that a lane sorts: a line.
const LINE: u32 = 16;

const WORKGROUP: Source = wgsl!("lib/workgroup.wgsl");
const PARAMS: Source = wgsl!("samplesort/params.wgsl", "params");
const SEGMENTS: Source = wgsl!("samplesort/segments.wgsl", "segments");
const TREE: Source = wgsl!("samplesort/segments.wgsl", "tree");
const SCAN: Source = wgsl!("lib/scan.wgsl", "sum");
const SCAN_WORDS: Source = wgsl!("lib/scan.wgsl", "words");
const SCAN_MEMORY: Source = wgsl!("lib/scan.wgsl", "memory");
const TILE: Source = wgsl!("samplesort/tile.wgsl");

/// The sections of a file in `samplesort/shape/`.
macro_rules! shape {
    ($path:literal, $key:literal) => {
        (
            vec![
                wgsl!($path, "record"),
                wgsl!("lib/key_map.wgsl", $key),
                WORKGROUP,
                PARAMS,
                wgsl!("samplesort/params.wgsl", "maps"),
            ],
            wgsl!($path, "cells"),
            wgsl!($path, "splitter"),
            wgsl!($path, "ordered"),
        )
    };
}

/// A section of the file for rows.
macro_rules! row {
    ($section:literal) => {
        wgsl!("samplesort/shape/row.wgsl", $section)
    };
}

/// A section of the sort of a tile.
macro_rules! tile_sort {
    ($section:literal) => {
        wgsl!("samplesort/tile_sort.wgsl", $section)
    };
}

/// A section of the cells in registers.
macro_rules! cells {
    ($section:literal) => {
        wgsl!("samplesort/cells.wgsl", $section)
    };
}

/// A section of the choice of splitters.
macro_rules! splitters {
    ($section:literal) => {
        wgsl!("samplesort/splitters.wgsl", $section)
    };
}

/// A section of the bins of a segment.
macro_rules! bins {
    ($section:literal) => {
        wgsl!("samplesort/bins.wgsl", $section)
    };
}

const fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

const fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

/// Words of workgroup memory of a scan of so many values, rounded up to a multiple of 16 bytes.
const fn scan_words(values: u32) -> u32 {
    (values + values / 32 + 32).next_multiple_of(4)
}

/// Words of an array with one more element, rounded up to a multiple of 16 bytes.
const fn with_one_more(words: u32) -> u32 {
    (words + 1).next_multiple_of(4)
}

/// Every kernel with the sizes that the default tunings give on a device with 32 KiB of workgroup
/// memory and workgroups of 1024 lanes. Those of other sizes are not listed.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = Shape::ALL.into_iter().flat_map(of_shape).collect();
    all.extend([0, 1].into_iter().flat_map(of_rows));
    all.sort_unstable();
    all.dedup();
    all
}

fn of_shape(shape: Shape) -> Vec<Kernel> {
    let words = shape.words();
    let largest = 4096 >> words.next_power_of_two().ilog2();
    let most_samples = if words == 3 { 2048 } else { 4096 };
    let mut kernels = vec![merge(shape)];
    let mut partitions = vec![(256, 4096, 512), (512, 4096, 512)];
    partitions.extend(match shape {
        Shape::Word => vec![(256, 8192, 512), (512, 8192, 512), (1024, 8192, 1024)],
        _ => vec![(512, 8192, 1024)],
    });
    for (nodes, tile, lanes) in partitions {
        let of = Partition { nodes, tile, lanes };
        kernels.extend([count(of, false, shape), table(nodes), partition(of, shape)]);
        // Those of the first level of large sorts.
        let is_sampled = match shape {
            Shape::Word => lanes == 512 && tile == 8192,
            _ => true,
        };
        if is_sampled {
            kernels.push(count(of, true, shape));
        }
    }
    for (samples, is_compact) in [(1024, true), (1024, false), (most_samples, false)] {
        kernels.push(splitters(samples, is_compact, shape));
    }
    for (tile, is_compact) in [(1024, true), (1024, false), (largest, false)] {
        kernels.extend([false, true].map(|in_place| {
            let sizes = TileSizes {
                tile,
                is_compact,
                in_place,
                is_spread: false,
            };
            sort(sizes, shape)
        }));
    }
    let spread_tiles: &[u32] = match words {
        1 => &[2048, 4096],
        2 => &[2048],
        _ => &[],
    };
    for &tile in spread_tiles {
        kernels.extend([false, true].map(|in_place| {
            let sizes = TileSizes {
                tile,
                is_compact: false,
                in_place,
                is_spread: true,
            };
            sort(sizes, shape)
        }));
    }
    kernels
}

/// The kernels of a sort by a comparator, for rows of `words` words.
pub(crate) fn of_rows(words: u32) -> Vec<Kernel> {
    let shape = Shape::row(words, false);
    let most_samples = 4096.min(1 << ((8 << 10) / shape.words()).ilog2());
    let of = Partition {
        nodes: 256,
        tile: 4096,
        lanes: 512,
    };
    let mut kernels = vec![table(256), count(of, false, shape), partition(of, shape)];
    kernels.extend([1024, most_samples].map(|samples| splitters(samples, false, shape)));
    kernels.extend([false, true].map(|in_place| {
        let sizes = TileSizes {
            tile: 1024,
            is_compact: false,
            in_place,
            is_spread: false,
        };
        sort(sizes, shape)
    }));
    kernels
}

/// Chooses splitters from at most this many samples, a power of two. In a compact kernel one piece
/// of code serves all column passes over the tile of samples.
#[must_use]
pub fn splitters(samples: u32, is_compact: bool, shape: Shape) -> Kernel {
    let (words, is_row) = (shape.words(), shape.is_row());
    // Tiles of rows have one loop for all passes in any case.
    let is_compact = is_compact && !is_row;
    let lanes = if is_row {
        lanes_for_rows(samples)
    } else {
        samples / LINE
    };
    let of = shape.pieces();
    let mut parts = Parts::new(shape, lanes, &[("SORT_TILE", samples)]);
    parts.files(&[of.source, SEGMENTS, TREE]);
    if is_row {
        parts.constants.push(("CELLS", samples * words));
        parts.files(&[of.cells, row!("sort_tile")]);
    } else {
        let fetched = [tile_sort!("line_order"), tile_sort!("mapped_source")];
        parts.tile_sort(samples, is_compact, false, fetched);
        parts.files(&[match words {
            1 => tile_sort!("tile_load_word"),
            2 => tile_sort!("tile_load_pair"),
            _ => tile_sort!("tile_load_triple"),
        }]);
    }
    parts.files(&[of.splitter]);
    if words <= 2 && !is_compact && !is_row {
        let of_record = match words {
            1 => vec![splitters!("even_words")],
            _ => vec![cells!("bounds"), splitters!("even_pairs")],
        };
        parts.files(&of_record);
        parts.files(&[cells!("near"), splitters!("examined")]);
    } else {
        parts.files(&[splitters!("not_examined")]);
    }
    parts.bins_made();
    parts.files(&[splitters!("splitters")]);
    let compact = if is_compact { ".compact" } else { "" };
    let name = format!("splitters.{samples}{compact}.{}", shape.name());
    parts.kernel(&name, samples * words, Conflicts::WhereItSearches)
}

/// Counts the records of each child: all, or one of each interval.
#[must_use]
pub fn count(of: Partition, is_sampled: bool, shape: Shape) -> Kernel {
    let cells = searched_words(of.nodes, shape);
    let pieces = shape.pieces();
    let constants = [("NODES", of.nodes), ("TILE", of.tile), ("CELLS", cells)];
    let mut parts = Parts::new(shape, of.lanes, &constants);
    parts.files(&[pieces.source, pieces.cells, SEGMENTS, TILE, pieces.splitter]);
    parts.bins_searched(of);
    let find = match shape {
        Shape::Pair => wgsl!("samplesort/count.wgsl", "find_by_keys"),
        _ => wgsl!("samplesort/count.wgsl", "find_by_records"),
    };
    let (counted, sampled) = if is_sampled {
        (wgsl!("samplesort/count.wgsl", "sampled"), ".sampled")
    } else {
        (wgsl!("samplesort/count.wgsl", "all"), "")
    };
    parts.files(&[counted, find, wgsl!("samplesort/count.wgsl", "count")]);
    let Partition { nodes, tile, lanes } = of;
    let name = format!("count.{nodes}.{tile}x{lanes}{sampled}.{}", shape.name());
    let memory = cells + with_one_more(of.nodes);
    parts.kernel(&name, memory, Conflicts::WhereItSearches)
}

/// Moves records to their children.
#[must_use]
pub fn partition(of: Partition, shape: Shape) -> Kernel {
    let pieces = shape.pieces();
    let constants = [
        ("NODES", of.nodes),
        ("TILE", of.tile),
        ("CELLS", partition_cells(of, shape)),
        ("PART", of.part(shape)),
        ("VALUES", of.nodes),
    ];
    let mut parts = Parts::new(shape, of.lanes, &constants);
    parts.files(&[pieces.source, pieces.target, pieces.ordered, pieces.cells]);
    parts.files(&[SEGMENTS, TILE, pieces.splitter, SCAN_WORDS, SCAN]);
    parts.bins_searched(of);
    parts.files(&[wgsl!("samplesort/partition.wgsl")]);
    let name = format!(
        "partition.{}.{}x{}.{}",
        of.nodes,
        of.tile,
        of.lanes,
        shape.name()
    );
    let memory = partition_bytes(of, shape) / 4;
    parts.kernel(&name, memory, Conflicts::WhereItSearches)
}

/// Words of workgroup memory in which records are searched: a tree, and a table of bins.
const fn searched_words(nodes: u32, shape: Shape) -> u32 {
    nodes * shape.words() + bins(nodes, true, shape) / 2
}

/// Bins of a segment of a tree of `nodes` nodes, twice as many where there is one segment; 0 if its
/// records are searched in the tree alone: rows, records of three words, and the only level of a
/// sort that has 1024 nodes.
pub(super) const fn bins(nodes: u32, is_first: bool, shape: Shape) -> u32 {
    match (shape.has_bins() && nodes <= 512, is_first && nodes < 512) {
        (false, _) => 0,
        (true, false) => 8 * nodes,
        (true, true) => 16 * nodes,
    }
}

/// Words of a segment's splitters, and of its bins.
pub(super) const fn splitter_words(nodes: u32, bins: u32, shape: Shape) -> u32 {
    let header = if bins > 0 { 4 } else { 0 };
    nodes * shape.stored_words() + header + bins / 2
}

const fn partition_cells(of: Partition, shape: Shape) -> u32 {
    let searched = searched_words(of.nodes, shape);
    let ordered = of.part(shape) * shape.ordered_words();
    let summed = scan_words(of.nodes);
    max(max(ordered, searched), summed)
}

/// Bytes of workgroup memory of a partition.
pub(super) const fn partition_bytes(of: Partition, shape: Shape) -> u32 {
    let Partition { nodes, tile, .. } = of;
    4 * (partition_cells(of, shape) + with_one_more(nodes) + tile / 16 + nodes)
}

/// Makes the table of children, or the list of items to be sorted, of trees of `nodes` nodes. It
/// gets the number of words of a splitter as a parameter.
#[must_use]
pub fn table(nodes: u32) -> Kernel {
    let constants = [("NODES", nodes), ("VALUES", nodes)];
    let mut parts = Parts::new(Shape::Word, nodes, &constants);
    parts.pieces = Vec::new();
    parts.files(&[
        WORKGROUP,
        PARAMS,
        SEGMENTS,
        TREE,
        SCAN_WORDS,
        SCAN_MEMORY,
        SCAN,
    ]);
    parts.files(&[wgsl!("samplesort/table.wgsl")]);
    let memory = 4 * with_one_more(nodes) + scan_words(nodes) + with_one_more(0);
    let name = format!("table.{nodes}");
    parts.kernel(&name, memory, Conflicts::WhereItSearches)
}

/// Sorts tiles of the input, or the items of a list.
#[must_use]
pub fn sort(sizes: TileSizes, shape: Shape) -> Kernel {
    let (words, is_row) = (shape.words(), shape.is_row());
    let TileSizes { tile, in_place, .. } = sizes;
    // Tiles of rows have one loop for all passes in any case.
    let is_compact = sizes.is_compact && !is_row;
    let lanes = if is_row {
        lanes_for_rows(tile)
    } else {
        tile / LINE
    };
    let of = shape.pieces();
    let mut parts = Parts::new(shape, lanes, &[("SORT_TILE", tile)]);
    let source = match (in_place, shape.has_value()) {
        (true, false) => wgsl!("samplesort/io.wgsl", "in_place_keys"),
        (true, true) => wgsl!("samplesort/io.wgsl", "in_place_pairs"),
        (false, false) => wgsl!("samplesort/io.wgsl", "scratch_keys"),
        (false, true) => wgsl!("samplesort/io.wgsl", "scratch_pairs"),
    };
    parts.files(&[source, of.target]);
    if is_row {
        parts.constants.push(("CELLS", tile * words));
        let sort_tile = row!("sort_tile");
        parts.files(&[of.cells, sort_tile, row!("put_tile")]);
    } else {
        let map = if sizes.is_spread {
            tile_sort!("mapped_source")
        } else {
            tile_sort!("source_to_map")
        };
        let fetched = [tile_sort!("memory_order"), map];
        parts.tile_sort(tile, is_compact, sizes.is_spread, fetched);
        parts.files(&[cells!("put"), tile_sort!("put")]);
    }
    let fetch = if sizes.is_spread {
        wgsl!("samplesort/io.wgsl", "from_own_lane")
    } else {
        wgsl!("samplesort/io.wgsl", "from_any_lane")
    };
    parts.files(&[fetch, wgsl!("samplesort/sort.wgsl")]);
    let compact = if is_compact { ".compact" } else { "" };
    let place = if in_place { ".in_place" } else { "" };
    let spread = if sizes.is_spread { ".spread" } else { "" };
    let name = format!("sort.{tile}{compact}{spread}{place}.{}", shape.name());
    let conflicts = if sizes.is_spread {
        Conflicts::WhereItSearches
    } else {
        Conflicts::None
    };
    parts.kernel(&name, tile * words, conflicts)
}

/// Merges up to 16 sorted tiles.
#[must_use]
pub fn merge(shape: Shape) -> Kernel {
    let of = shape.pieces();
    let mut parts = Parts::new(shape, MERGE_LANES, &[]);
    parts.files(&[of.source, of.target]);
    parts.files(&[wgsl!("samplesort/merge.wgsl")]);
    parts.kernel(
        &format!("merge.{}", shape.name()),
        0,
        Conflicts::WhereItSearches,
    )
}

const fn lanes_for_rows(tile: u32) -> u32 {
    if tile / 2 < LANES_FOR_ROWS {
        tile / 2
    } else {
        LANES_FOR_ROWS
    }
}

/// The parts of a kernel, first those that all kernels of a shape have.
struct Parts {
    shape: Shape,
    constants: Vec<(&'static str, u32)>,
    pieces: Vec<Piece>,
}

impl Parts {
    fn new(shape: Shape, lanes: u32, constants: &[(&'static str, u32)]) -> Self {
        let mut all = vec![("WORDS", shape.stored_words()), ("LANES", lanes)];
        all.extend(constants);
        let mut pieces = Vec::new();
        if let Shape::Row { words, backwards } = shape {
            pieces.push(Piece::Comparator(words, backwards));
        }
        pieces.extend(shape.pieces().record.into_iter().map(Piece::File));
        Self {
            shape,
            constants: all,
            pieces,
        }
    }

    fn files(&mut self, files: &[Source]) {
        self.pieces
            .extend(files.iter().map(|&file| Piece::File(file)));
    }

    /// Adds the making of the bins of a segment.
    fn bins_made(&mut self) {
        self.files(&[bins!("bins")]);
        let made: &[Source] = match (self.shape.has_bins(), self.shape.words()) {
            (false, _) => &[bins!("not_made")],
            (true, 1) => &[bins!("one_word"), bins!("made")],
            (true, _) => &[bins!("two_words"), bins!("made")],
        };
        self.files(made);
    }

    /// Adds the search of records in bins.
    fn bins_searched(&mut self, of: Partition) {
        self.files(&[bins!("bins")]);
        let searched: &[Source] = match (of.has_bins(self.shape), self.shape.words()) {
            (false, _) => &[bins!("not_searched")],
            (true, 1) => &[bins!("one_word"), bins!("searched"), bins!("find_words")],
            (true, _) => &[bins!("two_words"), bins!("searched"), bins!("find_pairs")],
        };
        self.files(searched);
    }

    /// Adds `sort_tile`, which fetches and sorts a tile of `tile` records.
    /// `fetched`: the order in which records are fetched, and whether their keys are mapped then.
    fn tile_sort(&mut self, tile: u32, is_compact: bool, is_spread: bool, fetched: [Source; 2]) {
        let words = self.shape.words();
        let lines = tile / LINE;
        let far_bits = lines.ilog2().saturating_sub(4);
        self.constants.push(("FAR_BITS", far_bits));
        self.files(&[tile_sort!("places")]);
        let arrays: &[Source] = match words {
            1 if is_spread => &[
                tile_sort!("atoms"),
                tile_sort!("word_places"),
                tile_sort!("word_lines"),
                tile_sort!("one_atom"),
            ],
            2 if is_spread => &[
                tile_sort!("words"),
                tile_sort!("atoms"),
                tile_sort!("word_places"),
                tile_sort!("word_lines"),
                tile_sort!("word_and_atom"),
            ],
            1 => &[
                tile_sort!("words"),
                tile_sort!("word_places"),
                tile_sort!("word_lines"),
                tile_sort!("one_word"),
            ],
            2 => &[tile_sort!("pairs"), tile_sort!("two_words")],
            _ => &[
                tile_sort!("pairs"),
                tile_sort!("words"),
                tile_sort!("word_places"),
                tile_sort!("three_words"),
            ],
        };
        self.files(arrays);
        let accesses = match words {
            3 => cells!("in_two_arrays"),
            _ => cells!("in_one_array"),
        };
        self.files(&[cells!("cells"), accesses]);
        self.files(&fetched);
        let write = move || {
            assert!((16..=256).contains(&lines), "{lines} lines");
            networks(words, far_bits, is_compact)
        };
        self.pieces.push(Piece::Written(Box::new(write)));
        let columns = if is_compact {
            tile_sort!("compact")
        } else {
            tile_sort!("unrolled")
        };
        self.files(&[columns, tile_sort!("padding")]);
        if is_spread {
            let of_record = match words {
                1 => wgsl!("samplesort/spread.wgsl", "one_word"),
                _ => wgsl!("samplesort/spread.wgsl", "two_words"),
            };
            let spread = wgsl!("samplesort/spread.wgsl", "spread");
            self.files(&[cells!("bounds"), cells!("spread"), of_record, spread]);
        } else {
            self.files(&[tile_sort!("sort")]);
        }
    }

    /// The kernel with `memory` words of workgroup memory. The size of each variable is rounded up
    /// to a multiple of 16 bytes, as WebGPU does.
    fn kernel(mut self, name: &str, memory: u32, conflicts: Conflicts) -> Kernel {
        if let Shape::Row {
            words: words @ 1.., ..
        } = self.shape
        {
            self.constants.push(("ROW_WORDS", words));
        }
        Definition {
            name: format!("samplesort.{name}").into(),
            variant: "",
            key: KeyType::U32,
            constants: self.constants,
            pieces: self.pieces,
            parameters: SortParams::default().into(),
            workgroup_bytes: 4 * memory,
            conflicts,
        }
        .into()
    }
}

/// What differs by the shape of a record.
struct Pieces {
    /// The record's type, its order, and the parameters.
    record: Vec<Source>,
    /// The record's layout in workgroup memory, and that of splitters.
    cells: Source,
    splitter: Source,
    /// Load and store functions for a record, and for one of an ordered tile.
    source: Source,
    target: Source,
    ordered: Source,
}

impl Shape {
    fn pieces(self) -> Pieces {
        let (source, target) = if self.has_value() {
            (
                wgsl!("samplesort/io.wgsl", "source_pairs"),
                wgsl!("samplesort/io.wgsl", "target_pairs"),
            )
        } else {
            (
                wgsl!("samplesort/io.wgsl", "source_keys"),
                wgsl!("samplesort/io.wgsl", "target_keys"),
            )
        };
        let (record, cells, splitter, ordered) = match self {
            Self::Word => shape!("samplesort/shape/u32.wgsl", "one_word"),
            Self::TwoWords => shape!("samplesort/shape/u64.wgsl", "two_words"),
            Self::Pair => shape!("samplesort/shape/u32_pair.wgsl", "one_word"),
            Self::WidePair => shape!("samplesort/shape/u64_pair.wgsl", "two_words"),
            Self::Row { words, .. } => {
                let (_, cells, splitter, ordered) = shape!("samplesort/shape/u32.wgsl", "one_word");
                let mut record = match words {
                    0 => vec![row!("index"), row!("rows"), row!("compared_index")],
                    1 => vec![row!("beside"), row!("words_1")],
                    2 => vec![row!("beside"), row!("words_2")],
                    3 => vec![row!("beside"), row!("words_3")],
                    _ => vec![row!("beside"), row!("words_4")],
                };
                record.extend([WORKGROUP, PARAMS, row!("no_maps")]);
                match words {
                    // An index is a record of one word.
                    0 => (record, cells, splitter, ordered),
                    _ => (record, row!("cells"), row!("splitter"), ordered),
                }
            }
        };
        Pieces {
            record,
            cells,
            splitter,
            source,
            target,
            ordered,
        }
    }
}
