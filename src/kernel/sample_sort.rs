//! The pieces of the sample sort's kernels.

use super::{
    DESTINATION, IN_PLACE, IN_ROWS, Keys, MERGE_LANES, OUT_OF_PLACE, Pieces, SOURCE, SUM_LANES,
};
use crate::algorithm::{MOST_SAMPLE_BUCKETS, Merges, W, cells, partition_bytes, tile_bytes};
use crate::network::Network;
use crate::{KeyType, Payload};

/// What a workgroup sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    /// Records: 1024 to 8192, a power of two.
    pub records: u32,
    /// The form of its merges in the text.
    pub merges: Merges,
}

impl std::fmt::Display for Tile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = match self.merges {
            Merges::WrittenOut => "",
            Merges::Looped => ".looped",
            Merges::Compact => ".compact",
            Merges::Stages => ".stages",
        };
        write!(f, "{}{form}", self.records)
    }
}

/// One kernel of the sample sort, before it is specialised to a key type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SampleSortKernel {
    /// Sorts each tile of the input.
    SortedTiles {
        /// Records of a tile: 1024 to 8192, a power of two.
        tile: Tile,
        /// Whether records stay in their buffers, or are read from one and written to another.
        in_place: bool,
    },
    /// Sorts the only tile, wherever its keys lie, and moves what goes with them.
    PlacedTile {
        /// Records of the tile.
        tile: Tile,
        /// Whether it is rows that the keys are fields of.
        in_rows: bool,
    },
    /// Sorts each tile of narrow keys, and counts how many of each kind it has.
    CountedTiles {
        /// Records of a tile.
        tile: Tile,
    },
    /// Merges all sorted tiles.
    MergedTiles {
        /// The most tiles: a power of two, 2 to 16.
        tiles: u32,
    },
    /// Sorts each tile of the input in place, and ranks splitters in it.
    RankedTiles {
        /// Records of a tile.
        tile: Tile,
    },
    /// Chooses the splitters of each bucket.
    SampleSplitters {
        /// Samples of a bucket, at the most: 1024 to 8192, a power of two.
        samples: Tile,
    },
    /// Adds up each splitter's ranks in all tiles.
    RowSums,
    /// Where buckets begin, and their tiles.
    BucketTable,
    /// Gathers the tiles of each bucket, and sorts them.
    BucketTiles {
        /// Records of a tile.
        tile: Tile,
    },
    /// Partitions each tile by its bucket's splitters, in place unless keys stay, and ranks these.
    PartitionedTiles {
        /// Records of a tile.
        tile: Tile,
        /// Children of a bucket at the most, a power of two.
        children: u32,
        /// Whether the records are the input's, all of one bucket, and indices are yet to be made.
        first: bool,
    },
    /// Gathers the tiles of each bucket.
    GatheredTiles {
        /// Records of a tile, a power of two from 1024 on.
        tile: u32,
    },
    /// Adds up each bucket's ranks, and packs its children into groups that fit a tile.
    PackedChildren {
        /// Children of a bucket at the most, a power of two.
        children: u32,
    },
    /// Ranks each splitter in the tiles of its bucket.
    SplitterRanks {
        /// Lanes of a workgroup: tiles that are searched at the same time.
        lanes: u32,
    },
    /// Gathers the children of each bucket, and sorts them.
    SortedBuckets {
        /// What a child must fit.
        tile: Tile,
    },
    /// The same for children of any size.
    LargeBuckets {
        /// What most children fit.
        tile: Tile,
    },
}

/// Whether records whose keys stay are moved a word at a time, keys and indices apart: when the one
/// has been moved from where it lies in the order of its tiles, the other is moved there. Two words of a key have no room, and
/// are read by their indices.
pub(crate) const fn move_apart(key: KeyType) -> bool {
    key.words() == 1
}

/// The networks of `sort_tile.wgsl`.
fn networks(tile: u32) -> Vec<(&'static str, Network)> {
    // Bits of a record's number between those of its place in a line, and the five uppermost.
    let middle = 1 << tile.ilog2().saturating_sub(10);
    vec![
        ("sort_registers", Network::odd_even_merge_sort(W)),
        ("cross_1", Network::bitonic_cross(W, 1)),
        ("cross_2", Network::bitonic_cross(W, 2)),
        ("cross_3", Network::bitonic_cross(W, 3)),
        ("cross_4", Network::bitonic_cross(W, 4)),
        ("cross_5", Network::bitonic_cross(W, 5)),
        (
            "merge_middle",
            Network::bitonic_merger(middle).side_by_side(W / middle),
        ),
        ("merge_registers", Network::bitonic_merger(W)),
    ]
}

/// Where a kernel has its records from, and where it leaves them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Io {
    InPlace,
    OutOfPlace,
    SourceOnly,
}

/// Where keys come from and go to, and what a record is, and how it is loaded and stored.
type Records = (&'static [&'static str], Vec<&'static str>);

/// What a record is, and how it is loaded and stored. `first`: the records are loaded for the first
/// time, and indices are yet to be made.
fn records(payload: Payload, io: Io, first: bool) -> Records {
    let keys = match io {
        Io::InPlace => IN_PLACE,
        Io::OutOfPlace => OUT_OF_PLACE,
        Io::SourceOnly => &[SOURCE],
    };
    let mut pieces = vec![match payload {
        Payload::None => shader!("record/keys.wgsl"),
        Payload::Values | Payload::Indices => shader!("record/values.wgsl"),
    }];
    pieces.push(match (payload, io) {
        (Payload::None, _) => shader!("record/load_keys.wgsl"),
        (Payload::Indices, _) if first => shader!("record/load_indices.wgsl"),
        (_, Io::InPlace) => shader!("record/load_values_in_place.wgsl"),
        _ => LOAD_VALUES,
    });
    match (payload, io) {
        (_, Io::SourceOnly) => {}
        (Payload::None, _) => pieces.push(shader!("record/store_keys.wgsl")),
        (_, Io::InPlace) => pieces.push(shader!("record/store_values_in_place.wgsl")),
        (_, Io::OutOfPlace) => pieces.push(shader!("record/store_values.wgsl")),
    }
    (keys, pieces)
}

/// The pieces of a kernel that sorts tiles.
fn sorter(
    Tile {
        records: tile,
        merges,
    }: Tile,
    payload: Payload,
    io: Records,
    shared: &[&'static str],
    text: &'static str,
) -> Pieces {
    const SORT: &str = shader!("sample_sort/sort_tile.wgsl");
    const PASSES: &str = shader!("sample_sort/passes.wgsl");
    let sort: &[&str] = match merges {
        Merges::WrittenOut => &[SORT, PASSES, shader!("sample_sort/merge_blocks.wgsl")],
        Merges::Looped => &[
            SORT,
            PASSES,
            shader!("sample_sort/merge_blocks_looped.wgsl"),
        ],
        Merges::Compact => &[
            SORT,
            PASSES,
            shader!("sample_sort/merge_blocks_compact.wgsl"),
        ],
        Merges::Stages => &[
            CELLS_OF_KEYS,
            shader!("sample_sort/sort_tile_by_stages.wgsl"),
        ],
    };
    Pieces {
        constants: vec![
            ("TILE", tile),
            ("LANES", tile / W),
            ("LOG2_LINES", (tile / W).ilog2()),
            ("TILE_CELLS", cells(tile)),
            ("MOST_BUCKETS", MOST_SAMPLE_BUCKETS + 1),
            ("INDEXED", (payload == Payload::Indices).into()),
            ("TIES_STAY", (payload == Payload::Values).into()),
        ],
        io: io.0.to_vec(),
        record: io.1,
        networks: match merges {
            Merges::Stages => Vec::new(),
            _ => networks(tile),
        },
        tile: true,
        shared: [&[shader!("sample_sort/place.wgsl")], sort, shared].concat(),
        ..Pieces::plain(text)
    }
}

const LOAD_TILE: &str = shader!("sample_sort/load_tile.wgsl");
const RANK: &str = shader!("sample_sort/rank.wgsl");
const GATHER: &str = shader!("sample_sort/gather.wgsl");
const BUCKET: &str = shader!("sample_sort/bucket.wgsl");
const BUCKETS: &str = shader!("sample_sort/buckets.wgsl");
const BUCKET_TILE: &str = shader!("sample_sort/bucket_tile.wgsl");
const SELECTED: &str = shader!("sample_sort/selected.wgsl");
const STORE_GATHERED: &str = shader!("sample_sort/store_gathered.wgsl");
const STORE_TILE: &str = shader!("sample_sort/store_tile.wgsl");
const STORE_PACKED: &str = shader!("sample_sort/store_packed.wgsl");
const ROWS: &str = shader!("record/rows.wgsl");
const LOAD_VALUES: &str = shader!("record/load_values.wgsl");
const LOAD_STORED_KEYS: &str = shader!("record/load_stored_keys.wgsl");
const LOAD_STORED: &str = shader!("record/load_stored_values.wgsl");
const CELLS_OF_KEYS: &str = shader!("sample_sort/cells_of_keys.wgsl");
const NODES_OF_KEYS: &str = shader!("sample_sort/nodes_of_keys.wgsl");

/// The pieces of [`SampleSortKernel::MergedTiles`], which needs no tile.
fn merged_tiles(tiles: u32, payload: Payload) -> Pieces {
    Pieces {
        constants: vec![("LANES", MERGE_LANES), ("OTHERS", tiles - 1)],
        io: OUT_OF_PLACE.to_vec(),
        record: vec![match payload {
            Payload::None => shader!("record/carried_nothing.wgsl"),
            Payload::Values | Payload::Indices => shader!("record/carried_values.wgsl"),
        }],
        ..Pieces::plain(shader!("sample_sort/merged_tiles.wgsl"))
    }
}

/// The pieces of [`SampleSortKernel::PlacedTile`], which stores keys, and rows by their indices.
fn placed_tile(tile: Tile, in_rows: bool, payload: Payload, key: KeyType) -> Pieces {
    let (io, puts): (&[&str], &[&str]) = match key.words() {
        1 => (
            &[shader!("io/placed_one_word.wgsl")],
            &[STORE_PACKED, shader!("io/put_one_word.wgsl")],
        ),
        _ => (
            &[shader!("io/placed_two_words.wgsl")],
            &[shader!("io/put_two_words.wgsl")],
        ),
    };
    let (_, mut record) = records(payload, Io::SourceOnly, true);
    match payload {
        Payload::None => record.push(shader!("record/no_rows.wgsl")),
        _ if in_rows => record.extend([ROWS, shader!("record/rows_of_keys.wgsl")]),
        _ => record.extend([ROWS, shader!("record/rows_beside.wgsl")]),
    }
    let mut shared = vec![LOAD_TILE];
    if !in_rows {
        shared.extend(puts);
    }
    let text = shader!("sample_sort/placed_tile.wgsl");
    sorter(tile, payload, (io, record), &shared, text)
}

/// The pieces of [`SampleSortKernel::CountedTiles`], which stores no records.
fn counted_tiles(tile: Tile) -> Pieces {
    let (_, record) = records(Payload::None, Io::SourceOnly, true);
    let io = (&[IN_ROWS][..], record);
    let text = shader!("sample_sort/counted_tiles.wgsl");
    sorter(tile, Payload::None, io, &[LOAD_TILE], text)
}

/// The pieces of [`SampleSortKernel::SampleSplitters`], which sorts samples.
fn splitters(samples: Tile, payload: Payload) -> Pieces {
    let text = shader!("sample_sort/splitters.wgsl");
    let record = match payload {
        Payload::None | Payload::Values => vec![
            shader!("record/keys.wgsl"),
            shader!("record/load_samples.wgsl"),
        ],
        Payload::Indices => vec![
            shader!("record/values.wgsl"),
            shader!("record/load_indexed_samples.wgsl"),
        ],
    };
    let io = (&[SOURCE][..], record);
    sorter(samples, payload, io, &[BUCKET, BUCKETS, SELECTED], text)
}

/// The pieces of [`SampleSortKernel::SplitterRanks`], which looks into sorted tiles.
fn splitter_ranks(lanes: u32, payload: Payload) -> Pieces {
    let (io, record) = records(payload, Io::SourceOnly, false);
    Pieces {
        constants: vec![
            ("LANES", lanes),
            ("TILE_CELLS", 1),
            ("MOST_BUCKETS", MOST_SAMPLE_BUCKETS + 1),
            ("INDEXED", (payload == Payload::Indices).into()),
        ],
        io: io.to_vec(),
        record,
        tile: true,
        shared: vec![
            shader!("sample_sort/scan.wgsl"),
            BUCKET,
            BUCKETS,
            SELECTED,
            RANK,
        ],
        ..Pieces::plain(shader!("sample_sort/splitter_ranks.wgsl"))
    }
}

/// The pieces of [`SampleSortKernel::PartitionedTiles`], which sorts labels.
fn partitioned_tiles(tile: Tile, children: u32, first: bool, payload: Payload) -> Pieces {
    let moved = match payload {
        Payload::None => shader!("record/moved_keys.wgsl"),
        Payload::Values | Payload::Indices => shader!("record/moved_values.wgsl"),
    };
    let record = vec![shader!("record/labels.wgsl")];
    let io = (IN_PLACE, record);
    let text = shader!("sample_sort/partitioned_tiles.wgsl");
    let tiles: &[&str] = if first {
        &[shader!("sample_sort/tiles_of_input.wgsl")]
    } else {
        &[BUCKETS, shader!("sample_sort/tiles_of_buckets.wgsl")]
    };
    let shared = [&[BUCKET], tiles, &[SELECTED, moved, NODES_OF_KEYS]].concat();
    let mut pieces = sorter(tile, Payload::None, io, &shared, text);
    pieces.constants.extend([
        ("CHILDREN", children),
        ("LOG2_CHILDREN", children.ilog2()),
        ("LABEL_SHIFT", tile.records.ilog2()),
        ("UNNUMBERED", first.into()),
    ]);
    for constant in &mut pieces.constants {
        if constant.0 == "INDEXED" {
            constant.1 = (payload == Payload::Indices).into();
        }
    }
    // Labels pass through it, and no keys.
    pieces.tile = false;
    pieces
}

/// The pieces of [`SampleSortKernel::GatheredTiles`], which sorts nothing.
fn gathered_tiles(tile: u32, payload: Payload) -> Pieces {
    let text = shader!("sample_sort/gathered_tiles.wgsl");
    let io = records(payload, Io::OutOfPlace, false);
    let tile = Tile {
        records: tile,
        merges: Merges::Looped,
    };
    let mut pieces = sorter(tile, payload, io, &[], text);
    pieces.networks.clear();
    pieces.shared = vec![
        shader!("sample_sort/place.wgsl"),
        GATHER,
        SELECTED,
        BUCKET_TILE,
        STORE_GATHERED,
    ];
    pieces
}

impl SampleSortKernel {
    /// Every kernel of the sample sort, with the tiles that the [defaults](crate::plan::Tuning) of
    /// GPUs and of CPUs come to with the least workgroup memory that a device has and with as much
    /// as most have: a kernel with other tiles is the same text with other constants. (So are those
    /// that compare more rows than some 2^24, whose tiles are larger.)
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![
            Self::RowSums,
            Self::BucketTable,
            Self::PackedChildren { children: 256 },
            Self::SplitterRanks { lanes: 128 },
        ];
        // On GPUs. Records of several words have smaller tiles.
        let looped = |records| Tile {
            records,
            merges: Merges::Looped,
        };
        all.extend([false, true].map(|in_place| Self::SortedTiles {
            tile: looped(1024),
            in_place,
        }));
        all.extend([2, 4, 8, 16].map(|tiles| Self::MergedTiles { tiles }));
        for tile in [2048, 4096].map(looped) {
            all.extend([
                Self::RankedTiles { tile },
                Self::BucketTiles { tile },
                Self::SortedBuckets { tile },
            ]);
        }
        all.extend(
            [1024, 2048, 4096, 8192].map(|records| Self::SampleSplitters {
                samples: looped(records),
            }),
        );
        all.push(Self::SortedBuckets { tile: looped(1024) });
        all.push(Self::CountedTiles { tile: looped(1024) });
        all.extend([1024, 2048, 4096].map(|records| Self::LargeBuckets {
            tile: looped(records),
        }));
        let partitioned = |tile| {
            [(32, true), (256, false)].map(|(children, first)| Self::PartitionedTiles {
                tile,
                children,
                first,
            })
        };
        for tile in [1024, 2048, 4096] {
            all.push(Self::GatheredTiles { tile });
            if tile > 1024 {
                all.extend(partitioned(looped(tile)));
            }
        }
        // On CPUs.
        all.push(Self::SplitterRanks { lanes: 32 });
        for merges in [Merges::WrittenOut, Merges::Compact] {
            let tile = |records| Tile { records, merges };
            all.extend([false, true].map(|in_place| Self::SortedTiles {
                tile: tile(1024),
                in_place,
            }));
            all.extend([1024, 2048].map(|records| Self::SampleSplitters {
                samples: tile(records),
            }));
            all.push(Self::SortedBuckets { tile: tile(1024) });
        }
        let written_out = Tile {
            records: 1024,
            merges: Merges::WrittenOut,
        };
        all.push(Self::CountedTiles { tile: written_out });
        all.push(Self::RankedTiles { tile: written_out });
        all.push(Self::BucketTiles { tile: written_out });
        let compact = |records| Tile {
            records,
            merges: Merges::Compact,
        };
        all.push(Self::LargeBuckets {
            tile: compact(1024),
        });
        all.extend(partitioned(compact(1024)));
        // By a caller's comparator.
        let stages = |records| Tile {
            records,
            merges: Merges::Stages,
        };
        all.extend([1024, 2048].map(|records| Self::SortedTiles {
            tile: stages(records),
            in_place: true,
        }));
        all.push(Self::SortedBuckets { tile: stages(1024) });
        all.push(Self::LargeBuckets { tile: stages(1024) });
        all.push(Self::SampleSplitters {
            samples: stages(2048),
        });
        all.sort_unstable();
        all
    }

    /// Those that compare rows by a caller's function.
    #[cfg(test)]
    pub(crate) fn all_by_comparators() -> Vec<Self> {
        let compares = |kernel: &Self| match kernel {
            Self::PartitionedTiles { .. } | Self::GatheredTiles { .. } => true,
            kernel => kernel.merges() == Some(Merges::Stages),
        };
        Self::all().into_iter().filter(compares).collect()
    }

    /// The form of its merges, if it sorts tiles.
    #[must_use]
    pub const fn merges(self) -> Option<Merges> {
        match self {
            Self::SortedTiles { tile, .. }
            | Self::PlacedTile { tile, .. }
            | Self::CountedTiles { tile }
            | Self::RankedTiles { tile }
            | Self::SampleSplitters { samples: tile }
            | Self::BucketTiles { tile }
            | Self::PartitionedTiles { tile, .. }
            | Self::SortedBuckets { tile }
            | Self::LargeBuckets { tile } => Some(tile.merges),
            Self::RowSums
            | Self::BucketTable
            | Self::MergedTiles { .. }
            | Self::GatheredTiles { .. }
            | Self::PackedChildren { .. }
            | Self::SplitterRanks { .. } => None,
        }
    }

    /// Cells of workgroup memory for rows beside their numbers, where these are numbers of rows.
    pub(super) const fn row_cells(self) -> u32 {
        match self {
            Self::SortedTiles { tile, .. }
            | Self::SampleSplitters { samples: tile }
            | Self::SortedBuckets { tile }
            | Self::LargeBuckets { tile }
                if matches!(tile.merges, Merges::Stages) =>
            {
                cells(tile.records)
            }
            Self::PartitionedTiles { children, .. } => children,
            _ => 0,
        }
    }

    /// Whether its lanes look for something in workgroup memory, each where the data leads it.
    pub(super) const fn searches(self) -> bool {
        !matches!(
            self,
            Self::SortedTiles { .. }
                | Self::PlacedTile { .. }
                | Self::CountedTiles { .. }
                | Self::MergedTiles { .. }
                | Self::RowSums
                | Self::SplitterRanks { .. }
        )
    }

    /// Whether it reads keys that stay where the caller has them, or has their indices to write and
    /// not them.
    pub(super) const fn touches_kept(self) -> bool {
        matches!(
            self,
            Self::SampleSplitters { .. }
                | Self::PartitionedTiles { first: true, .. }
                | Self::GatheredTiles { .. }
                | Self::SortedBuckets { .. }
                | Self::LargeBuckets { .. }
        )
    }

    /// Whether it moves keys that [move apart](move_apart), or their indices.
    pub(super) const fn moves_apart(self, key: KeyType) -> bool {
        matches!(self, Self::GatheredTiles { .. }) && move_apart(key)
    }

    /// Puts what is done with keys that stay in the place of what is done with keys that move.
    fn keep(self, key: KeyType, pieces: &mut Pieces) {
        const KEPT: &str = shader!("io/kept.wgsl");
        if let Self::PartitionedTiles { .. } = self {
            let to = if move_apart(key) { DESTINATION } else { KEPT };
            pieces.io = vec![IN_ROWS, to];
        }
        for piece in &mut pieces.io {
            match (self, *piece) {
                (
                    Self::SampleSplitters { .. }
                    | Self::GatheredTiles { .. }
                    | Self::LargeBuckets { .. },
                    SOURCE,
                ) => *piece = IN_ROWS,
                (Self::SortedBuckets { .. } | Self::LargeBuckets { .. }, DESTINATION) => {
                    *piece = KEPT;
                }
                _ => {}
            }
        }
        for piece in &mut pieces.record {
            match (self, *piece) {
                (Self::GatheredTiles { .. } | Self::LargeBuckets { .. }, LOAD_VALUES) => {
                    *piece = shader!("record/load_by_index.wgsl");
                }
                (Self::LargeBuckets { .. }, LOAD_STORED) => {
                    *piece = shader!("record/load_stored_indices.wgsl");
                }
                _ => {}
            }
        }
    }

    /// Whether it writes keys to where the caller has them, where these share words.
    pub(super) const fn packs(self) -> bool {
        matches!(
            self,
            Self::GatheredTiles { .. } | Self::SortedBuckets { .. } | Self::LargeBuckets { .. }
        )
    }

    /// Puts what is done with keys that share words in the place of what is done with words.
    fn share(self, pieces: &mut Pieces) {
        for piece in pieces.io.iter_mut().filter(|piece| **piece == DESTINATION) {
            *piece = shader!("io/packed.wgsl");
        }
        let stored = pieces.record.iter_mut();
        for piece in stored.filter(|piece| **piece == LOAD_STORED_KEYS) {
            *piece = shader!("record/load_stored_packed.wgsl");
        }
        // (What does not fit a tile is written key by key. It is seldom any.)
        if !matches!(self, Self::LargeBuckets { .. }) {
            let stores = [STORE_GATHERED, STORE_TILE];
            pieces.shared.retain(|piece| !stores.contains(piece));
            pieces
                .shared
                .extend([STORE_PACKED, shader!("sample_sort/store_shared.wgsl")]);
        }
    }

    /// The pieces of its text, with [rows beside](Self::row_cells) their numbers or without, of
    /// keys of a type that stay where the caller has them or that move, to words of their own or to
    /// shared ones.
    pub(super) fn pieces(
        self,
        payload: Payload,
        rows_beside: bool,
        (key, keys): (KeyType, Keys),
    ) -> Pieces {
        let mut pieces = self.pieces_of_keys(self.payload(payload), key);
        match keys {
            Keys::Move => {}
            Keys::Stay => self.keep(key, &mut pieces),
            Keys::Share => self.share(&mut pieces),
        }
        for piece in pieces.shared.iter_mut().filter(|_| rows_beside) {
            match *piece {
                CELLS_OF_KEYS => *piece = shader!("sample_sort/cells_of_rows.wgsl"),
                NODES_OF_KEYS => *piece = shader!("sample_sort/nodes_of_rows.wgsl"),
                _ => {}
            }
        }
        pieces
    }

    /// What goes with its keys, in a sort with a payload.
    const fn payload(self, payload: Payload) -> Payload {
        match self {
            // Rows are moved by their indices.
            Self::PlacedTile { in_rows: true, .. } => Payload::Indices,
            Self::PlacedTile { .. } if !matches!(payload, Payload::None) => Payload::Indices,
            _ => payload,
        }
    }

    fn pieces_of_keys(self, payload: Payload, key: KeyType) -> Pieces {
        const SCAN: &str = shader!("sample_sort/scan.wgsl");
        const OF_CHILDREN: [&str; 6] = [
            BUCKET,
            BUCKETS,
            GATHER,
            SELECTED,
            shader!("sample_sort/child.wgsl"),
            STORE_GATHERED,
        ];
        const INPUT_TILES: &str = shader!("sample_sort/input_tiles.wgsl");
        match self {
            Self::SortedTiles { tile, in_place } => {
                let io = if in_place {
                    Io::InPlace
                } else {
                    Io::OutOfPlace
                };
                let text = shader!("sample_sort/sorted_tiles.wgsl");
                let io = records(payload, io, true);
                let shared = [INPUT_TILES, LOAD_TILE, STORE_TILE];
                sorter(tile, payload, io, &shared, text)
            }
            Self::PlacedTile { tile, in_rows } => placed_tile(tile, in_rows, payload, key),
            Self::CountedTiles { tile } => counted_tiles(tile),
            Self::MergedTiles { tiles } => merged_tiles(tiles, payload),
            Self::RankedTiles { tile } => {
                let text = shader!("sample_sort/ranked_tiles.wgsl");
                let io = records(payload, Io::InPlace, true);
                let shared = [INPUT_TILES, LOAD_TILE, STORE_TILE, RANK];
                sorter(tile, payload, io, &shared, text)
            }
            Self::SampleSplitters { samples } => splitters(samples, payload),
            Self::RowSums => Pieces {
                constants: vec![("LANES", SUM_LANES)],
                shared: vec![SCAN],
                ..Pieces::plain(shader!("sample_sort/row_sums.wgsl"))
            },
            Self::BucketTable => Pieces {
                constants: vec![("LANES", SUM_LANES)],
                shared: vec![SCAN],
                ..Pieces::plain(shader!("sample_sort/bucket_table.wgsl"))
            },
            Self::BucketTiles { tile } => {
                let text = shader!("sample_sort/bucket_tiles.wgsl");
                let io = records(payload, Io::OutOfPlace, false);
                sorter(
                    tile,
                    payload,
                    io,
                    &[GATHER, SELECTED, BUCKET_TILE, STORE_TILE, STORE_GATHERED],
                    text,
                )
            }
            Self::PartitionedTiles {
                tile,
                children,
                first,
            } => partitioned_tiles(tile, children, first, payload),
            Self::GatheredTiles { tile } => gathered_tiles(tile, payload),
            Self::PackedChildren { children } => Pieces {
                constants: vec![
                    ("LANES", SUM_LANES),
                    ("CHILDREN", children),
                    ("MOST_BUCKETS", MOST_SAMPLE_BUCKETS + 1),
                ],
                shared: vec![BUCKET, BUCKETS],
                ..Pieces::plain(shader!("sample_sort/packed_children.wgsl"))
            },
            Self::SplitterRanks { lanes } => splitter_ranks(lanes, payload),
            Self::SortedBuckets { tile } => {
                let text = shader!("sample_sort/sorted_buckets.wgsl");
                let io = records(payload, Io::OutOfPlace, false);
                let shared = [&OF_CHILDREN[..], &[STORE_TILE]].concat();
                sorter(tile, payload, io, &shared, text)
            }
            Self::LargeBuckets { tile } => {
                let text = shader!("sample_sort/large_buckets.wgsl");
                let mut io = records(payload, Io::OutOfPlace, false);
                io.1.push(match payload {
                    Payload::None => LOAD_STORED_KEYS,
                    Payload::Values | Payload::Indices => LOAD_STORED,
                });
                sorter(tile, payload, io, &OF_CHILDREN, text)
            }
        }
    }

    /// Bytes of workgroup memory.
    pub(super) const fn workgroup_bytes(self, key_words: u32, payload: Payload) -> u32 {
        let words = key_words + self.payload(payload).words();
        match self {
            Self::SortedTiles { tile, .. }
            | Self::PlacedTile { tile, .. }
            | Self::RankedTiles { tile }
            | Self::CountedTiles { tile } => 4 * cells(tile.records) * words,
            Self::BucketTiles { tile }
            | Self::SortedBuckets { tile }
            | Self::LargeBuckets { tile } => tile_bytes(tile.records, words),
            Self::PartitionedTiles { tile, children, .. } => {
                partition_bytes(tile.records, children, key_words)
            }
            // The moves of segments, and a word a line.
            Self::GatheredTiles { tile } => tile_bytes(tile, 1),
            Self::PackedChildren { children } => 4 * (3 * children + 3),
            Self::SampleSplitters { samples } => {
                let indexed = payload as u32 == Payload::Indices as u32;
                4 * cells(samples.records) * (key_words + indexed as u32)
            }
            Self::MergedTiles { .. } => 0,
            Self::RowSums => 4 * SUM_LANES,
            Self::BucketTable => 8 * SUM_LANES,
            Self::SplitterRanks { lanes } => 4 * (lanes + words),
        }
    }

    /// Its name in labels and reports.
    pub(super) fn name(self) -> String {
        match self {
            Self::SortedTiles { tile, in_place } => {
                let place = if in_place { ".in_place" } else { "" };
                format!("sample_sort.sorted_tiles.{tile}{place}")
            }
            Self::PlacedTile { tile, in_rows } => {
                let rows = if in_rows { ".in_rows" } else { "" };
                format!("sample_sort.placed_tile.{tile}{rows}")
            }
            Self::CountedTiles { tile } => format!("sample_sort.counted_tiles.{tile}"),
            Self::MergedTiles { tiles } => format!("sample_sort.merged_tiles.{tiles}"),
            Self::RankedTiles { tile } => format!("sample_sort.ranked_tiles.{tile}"),
            Self::SampleSplitters { samples } => format!("sample_sort.splitters.{samples}"),
            Self::RowSums => "sample_sort.row_sums".into(),
            Self::BucketTable => "sample_sort.bucket_table".into(),
            Self::BucketTiles { tile } => format!("sample_sort.bucket_tiles.{tile}"),
            Self::PartitionedTiles {
                tile,
                children,
                first,
            } => {
                let first = if first { ".first" } else { "" };
                format!("sample_sort.partitioned_tiles.{tile}.{children}{first}")
            }
            Self::GatheredTiles { tile } => format!("sample_sort.gathered_tiles.{tile}"),
            Self::PackedChildren { children } => {
                format!("sample_sort.packed_children.{children}")
            }
            Self::SplitterRanks { lanes } => format!("sample_sort.splitter_ranks.{lanes}"),
            Self::SortedBuckets { tile } => format!("sample_sort.sorted_buckets.{tile}"),
            Self::LargeBuckets { tile } => format!("sample_sort.large_buckets.{tile}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kernel;
    use super::super::tests::without_key_map;
    use super::*;
    use crate::Order;
    use std::collections::HashSet;

    #[test]
    fn every_kernel_is_valid_for_every_width_and_payload() {
        let mut kernels = vec![
            SampleSortKernel::RowSums,
            SampleSortKernel::BucketTable,
            SampleSortKernel::SplitterRanks { lanes: 128 },
            SampleSortKernel::PackedChildren { children: 256 },
            SampleSortKernel::MergedTiles { tiles: 16 },
        ];
        for (records, merges) in [
            (1024, Merges::Looped),
            (2048, Merges::WrittenOut),
            (4096, Merges::Compact),
            (8192, Merges::Looped),
        ] {
            let tile = Tile { records, merges };
            kernels.extend([
                SampleSortKernel::SortedTiles {
                    tile,
                    in_place: false,
                },
                SampleSortKernel::SortedTiles {
                    tile,
                    in_place: true,
                },
                SampleSortKernel::PlacedTile {
                    tile,
                    in_rows: records == 1024,
                },
                SampleSortKernel::RankedTiles { tile },
                SampleSortKernel::CountedTiles { tile },
                SampleSortKernel::SampleSplitters { samples: tile },
                SampleSortKernel::BucketTiles { tile },
                SampleSortKernel::PartitionedTiles {
                    tile,
                    children: 256,
                    first: records == 1024,
                },
                SampleSortKernel::GatheredTiles { tile: records },
                SampleSortKernel::SortedBuckets { tile },
                SampleSortKernel::LargeBuckets { tile },
            ]);
        }
        let mut seen = HashSet::new();
        for kernel in kernels {
            for key in [KeyType::U32, KeyType::F64] {
                for payload in Payload::ALL {
                    if !Kernel::SampleSort(kernel).takes(key) {
                        continue;
                    }
                    let specialised = Kernel::SampleSort(kernel)
                        .specialise(key, Order::Descending)
                        .carrying(payload);
                    let kept = payload == Payload::Indices;
                    // (Those are partitioned, and indices alone are sorted.)
                    let arrays = match payload {
                        Payload::None => true,
                        Payload::Indices => key.words() == 1,
                        Payload::Values => false,
                    };
                    let arrays = arrays
                        && !(payload == Payload::Indices
                            && matches!(kernel, SampleSortKernel::SplitterRanks { .. }));
                    for (kept, arrays) in [(false, false), (kept, false), (kept, arrays)] {
                        let specialised = specialised.keeping(kept).in_arrays(arrays);
                        if !seen.insert(without_key_map(specialised)) {
                            continue;
                        }
                        let assembled = specialised.assemble().unwrap_or_else(|e| panic!("{e}"));
                        // The parameters, and the default limit of storage buffers.
                        assert!(assembled.bindings.len() <= 9, "{}", specialised.label());
                    }
                }
            }
        }
    }
}
