//! Arithmetic of the sample sort: its levels, segments, tiles and items.

use super::kernels::{MERGED_TILES, Partition, partition_bytes};
use super::shape::Shape;
use super::tuning::{MOST_SAMPLES, Tuning};
use crate::device::DeviceLimits;
use crate::key::KeyType;
use std::ops::RangeInclusive;

/// The sizes that determine the sort's speed, and not its result, for one device and one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The largest number of records of a tile that is sorted: a power of two.
    pub sort_tile: u32,
    /// Records of a tile that is partitioned: a power of two.
    pub partition_tile: u32,
    /// Lanes that partition a tile.
    pub lanes: u32,
    /// The largest number of children of a segment: a power of two.
    pub nodes: u32,
    /// The same where more children save a level.
    pub most_nodes: u32,
    /// Records of a tile that is partitioned into `most_nodes` children, in large sorts.
    pub wide_tile: u32,
    /// Lanes that partition such a tile.
    pub wide_lanes: u32,
    /// True if large sorts partition such tiles whatever the number of children.
    pub is_always_wide: bool,
    /// The sizes with which tiles are partitioned where these many children save the second level.
    pub one_level: Option<Partition>,
    /// Samples per segment: a power of two.
    pub samples: u32,
    /// The largest number of records that are sorted as up to 16 tiles and merged.
    pub merged: u32,
    /// The largest number of records that are sorted in the smallest tiles.
    pub small: u32,
    /// The smallest number of records whose segments have bins, since to make their table takes
    /// time, and that are partitioned in wide tiles.
    pub large: u32,
    /// Records of the smaller tiles whose items are spread over buckets in workgroup memory; 0 if
    /// no items are.
    pub spread_tile: u32,
    /// The smallest number of records whose items are spread.
    pub spread_from: u32,
    /// How children get room without a count of their records.
    pub rooms: Rooms,
    /// True if tile kernels should compile fast rather than run fast.
    pub is_compact: bool,
}

/// Room for the children of the first level by an estimate: some of their records are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rooms {
    /// The smallest number of records of which not all are counted.
    pub from: u32,
    /// Records that are counted for each child, on average, at least.
    pub counted: u32,
    /// The largest number of records for which scratch memory may have room.
    pub most: u32,
    /// Standard deviations of the count for which a child gets room.
    pub deviations: u32,
}

/// An estimate of the number of records of each child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// One record in 2^`interval_log2` is counted.
    pub interval_log2: u32,
    /// The largest number of records for which the children have room.
    pub room: u32,
}

impl Rooms {
    /// The least and the largest log2 of an interval. With shorter intervals, to count all records
    /// takes little longer.
    const INTERVALS: RangeInclusive<u32> = 5..=8;

    /// The estimate for `len` records in `slots` children, if it pays.
    fn estimate(&self, len: u32, slots: u32) -> Option<Estimate> {
        let each = len / slots / self.counted.max(1);
        let interval_log2 = each.checked_ilog2()?.min(*Self::INTERVALS.end());
        // As `room_of` in `samplesort/table.wgsl`, and two deviations more for what is rounded up.
        // The sum of the square roots is largest for equal children.
        let counted = len.div_ceil(1 << interval_log2);
        let deviation = counted.div_ceil(slots).isqrt() + 7;
        let spare = u64::from(slots) * u64::from(self.deviations) * u64::from(deviation);
        let rows = u64::from(slots) * 32;
        let room = ((u64::from(counted) + spare) << interval_log2) + rows;
        let pays = len >= self.from && interval_log2 >= *Self::INTERVALS.start();
        (pays && room <= self.most.into()).then_some(Estimate {
            interval_log2,
            room: room as u32,
        })
    }
}

/// The largest number of records of a tile that is sorted: 256 lines of 16, of two passes over
/// columns.
const MOST_TILE_RECORDS: u32 = 4096;

/// The largest size of a kernel's tables in workgroup memory besides its tile, in bytes.
const TABLES: u32 = 8 << 10;

/// Records of the tiles of sorts of few records, where larger ones fit, too.
const SMALLEST_TILE: u32 = 1024;

impl Sizes {
    /// The sizes for a tuning, within the device's limits.
    #[must_use]
    pub fn new(shape: Shape, tuning: &Tuning, limits: &DeviceLimits) -> Self {
        let sizes = if tuning.gpu {
            Self::gpu(shape, tuning, limits)
        } else {
            Self::cpu(shape, tuning, limits)
        };
        let is_compact = sizes.is_compact || tuning.tile <= 1024;
        Self {
            is_compact,
            // The tables of small tiles leave too little of the scratch memory. Of a sort by a
            // comparator, a count takes little of the time.
            rooms: Rooms {
                from: if is_compact || shape.is_row() {
                    u32::MAX
                } else {
                    1 << 25
                },
                ..sizes.rooms
            },
            spread_tile: if is_compact { 0 } else { sizes.spread_tile },
            merged: match shape {
                Shape::Row { .. } => 0,
                _ => tuning.merged,
            },
            ..sizes
        }
    }

    /// The sizes that suit GPUs.
    fn gpu(shape: Shape, tuning: &Tuning, limits: &DeviceLimits) -> Self {
        let words = shape.words();
        let lanes = limits.workgroup_lanes.min(1024);
        let lanes = 1 << lanes.max(1).ilog2();
        let fits = |bytes: u32| 1 << (bytes / (4 * words)).max(32).ilog2();
        let tile = (tuning.tile / shape.stored_words()).max(1024);
        let most: u32 = match shape {
            // The larger a tile, the more comparisons per row.
            Shape::Row { .. } => 1024,
            _ => MOST_TILE_RECORDS,
        };
        let sort_tile = fits(limits.workgroup_bytes)
            .min(most)
            .min(1 << tile.ilog2());
        let partition_tile = 1 << ((limits.workgroup_bytes - TABLES).min(16 << 10) / 4).ilog2();
        let is_wide = limits.workgroup_bytes >= (32 << 10) + 2 * TABLES && lanes == 1024;
        let lanes_of_partition = lanes.min(512).min(partition_tile);
        let nodes = lanes_of_partition.min(256);
        let partition = |nodes| Partition {
            nodes,
            tile: partition_tile,
            lanes: lanes_of_partition,
        };
        let bytes = |nodes| partition_bytes(partition(nodes), shape);
        let most_nodes = if bytes(lanes_of_partition) <= limits.workgroup_bytes {
            lanes_of_partition
        } else {
            nodes
        };
        let key = match shape.key_words() {
            1 => KeyType::U32,
            _ => KeyType::U64,
        };
        // Tiles of one word are ordered by halves, which takes less memory and fewer lanes.
        let by_halves = Partition {
            nodes: most_nodes,
            tile: 8192,
            lanes: 512,
        };
        let is_always_wide = shape == Shape::Word
            && lanes >= 512
            && partition_bytes(by_halves, shape) <= limits.workgroup_bytes;
        let (wide_tile, wide_lanes) = if is_always_wide {
            (by_halves.tile, by_halves.lanes)
        } else if is_wide {
            (8192, 1024)
        } else {
            (partition_tile, lanes_of_partition)
        };
        Self {
            sort_tile,
            partition_tile,
            lanes: lanes_of_partition,
            nodes,
            most_nodes,
            wide_tile,
            wide_lanes,
            is_always_wide,
            one_level: (is_wide && shape == Shape::Word).then_some(Partition {
                nodes: 1024,
                tile: 8192,
                lanes: 1024,
            }),
            samples: fits(limits.workgroup_bytes.min(32 << 10))
                .min(1 << tuning.samples.clamp(1024, MOST_SAMPLES).ilog2()),
            merged: match shape {
                // A merge would lose rows if the comparator contradicts itself.
                Shape::Row { .. } => 0,
                _ => MERGED_TILES * sort_tile,
            },
            small: 1 << 20,
            large: 1 << 22,
            spread_tile: match words {
                // A tile of 64 lines or more has room for the counters.
                1 | 2 if !shape.is_row() && sort_tile >= 1024 => sort_tile.min(2048),
                _ => 0,
            },
            spread_from: 1 << 20,
            rooms: Rooms {
                from: 1 << 25,
                counted: 1 << 12,
                most: limits.max_len(key).min(u32::MAX.into()) as u32,
                deviations: 6,
            },
            is_compact: false,
        }
    }

    /// The sizes that suit CPUs, whose kernels should be small rather than fast.
    fn cpu(shape: Shape, tuning: &Tuning, limits: &DeviceLimits) -> Self {
        let gpu = Self::gpu(shape, tuning, limits);
        Self {
            sort_tile: gpu.sort_tile.min(1024),
            most_nodes: gpu.nodes,
            samples: gpu.samples.min(1024),
            merged: gpu.merged.min(4096),
            small: 0,
            large: 0,
            is_always_wide: false,
            one_level: None,
            is_compact: true,
            ..gpu
        }
    }
}

/// The plan of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortPlan {
    /// One tile of this many records.
    Tile(u32),
    /// Tiles of this many records each, which are merged at once.
    Tiles(u32),
    /// Levels of partitioning, and then a sort of items that fit a tile.
    Levels(Vec<Level>),
}

/// A level: its segments are partitioned into children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The largest number of segments.
    pub segments: u32,
    /// The largest number of children per segment. In all but the last level, they are the segments
    /// of the next one.
    pub slots: u32,
    /// Records of a child, approximately.
    pub child: u32,
    /// The sizes with which tiles are partitioned.
    pub partition: Partition,
    /// The largest number of tiles.
    pub tiles: u32,
    /// Samples per segment.
    pub samples: u32,
    /// The estimate by which children get room; `None` if all records are counted.
    pub estimate: Option<Estimate>,
    /// Records of the tiles of the final sort.
    pub sort_tile: u32,
    /// True if the items of the final sort are spread over buckets.
    pub is_spread: bool,
}

impl SortPlan {
    /// Plans a sort of `len` records.
    #[must_use]
    pub fn new(len: u32, sizes: &Sizes) -> Self {
        let smallest = SMALLEST_TILE.min(sizes.sort_tile);
        if len <= sizes.sort_tile {
            return Self::Tile(if len <= smallest {
                smallest
            } else {
                sizes.sort_tile
            });
        }
        let few = smallest.saturating_mul(MERGED_TILES) >= len;
        let tile = if few { smallest } else { sizes.sort_tile };
        if len <= sizes.merged && len.div_ceil(tile) <= MERGED_TILES {
            return Self::Tiles(tile);
        }
        let Layout {
            sort_tile,
            nodes,
            is_spread,
            one_level,
        } = Layout::new(len, sizes);
        let ideal = ideal_child(sort_tile);
        let mut segments = 1;
        let mut children = len.div_ceil(ideal);
        let levels = nodes.iter().enumerate().map(|(number, &nodes_here)| {
            let below = nodes[number + 1..].iter().product::<u32>();
            let is_last = below == 1;
            // Fan-outs as even as possible, up to 128: enough segments for all multiprocessors.
            let left = (nodes.len() - number) as u32;
            let even = (1..nodes_here)
                .find(|&n| u64::from(n).saturating_pow(left) >= children.into())
                .unwrap_or(nodes_here);
            let slots = children
                .div_ceil(below)
                .max(even.min(128))
                .clamp(2, nodes_here);
            let (slots, child) = if is_last {
                (nodes_here, ideal.max(len / segments / nodes_here))
            } else {
                (slots, len.div_ceil(segments * slots))
            };
            // With 8 samples per child, child sizes deviate by a third. 16 where children are
            // partitioned further, since 8 are too few for large children; or where children fill
            // half a tile.
            let each = if is_last && child <= ideal + ideal / 2 {
                8
            } else {
                16
            };
            let children_here = (len / segments / child).clamp(32, nodes_here.max(32));
            // 1024 take as long to sort as 512, and make children more even: 2^22 keys of one word
            // take 0.165 and not 0.170 ms on an H200.
            let least = if children_here < 64 { 0 } else { 1024 };
            let samples = (each * children_here).max(least);
            // In large sorts, more children per tile pay for a larger tile.
            let is_wide = len >= sizes.large && (sizes.is_always_wide || nodes_here > sizes.nodes);
            let (tile, lanes) = if is_wide {
                (sizes.wide_tile, sizes.wide_lanes)
            } else {
                (sizes.partition_tile, sizes.lanes)
            };
            let partition = one_level.unwrap_or(Partition {
                nodes: nodes_here,
                tile,
                lanes,
            });
            let level = Level {
                segments,
                slots,
                child,
                partition,
                tiles: len.div_ceil(partition.tile) + 2 * segments.min(len),
                samples: samples.next_power_of_two().min(sizes.samples),
                estimate: (number == 0 && !is_last)
                    .then(|| sizes.rooms.estimate(len, slots))
                    .flatten(),
                sort_tile,
                is_spread,
            };
            segments *= slots;
            children = children.div_ceil(slots).max(1);
            level
        });
        Self::Levels(levels.collect())
    }
}

/// What a plan of levels has for all of them.
struct Layout {
    /// Records of the tiles that sort the items.
    sort_tile: u32,
    /// The nodes of each level's trees.
    nodes: Vec<u32>,
    /// True if the items are spread.
    is_spread: bool,
    /// The sizes with which tiles are partitioned, where many children save the second level.
    one_level: Option<Partition>,
}

impl Layout {
    fn new(len: u32, sizes: &Sizes) -> Self {
        let ideal = ideal_child(sizes.sort_tile);
        let is_beyond_one = len > sizes.most_nodes * (ideal + ideal / 2);
        let saves_a_level = |of: &Partition| is_beyond_one && len <= of.nodes * ideal;
        if let Some(partition) = sizes.one_level.filter(saves_a_level) {
            return Self {
                sort_tile: sizes.sort_tile,
                nodes: vec![partition.nodes],
                is_spread: false,
                one_level: Some(partition),
            };
        }
        // The time of a tile is the time of one lane's records, however few tiles there are. So few
        // records are sorted in small tiles, unless large tiles save a level.
        let sort_tile = if is_beyond_one && len <= sizes.small {
            SMALLEST_TILE.min(sizes.sort_tile)
        } else {
            sizes.sort_tile
        };
        let unspread = Self {
            sort_tile,
            nodes: nodes_of_levels(len, ideal_child(sort_tile), sizes),
            is_spread: false,
            one_level: None,
        };
        if sizes.spread_tile == 0 || len < sizes.spread_from {
            return unspread;
        }
        // Small tiles, unless these take one more level.
        let nodes = nodes_of_levels(len, ideal_child(sizes.spread_tile), sizes);
        let (sort_tile, nodes) = if nodes.len() == unspread.nodes.len() {
            (sizes.spread_tile, nodes)
        } else {
            (sort_tile, unspread.nodes)
        };
        Self {
            sort_tile,
            nodes,
            is_spread: true,
            one_level: None,
        }
    }
}

/// Records of a child that suit tiles of this many records: children of a quarter of a tile pack
/// well.
fn ideal_child(sort_tile: u32) -> u32 {
    (sort_tile / 4).max(32)
}

/// The nodes of each level's trees, few or most: the smallest that split `len` records into
/// children of about `ideal` records.
fn nodes_of_levels(len: u32, ideal: u32, sizes: &Sizes) -> Vec<u32> {
    let (few, most) = (sizes.nodes, sizes.most_nodes);
    for levels in 1.. {
        for wide in 0..=if most > few { levels } else { 0 } {
            let mut nodes = vec![few; levels - wide];
            nodes.resize(levels, most);
            // Larger children are better than a second level. They are not better than more nodes,
            // since items of one child each would fill half a tile: with 512 nodes in both levels,
            // 2^28 keys of one word take 5.7 and not 6.2 ms on an H200.
            let child = if wide > 0 && levels == 1 {
                2 * ideal
            } else {
                ideal + ideal / 2
            };
            let product = nodes.iter().fold(1_u64, |all, &n| all * u64::from(n));
            if product * u64::from(child) >= len.into() {
                return nodes;
            }
        }
    }
    unreachable!("each level has two nodes at least")
}
