//! The sample sort: its dispatches, in one place.
//!
//! ```text
//! up to one tile     sorted tiles
//! of few tiles       sorted tiles -> merged tiles
//! distributed once   sorted tiles -> splitters -> ranks -> large buckets
//! distributed twice  splitters of all -> ranked tiles -> row sums, bucket table -> bucket tiles
//!                    -> splitters of each bucket -> ranks -> sorted buckets -> large buckets
//! the same, of records of several words
//!                    splitters of all -> partitioned tiles -> row sums, bucket table -> gathered tiles
//!                    -> splitters of each bucket -> partitioned tiles -> packed children
//!                    -> sorted buckets -> large buckets
//! ```
//!
//! # Why so
//!
//! Sorting 2^26 keys two runs at a time takes 13 passes over memory behind tiles of 8192 keys, and a pass of
//! them takes an H200 at least 0.14 ms. Here each key is moved three times. Tiles are sorted before they are distributed, so
//! that their samples are regular ones: how far a bucket's size is from what it should be then grows with the
//! square root of the number of tiles only, and a tile's part of a bucket is one segment, found by one search. The same
//! multiset of keys costs the same in any order.
//!
//! A tile sort takes 37 comparators a record: two operations each where a record is a word, five to seven where it is
//! two. So records of several words are not sorted to be distributed. Each is labelled with its child, which a search of
//! eight probes finds, and labels, one word each, are sorted. What is lost is that the samples are regular: they are
//! those of unsorted records, so that the children's sizes vary. So there are more children than tiles are needed, and
//! when all are counted they are packed into tiles, as many as fit.
//!
//! Equal keys: the splitters that equal a key divide its copies in each tile, in the proportions of the samples
//! that do. So repeated keys fill buckets as evenly as distinct ones. A child between two splitters of one key is
//! not sorted: its records have been gathered in the order of the input.
//!
//! Where only some places are wanted in order, buckets and children without one are gathered and not sorted. They
//! keep the order of the input, and have equal parts of it for children, for which nothing is searched.
//!
//! A bucket that does not fit a tile all the same is sorted in pieces: slower, and right.
//!
//! Few tiles are not distributed. Where a record belongs is the sum of its ranks in all of them, and up to 31 binary
//! searches side by side take less time than three dispatches one behind the other.
//!
//! llvmpipe takes as long for a workgroup that finds nothing to do as for any: there are no branches where lanes may differ. So on
//! CPUs there is one for each child that is likely, not for each that there can be; what is left the workgroups for large
//! buckets take, in a loop. (2^18 keys of 64 bits: 41 ms for the bucket sort, 61 before. With that loop for all children, written out, 32-bit
//! keys take as long as with twice the workgroups.)
//!
//! # Measured
//!
//! On an H200, ms of GPU time, the phases timed one by one, and the whole in one compute pass:
//!
//! | records | splitters | tiles | ranks and tables | distribution | bucket sort | the whole |
//! |---|---|---|---|---|---|---|
//! | 2^26 u32 | 0.11 | 0.65 | 0.23 | 0.75 | 0.85 | 2.59 |
//! | 2^26 u64 | 0.18 | 2.46 (two partitions) | 0.27 | 0.42 | 2.37 | 5.71 |
//! | 2^24 u32 and value | 0.08 | 0.62 (two) | 0.05 | 0.11 | 0.56 | 1.40 |
//!
//! Other sorts beside it, in one run, are in `benches/results`.
//!
//! # The cost model, and what it predicted
//!
//! 132 multiprocessors of 64 integer operations and 32 words of workgroup memory a clock, at 1.98 GHz at most: 2^26 times an operation
//! are 4.0 us, an access without conflict 8.0 us. A copy of 2^26 words takes 143 us. What a phase
//! takes lies between the greatest of the three and their sum.
//!
//! | phase, 2^26 records | operations | accesses | passes over memory | model, ms | measured |
//! |---|---|---|---|---|---|
//! | tile sort, a word | 75 | 34 | 1 | 0.30 to 0.72 | 0.53 |
//! | tile sort, two words of a key | 262 | 68 | 2 | 1.05 to 1.88 | 2.09, with ranks |
//! | partition, two words | 75 + 64 for the search | 34 + 8 times 3 words that some 2 lanes meet in | 3 | 0.66 to 1.65 | 1.12 |
//! | gathering alone, two words | | | 2, and segments | 0.29 and more | 0.42 |
//!
//! Before it was built, records of two words were predicted to take 1.0 to 1.4 ms a partition, 0.5 for the gathering,
//! 2.3 for the bucket sort, 0.3 for the rest, and 5.2 to 6.0 in all; 8.29 had been measured with tiles sorted three
//! times. What bounds it now is the bucket sort: its operations, and workgroup memory.
//!
//! # What lost
//!
//! (ms for 2^26 keys, where nothing else is said.) 64 keys a lane (4096 keys a tile: 0.63 for the tile sort against 0.53; 8192: 0.87
//! against 0.64), 16 keys a lane (0.59); maxima as a sum less the minimum, on another pipe of the hardware (0.50 to 1.9); one
//! kernel for buckets that fit and that do not (0.15 more); a branch for each gathered key (0.04 more); ties by the tile's
//! number, a word more to sort with each sample (0.09 more); merges written out for 64-bit keys (20.7 against 11.1
//! in all, before partitions). Of partitions: searching record after record, which leaves the registers (2.15 a partition
//! against 1.12, of which the search is 0.29 and the moves are 0.15); 512 children a bucket instead of 256 (0.2 more for the
//! partitions and 0.08 for the ranks against 0.16 less for fuller tiles); tiles of 8192 (5.79 in all against 5.57) and of 2048 (5.87).
//!
//! Subgroups: merges of blocks of 2^k lines by shuffles between lanes, instead of a pass over workgroup memory and back
//! with barriers, for k = 1, up to 2, .. 5: 2.56, 2.55, 2.57, 2.62, 2.70 against 2.59 without; and of 2^16 keys 0.0446, 0.0451,
//! 0.0473, 0.0499, 0.0512 against 0.0445, of labels (2^26 u64) 5.74, 5.75, 5.81, 6.21, 6.67 against 5.75. A shuffle
//! moves a word as an access does, each lane of a pair compares, and the hardware's bound is comparing. At best a
//! sixtieth, of large sorts of one-word keys, does not pay for kernels that need lanes in a known order.
//!
//! Of ties: both searches one after the other (0.369 for the tiles of 2^25 keys of which there are 1000, against 0.335 of
//! distinct ones) or in idle lanes (no less). So ties of few samples are dropped where buckets may differ.

use super::{grid, parts};
use crate::algorithm::Merges;
use crate::kernel::{Kernel, MERGE_LANES, SampleSortKernel, Tile};
use crate::plan::{DeviceLimits, SampleSort, Tuning};
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::{KeyType, Order, Payload};
use std::ops::Range;

/// Records a sample sort of `len` keys and what goes with them, in [`Buffer::Keys`] and
/// [`Buffer::Values`].
///
/// `len` must be at most [`DeviceLimits::max_len`].
#[must_use]
pub fn record_sample_sort(
    len: u32,
    key: KeyType,
    order: Order,
    payload: Payload,
    tuning: &Tuning,
    limits: &DeviceLimits,
) -> Recording {
    let mut recording = Recording::new(len, key, order).carrying(payload);
    let plan = SampleSort::new(len, key, payload, tuning, limits);
    record_as(plan, payload, limits, &mut recording);
    recording
}

fn record_as(plan: SampleSort, payload: Payload, limits: &DeviceLimits, recording: &mut Recording) {
    // (Indices are written even where there is nothing to sort.)
    if plan.len > u32::from(payload != Payload::Indices) {
        let job = Job {
            ranks: 0..plan.len,
            plan,
            payload,
            limits,
            home: HOME,
            away: AWAY,
            rows: None,
        };
        job.record(recording);
    }
}

/// A sort of indices of rows by a comparator.
#[derive(Clone, Debug)]
pub struct ComparisonSort {
    /// Where the indices are, and end.
    pub indices: Buffer,
    /// As much memory again.
    pub scratch: Buffer,
    /// The rows that are compared.
    pub rows: Buffer,
    /// The ranks that are to be in order.
    pub ranks: Range<u32>,
}

/// Records a sort of [`Recording::len`] indices of rows by [`Recording::comparator`]. What is
/// distributed is labels, as for records of several words.
pub fn record_comparison_sort(
    recording: &mut Recording,
    sort: &ComparisonSort,
    tuning: &Tuning,
    limits: &DeviceLimits,
) {
    let len = recording.len;
    if len > 1 {
        let job = Job {
            plan: SampleSort::comparing(len, tuning, limits),
            payload: Payload::None,
            limits,
            // (There are no values.)
            home: (sort.indices, Buffer::Values),
            away: (sort.scratch, Buffer::ScratchValues),
            rows: Some(sort.rows),
            ranks: sort.ranks.clone(),
        };
        job.record(recording);
    }
}

/// A buffer of keys, and that of what goes with them.
type Records = (Buffer, Buffer);
const HOME: Records = (Buffer::Keys, Buffer::Values);
const AWAY: Records = (Buffer::Scratch, Buffer::ScratchValues);

struct Job<'a> {
    plan: SampleSort,
    payload: Payload,
    limits: &'a DeviceLimits,
    /// Where records are, and end, and as much memory again.
    home: Records,
    away: Records,
    /// The rows that are compared, where records are their indices.
    rows: Option<Buffer>,
    /// The ranks that are to be in order.
    ranks: Range<u32>,
}

impl Job<'_> {
    /// Adds a dispatch.
    fn push(&self, recording: &mut Recording, mut step: Step) {
        if let Some(rows) = self.rows
            && step.kernel.carries()
        {
            step.bindings.push(("compared_rows", rows));
        }
        recording.steps.push(step);
    }

    fn record(&self, recording: &mut Recording) {
        let plan = &self.plan;
        if plan.is_one_tile() {
            self.tiles(recording, self.home, self.home);
            return;
        }
        let key_bytes = recording.key.bytes();
        recording.reserve(self.away.0, u64::from(plan.len) * key_bytes);
        if self.payload != Payload::None {
            recording.reserve(self.away.1, u64::from(plan.len) * 4);
        }
        if plan.merged > 0 {
            self.tiles(recording, self.home, self.away);
            self.merged_tiles(recording);
            return;
        }
        let splitters = u64::from(plan.all_children().max(plan.buckets)) + 1;
        let splitter_bytes = recording.key.bytes();
        recording.reserve(Buffer::Splitters, splitters * splitter_bytes);
        recording.reserve(Buffer::Ties, splitters * 4);
        let groups = u64::from(plan.groups());
        recording.reserve(Buffer::ChildTable, groups * 8 + 4);
        recording.reserve(Buffer::Overflows, groups * 4 + 4);
        recording.reserve(Buffer::Prefixes, plan.prefix_words() * 4);
        // (One bucket needs no table, but a binding something to bind.)
        recording.reserve(Buffer::BucketTable, (u64::from(plan.buckets) + 1) * 12);
        if plan.fine > 0 {
            self.splitters(recording, self.home, 1, plan.buckets, true);
            self.partitioned_tiles(recording, self.home, 1);
            self.bucket_tiles(recording);
            self.splitters(recording, self.away, plan.buckets, plan.fine, false);
            self.partitioned_tiles(recording, self.away, plan.buckets);
            self.packed_children(recording);
            self.sorted_buckets(recording, plan.fine);
            return;
        }
        if plan.buckets == 1 {
            self.tiles(recording, self.home, self.away);
        } else {
            self.splitters(recording, self.home, 1, plan.buckets, true);
            self.tiles(recording, self.home, self.home);
            self.bucket_tiles(recording);
        }
        let children = plan.children(plan.len);
        self.splitters(recording, self.away, plan.buckets, children, false);
        self.splitter_ranks(recording, children);
        self.sorted_buckets(recording, children);
    }

    /// Sorts the tiles of the input; ranks the splitters in them if there are any yet.
    fn tiles(&self, recording: &mut Recording, from: Records, to: Records) {
        let plan = &self.plan;
        let (tile, tiles) = (plan.tile, plan.tiles());
        let in_place = from == to;
        let mut bindings = if in_place {
            let mut bindings = vec![("keys", from.0)];
            if self.payload != Payload::None {
                bindings.push(("values", from.1));
            }
            bindings
        } else {
            self.moves(from, to, &[])
        };
        // Indices are not there to be read yet.
        if self.payload == Payload::Indices {
            bindings.retain(|binding| binding.0 != "source_values");
        }
        let kernel = if plan.buckets == 1 {
            Kernel::SampleSort(SampleSortKernel::SortedTiles {
                tile: self.tile(tile),
                in_place,
            })
        } else {
            bindings.extend([SPLITTERS, TIES, PREFIXES]);
            Kernel::SampleSort(SampleSortKernel::RankedTiles {
                tile: self.tile(tile),
            })
        };
        for (first, end) in parts(tiles, tile, self.limits) {
            self.push(
                recording,
                Step {
                    phase: Phase::BaseCase,
                    round: 0,
                    kernel,
                    workgroups: grid(end - first, self.limits),
                    bindings: bindings.clone(),
                    parameters: vec![
                        ("len", plan.len),
                        ("first", first),
                        ("end", end),
                        ("children", plan.buckets),
                        SEGMENTS,
                        SEGMENTS_POWER,
                    ],
                    keys: u64::from(end - first) * u64::from(tile),
                },
            );
        }
    }

    /// Merges all sorted tiles.
    fn merged_tiles(&self, recording: &mut Recording) {
        let plan = &self.plan;
        let workgroups = plan.len.div_ceil(MERGE_LANES);
        for (first, end) in parts(workgroups, MERGE_LANES, self.limits) {
            self.push(
                recording,
                Step {
                    phase: Phase::Merge,
                    round: 0,
                    kernel: Kernel::SampleSort(SampleSortKernel::MergedTiles {
                        tiles: plan.merged,
                    }),
                    workgroups: grid(end - first, self.limits),
                    bindings: self.moves(self.away, self.home, &[]),
                    parameters: vec![
                        ("len", plan.len),
                        ("tile", plan.tile),
                        ("first", first),
                        ("end", end),
                        SEGMENTS,
                        SEGMENTS_POWER,
                    ],
                    keys: u64::from(end - first) * u64::from(MERGE_LANES),
                },
            );
        }
    }

    /// Partitions the tiles of the input among the buckets, or those of the buckets among their children.
    fn partitioned_tiles(&self, recording: &mut Recording, at: Records, buckets: u32) {
        let plan = &self.plan;
        let first = buckets == 1;
        let tiles = if first {
            plan.tiles()
        } else {
            plan.bucket_tiles()
        };
        let mut bindings = vec![("keys", at.0)];
        if self.payload != Payload::None {
            bindings.push(("values", at.1));
        }
        bindings.extend([SPLITTERS, TIES, PREFIXES]);
        if !first {
            bindings.extend([BUCKET_TABLE, TILE_TABLE]);
        }
        for (from, end) in parts(tiles, plan.tile, self.limits) {
            self.push(
                recording,
                Step {
                    phase: Phase::BaseCase,
                    round: u32::from(!first),
                    kernel: Kernel::SampleSort(SampleSortKernel::PartitionedTiles {
                        tile: Tile {
                            records: plan.tile,
                            merges: plan.label_merges,
                        },
                        children: if first { plan.first_fine() } else { plan.fine },
                        first,
                    }),
                    workgroups: grid(end - from, self.limits),
                    bindings: bindings.clone(),
                    parameters: vec![
                        ("len", plan.len),
                        ("first", from),
                        ("end", end),
                        ("buckets", buckets),
                        ("children", plan.buckets),
                        ("most_children", plan.most_children),
                        ("rank_begin", self.ranks.start),
                        ("rank_end", self.ranks.end),
                        KEY_FIRST,
                        KEY_STRIDE,
                        KEY_SHIFT,
                        SEGMENTS,
                        SEGMENTS_POWER,
                    ],
                    keys: u64::from(end - from) * u64::from(plan.tile),
                },
            );
        }
    }

    /// Packs the children of each bucket into groups.
    fn packed_children(&self, recording: &mut Recording) {
        let plan = &self.plan;
        self.push(
            recording,
            Step {
                phase: Phase::Ranks,
                round: 2,
                kernel: Kernel::SampleSort(SampleSortKernel::PackedChildren {
                    children: plan.fine,
                }),
                workgroups: grid(plan.buckets, self.limits),
                bindings: vec![BUCKET_TABLE, PREFIXES, CHILD_TABLE, OVERFLOWS, SPLITTERS],
                parameters: vec![
                    ("len", plan.len),
                    ("buckets", plan.buckets),
                    ("children", plan.fine),
                    ("tile", plan.tile),
                    ("capacity", plan.child),
                    ("most_children", plan.most_children),
                ],
                keys: plan.prefix_words(),
            },
        );
    }

    /// Chooses the splitters of each bucket.
    fn splitters(
        &self,
        recording: &mut Recording,
        from: Records,
        buckets: u32,
        children: u32,
        raw: bool,
    ) {
        let samples = self.plan.samples;
        let mut bindings = self.reads(from, &[BUCKET_TABLE, SPLITTERS, TIES]);
        // A sample has the number of its tile with it, or its index.
        if self.payload == Payload::Values {
            bindings.retain(|binding| binding.0 != "source_values");
        }
        self.push(
            recording,
            Step {
                phase: Phase::Splitters,
                round: u32::from(!raw && self.plan.buckets > 1),
                kernel: Kernel::SampleSort(SampleSortKernel::SampleSplitters {
                    samples: self.tile(samples),
                }),
                workgroups: grid(buckets, self.limits),
                bindings,
                parameters: vec![
                    ("len", self.plan.len),
                    ("buckets", buckets),
                    ("children", children),
                    ("raw", raw.into()),
                    ("rank_begin", self.ranks.start),
                    ("rank_end", self.ranks.end),
                    KEY_FIRST,
                    KEY_STRIDE,
                    KEY_SHIFT,
                    SEGMENTS,
                    SEGMENTS_POWER,
                ],
                keys: u64::from(buckets) * u64::from(samples),
            },
        );
    }

    /// Distributes the sorted tiles into buckets, whose tiles are sorted again.
    fn bucket_tiles(&self, recording: &mut Recording) {
        let plan = &self.plan;
        let (tile, tiles) = (plan.tile, plan.tiles());
        let slots = plan.bucket_tiles();
        recording.reserve(Buffer::TileTable, u64::from(slots) * 16);
        self.push(
            recording,
            Step {
                phase: Phase::Ranks,
                round: 0,
                kernel: Kernel::SampleSort(SampleSortKernel::RowSums),
                workgroups: grid(plan.buckets - 1, self.limits),
                bindings: vec![PREFIXES],
                parameters: vec![
                    ("len", plan.len),
                    ("rows", plan.buckets - 1),
                    ("tile", tile),
                ],
                keys: u64::from(plan.buckets) * u64::from(tiles),
            },
        );
        self.push(
            recording,
            Step {
                phase: Phase::Ranks,
                round: 1,
                kernel: Kernel::SampleSort(SampleSortKernel::BucketTable),
                workgroups: grid(slots.div_ceil(256), self.limits),
                bindings: vec![PREFIXES, BUCKET_TABLE, TILE_TABLE, CHILD_TABLE],
                parameters: vec![
                    ("len", plan.len),
                    ("buckets", plan.buckets),
                    ("tile", tile),
                    ("tiles_power", tiles.next_power_of_two()),
                    ("samples", plan.samples),
                    ("capacity", plan.child),
                    ("most_children", plan.most_children),
                    ("fine", plan.fine),
                ],
                keys: u64::from(slots),
            },
        );
        for (first, end) in parts(slots, tile, self.limits) {
            self.push(
                recording,
                Step {
                    phase: Phase::Distribution,
                    round: 0,
                    kernel: Kernel::SampleSort(if plan.fine > 0 {
                        SampleSortKernel::GatheredTiles { tile }
                    } else {
                        SampleSortKernel::BucketTiles {
                            tile: self.tile(tile),
                        }
                    }),
                    workgroups: grid(end - first, self.limits),
                    bindings: self.moves(
                        self.home,
                        self.away,
                        &[PREFIXES, BUCKET_TABLE, TILE_TABLE],
                    ),
                    parameters: vec![
                        ("len", plan.len),
                        ("first", first),
                        ("end", end),
                        ("buckets", plan.buckets),
                        ("tile", tile),
                        ("rank_begin", self.ranks.start),
                        ("rank_end", self.ranks.end),
                        KEY_FIRST,
                        KEY_STRIDE,
                        KEY_SHIFT,
                        SEGMENTS,
                        SEGMENTS_POWER,
                    ],
                    keys: u64::from(end - first) * u64::from(tile),
                },
            );
        }
    }

    /// What the children's kernels need to know.
    fn of_children(&self, children: u32) -> [(&'static str, u32); 12] {
        [
            ("len", self.plan.len),
            ("buckets", self.plan.buckets),
            ("children", children),
            ("tile", self.plan.tile),
            ("most_children", self.plan.most_children),
            ("rank_begin", self.ranks.start),
            ("rank_end", self.ranks.end),
            KEY_FIRST,
            KEY_STRIDE,
            KEY_SHIFT,
            SEGMENTS,
            SEGMENTS_POWER,
        ]
    }

    /// Ranks the splitters of each bucket in its tiles.
    fn splitter_ranks(&self, recording: &mut Recording, children: u32) {
        let plan = &self.plan;
        self.push(
            recording,
            Step {
                phase: Phase::Ranks,
                round: if plan.buckets == 1 { 0 } else { 2 },
                kernel: Kernel::SampleSort(SampleSortKernel::SplitterRanks {
                    lanes: plan.rank_lanes(),
                }),
                workgroups: grid(plan.likely_groups(), self.limits),
                bindings: self.reads(
                    self.away,
                    &[
                        PREFIXES,
                        BUCKET_TABLE,
                        CHILD_TABLE,
                        SPLITTERS,
                        TIES,
                        OVERFLOWS,
                    ],
                ),
                parameters: self.of_children(children).to_vec(),
                keys: plan.prefix_words(),
            },
        );
    }

    /// Sorts what is between the splitters of each bucket.
    fn sorted_buckets(&self, recording: &mut Recording, children: u32) {
        let plan = &self.plan;
        let all = plan.groups();
        let likely = plan.likely_groups();
        let common = self.of_children(children);
        let tile = self.tile(plan.child);
        // A loop around what is written out takes llvmpipe minutes to compile.
        let large = Tile {
            merges: match self.plan.merges {
                Merges::WrittenOut => Merges::Compact,
                merges => merges,
            },
            ..tile
        };
        let tables = [PREFIXES, BUCKET_TABLE, CHILD_TABLE, OVERFLOWS];
        let mut step = |kernel, first, end, workgroups, rest| {
            self.push(
                recording,
                Step {
                    phase: Phase::BucketSort,
                    round: 0,
                    kernel: Kernel::SampleSort(kernel),
                    workgroups: grid(workgroups, self.limits),
                    bindings: self.moves(self.away, self.home, &tables),
                    parameters: [
                        &common[..],
                        &[("first", first), ("end", end), ("rest", rest)],
                    ]
                    .concat(),
                    keys: u64::from(plan.len) * u64::from(end - first) / u64::from(all),
                },
            );
        };
        if plan.buckets == 1 {
            // Few keys: one dispatch less is worth more than a simpler kernel.
            let kernel = SampleSortKernel::LargeBuckets { tile: large };
            step(kernel, 0, all, all, 0);
            return;
        }
        for (first, end) in parts(likely, plan.child, self.limits) {
            let kernel = SampleSortKernel::SortedBuckets { tile };
            step(kernel, first, end, end - first, likely);
        }
        let workgroups = plan.overflow_workgroups();
        let kernel = SampleSortKernel::LargeBuckets { tile: large };
        step(kernel, 0, workgroups, workgroups, likely);
    }
}

impl Job<'_> {
    const fn tile(&self, records: u32) -> Tile {
        Tile {
            records,
            merges: self.plan.merges,
        }
    }

    /// The records that a kernel reads, and the tables.
    fn reads(&self, from: Records, tables: &[Table]) -> Vec<Table> {
        let mut bindings = vec![("source", from.0)];
        if self.payload != Payload::None {
            bindings.push(("source_values", from.1));
        }
        bindings.extend_from_slice(tables);
        bindings
    }

    /// The records that a kernel reads, those that it writes, and the tables.
    fn moves(&self, from: Records, to: Records, tables: &[Table]) -> Vec<Table> {
        let mut bindings = self.reads(from, tables);
        bindings.push(("destination", to.0));
        if self.payload != Payload::None {
            bindings.push(("destination_values", to.1));
        }
        bindings
    }
}

/// Keys are contiguous.
const KEY_FIRST: (&str, u32) = ("key_first", 0);
const KEY_STRIDE: (&str, u32) = ("key_stride", 1);
const KEY_SHIFT: (&str, u32) = ("key_shift", 0);
/// There is one array.
const SEGMENTS: (&str, u32) = ("segments", 0);
const SEGMENTS_POWER: (&str, u32) = ("segments_power", 0);

/// A name, and what is bound to it.
type Table = (&'static str, Buffer);
const SPLITTERS: Table = ("splitters", Buffer::Splitters);
const TIES: Table = ("ties", Buffer::Ties);
const PREFIXES: Table = ("prefixes", Buffer::Prefixes);
const BUCKET_TABLE: Table = ("bucket_table", Buffer::BucketTable);
const CHILD_TABLE: Table = ("child_table", Buffer::ChildTable);
const OVERFLOWS: Table = ("overflows", Buffer::Overflows);
const TILE_TABLE: Table = ("tile_table", Buffer::TileTable);
