//! Arithmetic of the sample sort: how many levels, segments, tiles and items a sort takes.

use crate::kernel::{MERGED_TILES, Partition, Shape, SortKernel, Stage};
use crate::plan::{DeviceLimits, Tuning};

/// The numbers that decide the sort's speed, and not its result: of one device, and one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Records of a tile that is sorted, at the most: a power of two.
    pub sort_tile: u32,
    /// Records of a tile that is partitioned: a power of two.
    pub partition_tile: u32,
    /// Lanes that partition it.
    pub lanes: u32,
    /// Children of a segment, at the most: a power of two.
    pub nodes: u32,
    /// The same where more save a level.
    pub most_nodes: u32,
    /// Records of a tile with so many children, of many records, and its lanes.
    pub wide_tile: u32,
    /// The lanes that partition it.
    pub wide_lanes: u32,
    /// Samples of a segment: a power of two.
    pub samples: u32,
    /// Records up to which sorted tiles are merged, in 16 tiles at the most.
    pub merged: u32,
    /// Records up to which they are sorted in the smallest tiles.
    pub small: u32,
    /// Whether the kernels that sort tiles are to compile soon rather than to run fast.
    pub is_compact: bool,
}

/// Words that a kernel's tables take in workgroup memory beside its tile, at the most.
const TABLES: u32 = 8 << 10;

impl Sizes {
    /// The sizes that a tuning comes to, as far as the device's limits go.
    #[must_use]
    pub fn new(shape: Shape, tuning: &Tuning, limits: &DeviceLimits) -> Self {
        let sizes = if tuning.gpu {
            Self::gpu(shape, limits)
        } else {
            Self::cpu(shape, limits)
        };
        let tile = (tuning.tile / shape.stored_words()).max(1024);
        Self {
            sort_tile: sizes.sort_tile.min(1 << tile.ilog2()),
            is_compact: sizes.is_compact || tuning.tile <= 1024,
            samples: sizes.samples.min(1 << tuning.samples.max(1024).ilog2()),
            merged: match shape {
                Shape::Row { .. } => 0,
                _ => tuning.merged,
            },
            ..sizes
        }
    }

    /// What suits GPUs, as far as the device's limits go.
    #[must_use]
    pub fn gpu(shape: Shape, limits: &DeviceLimits) -> Self {
        let words = shape.words();
        let lanes = limits.workgroup_lanes.min(1024);
        let lanes = 1 << lanes.max(1).ilog2();
        let fits = |bytes: u32| 1 << (bytes / (4 * words)).max(32).ilog2();
        // Three workgroups that sort a tile share the 48 KiB of a multiprocessor of NVIDIA's.
        let sort_tile: u32 = match shape {
            // A tile takes part in the more comparisons the larger it is.
            Shape::Row { .. } => fits(limits.workgroup_bytes).min(1024),
            _ => fits(limits.workgroup_bytes.min(16 << 10)),
        };
        let partition_tile = 1 << ((limits.workgroup_bytes - TABLES).min(16 << 10) / 4).ilog2();
        let is_wide = limits.workgroup_bytes >= (32 << 10) + 2 * TABLES && lanes == 1024;
        let lanes_of_partition = lanes.min(512).min(partition_tile);
        let nodes = lanes_of_partition.min(256);
        let partition = |nodes| Partition {
            nodes,
            tile: partition_tile,
            lanes: lanes_of_partition,
        };
        let bytes = |nodes| {
            let stage = Stage::Partition(partition(nodes));
            SortKernel { stage, shape }.workgroup_bytes()
        };
        let most_nodes = if bytes(lanes_of_partition) <= limits.workgroup_bytes {
            lanes_of_partition
        } else {
            nodes
        };
        Self {
            sort_tile,
            partition_tile,
            lanes: lanes_of_partition,
            nodes,
            most_nodes,
            wide_tile: if is_wide { 8192 } else { partition_tile },
            wide_lanes: if is_wide { 1024 } else { lanes_of_partition },
            samples: fits(limits.workgroup_bytes.min(32 << 10)).min(4096),
            merged: match shape {
                // A merge would lose rows where a function contradicts itself.
                Shape::Row { .. } => 0,
                _ => MERGED_TILES * sort_tile,
            },
            small: 1 << 20,
            is_compact: false,
        }
    }

    /// What suits CPUs, where kernels are to be small rather than fast.
    #[must_use]
    pub fn cpu(shape: Shape, limits: &DeviceLimits) -> Self {
        let gpu = Self::gpu(shape, limits);
        Self {
            sort_tile: gpu.sort_tile.min(1024),
            most_nodes: gpu.nodes,
            samples: gpu.samples.min(1024),
            merged: gpu.merged.min(4096),
            small: 0,
            is_compact: true,
            ..gpu
        }
    }
}

/// What is sorted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortPlan {
    /// One tile, of so many records.
    Tile(u32),
    /// Tiles, each of this many records, which are merged at once.
    Tiles(u32),
    /// Levels of partitioning, and then items that fit a tile.
    Levels(Vec<Level>),
}

/// A level: segments that are split into children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Segments, at the most.
    pub segments: u32,
    /// Children of each, at the most; where there is a further level, these are its segments.
    pub slots: u32,
    /// Records of a child, about.
    pub child: u32,
    /// How its tiles are partitioned.
    pub partition: Partition,
    /// Tiles, at the most.
    pub tiles: u32,
    /// Samples of a segment.
    pub samples: u32,
    /// Records of the tiles that are sorted at last.
    pub sort_tile: u32,
}

impl SortPlan {
    /// Plans a sort of `len` records.
    #[must_use]
    pub fn new(len: u32, sizes: &Sizes) -> Self {
        const LEAST_TILE: u32 = 1024;
        let least = LEAST_TILE.min(sizes.sort_tile);
        if len <= sizes.sort_tile {
            return Self::Tile(if len <= least { least } else { sizes.sort_tile });
        }
        let few = least.saturating_mul(MERGED_TILES) >= len;
        let tile = if few { least } else { sizes.sort_tile };
        if len <= sizes.merged && len.div_ceil(tile) <= MERGED_TILES {
            return Self::Tiles(tile);
        }
        // A tile takes as long as its lanes take for their records, however few tiles there are: so
        // few records are sorted in small tiles; but not where large ones save a level.
        let one_level = sizes.nodes * (sizes.sort_tile / 4 + sizes.sort_tile / 8);
        let sort_tile = if len > one_level && len <= sizes.small {
            least
        } else {
            sizes.sort_tile
        };
        // Children of a quarter of a tile are packed well.
        let ideal = (sort_tile / 4).max(32);
        let nodes = nodes_of_levels(len, ideal, sizes.nodes, sizes.most_nodes);
        let mut segments = 1;
        let mut children = len.div_ceil(ideal);
        let levels = nodes.iter().enumerate().map(|(number, &nodes_here)| {
            let below = nodes[number + 1..].iter().product::<u32>();
            let is_last = below == 1;
            // As even as possible, as far as there is work for all multiprocessors.
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
            // Eight a child spread its records by a third. Twice as many, where children are split
            // further, which large ones would be too little; or where they fill half a tile.
            let each = if is_last && child <= ideal + ideal / 2 {
                8
            } else {
                16
            };
            let samples = each * (len / segments / child).clamp(32, nodes_here.max(32));
            // More children a tile are worth a larger tile, where there are many.
            let is_wide = nodes_here > sizes.nodes && len >= 1 << 24;
            let (tile, lanes) = if is_wide {
                (sizes.wide_tile, sizes.wide_lanes)
            } else {
                (sizes.partition_tile, sizes.lanes)
            };
            let level = Level {
                segments,
                slots,
                child,
                partition: Partition {
                    nodes: nodes_here,
                    tile,
                    lanes,
                },
                tiles: len.div_ceil(tile) + 2 * segments.min(len),
                samples: samples.next_power_of_two().min(sizes.samples),
                sort_tile,
            };
            segments *= slots;
            children = children.div_ceil(slots).max(1);
            level
        });
        Self::Levels(levels.collect())
    }
}

/// The nodes of each level's trees, which are `few` or `most`: the least that split so many records
/// into children of about `ideal`.
fn nodes_of_levels(len: u32, ideal: u32, few: u32, most: u32) -> Vec<u32> {
    for levels in 1.. {
        for wide in 0..=if most > few { levels } else { 0 } {
            let mut nodes = vec![few; levels - wide];
            nodes.resize(levels, most);
            // Rather larger children than many nodes in all levels.
            let child = if wide > 0 && wide < levels.max(2) {
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
