//! Arithmetic of the sample sort: how many levels, segments, tiles and items a sort takes.

use crate::kernel::{Partition, Shape, SortKernel, Stage};
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
    /// Children of a segment, at the most, where there are few levels: a power of two.
    pub nodes: u32,
    /// The same where one level less would do with more.
    pub most_nodes: u32,
    /// Samples of a segment: a power of two.
    pub samples: u32,
    /// Records up to which sorted tiles are merged, in 16 tiles at the most.
    pub merged: u32,
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
            samples: sizes.samples.min(1 << tuning.samples.max(512).ilog2()),
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
            samples: fits(limits.workgroup_bytes).min(4096),
            merged: match shape {
                // A merge would lose rows where a function contradicts itself.
                Shape::Row { .. } => 0,
                _ => 16 * sort_tile,
            },
        }
    }

    /// What suits CPUs, where kernels are to be small rather than fast.
    #[must_use]
    pub fn cpu(shape: Shape, limits: &DeviceLimits) -> Self {
        let gpu = Self::gpu(shape, limits);
        Self {
            sort_tile: gpu.sort_tile.min(1024),
            partition_tile: gpu.partition_tile.min(2048),
            lanes: gpu.lanes.min(256),
            nodes: gpu.nodes.min(256),
            most_nodes: gpu.nodes.min(256),
            samples: gpu.samples.min(1024),
            merged: gpu.merged.min(4096),
        }
    }
}

/// What is sorted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortPlan {
    /// One tile, of so many records.
    Tile(u32),
    /// So many tiles, of so many records each, which are merged at once.
    Tiles(u32, u32),
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
}

impl SortPlan {
    /// Plans a sort of `len` records.
    #[must_use]
    pub fn new(len: u32, sizes: &Sizes) -> Self {
        const MOST_MERGED: u32 = 16;
        const LEAST_TILE: u32 = 1024;
        let least = LEAST_TILE.min(sizes.sort_tile);
        if len <= sizes.sort_tile {
            return Self::Tile(if len <= least { least } else { sizes.sort_tile });
        }
        let few = least.saturating_mul(MOST_MERGED) >= len;
        let tile = if few { least } else { sizes.sort_tile };
        let tiles = len.div_ceil(tile);
        if len <= sizes.merged && tiles <= MOST_MERGED {
            return Self::Tiles(if tiles <= 4 { 4 } else { MOST_MERGED }, tile);
        }
        // Children of a quarter of a tile are packed well.
        let ideal = (sizes.sort_tile / 4).max(32);
        let most = u64::from(ideal + ideal / 2);
        let mut levels = 1;
        let reaches = |levels, nodes: u32| u64::from(nodes).pow(levels) * most >= len.into();
        while !reaches(levels, sizes.most_nodes) {
            levels += 1;
        }
        let nodes = if reaches(levels, sizes.nodes) {
            sizes.nodes
        } else {
            sizes.most_nodes
        };
        let mut segments = 1;
        let mut children = len.div_ceil(ideal);
        let levels = (0..levels)
            .map(|level| {
                let below = nodes.saturating_pow(levels - 1 - level);
                // As even as possible, as far as there is work for all multiprocessors.
                let even = (f64::from(children).powf(1.0 / f64::from(levels - level))) as u32;
                let slots = children.div_ceil(below).max(even.min(128)).clamp(2, nodes);
                let slots = if level + 1 == levels { nodes } else { slots };
                let parts = segments * slots;
                let child = if level + 1 == levels {
                    ideal.max(len / segments.saturating_mul(nodes))
                } else {
                    len.div_ceil(parts)
                };
                // Sixteen a child spread its records by a quarter; more, where the last level's
                // children are few for a tile.
                let samples = 16 * (len / segments / child).clamp(16, nodes.max(16));
                let plan = Level {
                    segments,
                    slots,
                    child,
                    partition: Partition {
                        nodes,
                        tile: sizes.partition_tile,
                        lanes: sizes.lanes,
                    },
                    tiles: len.div_ceil(sizes.partition_tile) + 2 * segments.min(len),
                    samples: sizes.samples.min(samples.next_power_of_two()),
                };
                segments *= slots;
                children = children.div_ceil(slots).max(1);
                plan
            })
            .collect();
        Self::Levels(levels)
    }
}
