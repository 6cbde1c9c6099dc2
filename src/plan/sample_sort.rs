//! Arithmetic of the sample sort: tiles, buckets, samples, and how many records a bucket may be given.

use super::DeviceLimits;
use crate::algorithm::{MOST_SAMPLE_BUCKETS, Merges, W, partition_bytes, tile_bytes};
use crate::{KeyType, Payload};

/// The numbers that decide the sample sort's speed, and not its result.
///
/// Measured on an H200, u32 keys, ms, as `wgpu-bcfsort bench --engines sample-sort --tuning FILE`
/// measures them with these numbers in the file:
///
/// | tile | child | samples | bucket | 2^24 | 2^26 |
/// |---|---|---|---|---|---|
/// | 4096 | 8192 | 8192 | 2^18 | | 2.83 |
/// | 4096 | 4096 | 8192 | 2^18 | | **2.70** |
/// | 4096 | 4096 | 4096 | 2^16 | **0.762** | |
///
/// Merges as a loop in the kernels take a GPU as long as written out, and with keys of 64 bits about
/// half as long. Lavapipe sorts faster where they are written out.
///
/// Few tiles, merged at once, against distribution: 2^12 keys 0.027 and 0.030 (one tile), 2^14 0.029 and 0.076, 2^15 0.034
/// and 0.073, 2^16 0.043 and 0.074; of 64 bits 0.052 and 0.063, 0.065 and 0.152, 0.077 and 0.146, 0.088 and 0.157. (At the clock of
/// a GPU with little to do: in turns with others, each waited for.) In tiles of 4096 2^14 keys take 0.035, 2^15 0.038;
/// 2^17 keys in 32 tiles 0.076 against 0.080, of 64 bits 0.186 against 0.169.
///
/// `wgpu-bcfsort tune` finds what suits a device, and writes it to a file.
///
/// # Examples
///
/// The file, read with the feature `serde`. Of its fields a program needs but one, `tuning`:
///
#[cfg_attr(feature = "serde", doc = "```")]
#[cfg_attr(not(feature = "serde"), doc = "```ignore")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use wgpu_bcfsort::{Engine, Options, Tuning};
///
/// #[derive(serde::Deserialize)]
/// struct TuningFile {
///     tuning: Tuning,
/// }
///
/// // What the file does not name is as by default.
/// let text = r#"{ "adapter": "NVIDIA H200", "tuning": { "tile": 2048, "looped": false } }"#;
/// let TuningFile { tuning } = serde_json::from_str(text)?;
/// assert_eq!((tuning.tile, tuning.child), (2048, Tuning::default().child));
/// // A sorter does the same, and refuses nonsense.
/// tuning.validate()?;
/// let options = Options::default().engine(Engine::SampleSort).tuning(tuning);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Tuning {
    /// Records of a tile of the input and of a bucket, at the most: 1024 to 8192, a power of two; less
    /// where workgroup memory is too small for so many.
    pub tile: u32,
    /// Records that a child of a bucket may have, at the most: the tile that it is sorted in.
    pub child: u32,
    /// Samples that a bucket's splitters are chosen from, at the most.
    pub samples: u32,
    /// Records from which on they are distributed twice.
    pub twice: u32,
    /// Records of a bucket of the first of two distributions, about. There are at most 255 buckets, and at most
    /// a sixteenth of a tile's records.
    pub bucket: u32,
    /// Whether the kernels have the form that suits GPUs: merges of a tile are looped, and there are
    /// workgroups for all that there can be to do. If not, merges are written out, and compact for
    /// records of more than one word, which llvmpipe compiles very slowly otherwise, and
    /// workgroups are as many as are likely.
    pub looped: bool,
    /// Words of a record from which on two distributions partition tiles rather than
    /// sort them.
    pub partition: u32,
    /// Children that a bucket is partitioned into: a power of two, 32 to 512.
    pub fine: u32,
    /// Records up to which sorted tiles are merged, all at once, and not distributed: in 16 tiles at the most.
    pub merged: u32,
}

impl Tuning {
    /// What suits a CPU, where memory costs what workgroup memory does, dispatches little, and a workgroup that finds
    /// nothing to do takes as long as one that does.
    ///
    /// Lavapipe on two cores, ms, by the same command, each row in one run:
    ///
    /// | keys | here | otherwise |
    /// |---|---|---|
    /// | 2^13 u32 | 1.25 merged at once | 1.53 distributed |
    /// | 2^13 u64 | 2.05 merged at once | 2.96 distributed |
    /// | 2^14 u32 | 2.71 distributed | 3.67 merged at once |
    /// | 2^14 u64 | 5.64 distributed | 6.38 merged at once |
    /// | 2^15 u32 | 5.60 distributed twice | 7.40 once |
    /// | 2^15 u64 | 14.5 distributed twice | 14.5 once |
    /// | 2^18 u32 | 29.0 in tiles of 1024 | 38.0 of 2048 |
    /// | 2^18 u64 | 108 in tiles of 1024 | 118 of 2048 |
    /// | 2^20 u32 | 159 in tiles of 1024 | 161 of 2048 |
    #[must_use]
    pub const fn cpu() -> Self {
        Self {
            tile: 1024,
            child: 1024,
            samples: 2048,
            twice: 1 << 15,
            bucket: 1 << 15,
            looped: false,
            merged: 1 << 13,
            ..Self::gpu()
        }
    }

    const fn gpu() -> Self {
        Self {
            tile: 4096,
            child: 4096,
            samples: 8192,
            twice: 3 << 18,
            bucket: 1 << 17,
            looped: true,
            partition: 2,
            fine: 256,
            merged: 1 << 16,
        }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::gpu()
    }
}

/// The plan of a sample sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSort {
    /// Records.
    pub len: u32,
    /// Records of a tile. If all fit one, it is all there is.
    pub tile: u32,
    /// Records that a child may have.
    pub child: u32,
    /// Samples a bucket.
    pub samples: u32,
    /// Tiles that are merged at once, or up to twice as many as there are: a power of two; 0 if they are distributed.
    pub merged: u32,
    /// Buckets of the first distribution: 1 if there is but one distribution.
    pub buckets: u32,
    /// Children of a bucket, at the most.
    pub most_children: u32,
    /// Whether tiles are partitioned, and not sorted, before they are distributed: if not 0, by so many children
    /// a bucket.
    pub fine: u32,
    /// The form of the kernels' merges.
    pub merges: Merges,
    /// That of kernels that sort labels.
    pub label_merges: Merges,
    /// Whether a workgroup that finds nothing to do takes as long as any: on CPUs. On GPUs it is gone at once.
    pub idle_workgroups_cost: bool,
}

/// The largest tile that fits workgroup memory, with records of `words` words; 1024 at least.
#[must_use]
pub const fn largest_tile(words: u32, workgroup_bytes: u32) -> u32 {
    let mut tile = LARGEST;
    while tile > SMALLEST && tile_bytes(tile, words) > workgroup_bytes {
        tile /= 2;
    }
    tile
}

/// A record is looked for in each of them.
const MOST_MERGED_TILES: u32 = 16;

const SMALLEST: u32 = W * W;
const LARGEST: u32 = 8 * SMALLEST;

impl SampleSort {
    /// Plans a sort of `len` records.
    #[must_use]
    pub fn new(
        len: u32,
        key: KeyType,
        payload: Payload,
        tuning: &Tuning,
        limits: &DeviceLimits,
    ) -> Self {
        Self::of_words(len, key.words(), key.words(), payload, tuning, limits)
    }

    /// Plans a sort of `len` records whose keys are compared as `key_words` words, and moved as `moved_words`.
    #[must_use]
    pub fn of_words(
        len: u32,
        key_words: u32,
        moved_words: u32,
        payload: Payload,
        tuning: &Tuning,
        limits: &DeviceLimits,
    ) -> Self {
        let words = key_words + payload.words();
        let fits = |words, wanted: u32| {
            let wanted = wanted.next_power_of_two().clamp(SMALLEST, LARGEST);
            wanted.min(largest_tile(words, limits.workgroup_bytes))
        };
        let (tile, child) = (fits(words, tuning.tile), fits(words, tuning.child));
        let sample_words = match payload {
            Payload::None | Payload::Values => key_words,
            Payload::Indices => words,
        };
        let samples = fits(sample_words, tuning.samples);
        let power = |records: u32| records.max(1).next_power_of_two();
        let mut plan = Self {
            len,
            tile,
            child,
            samples,
            merged: 0,
            buckets: 1,
            most_children: 2,
            fine: 0,
            merges: match (tuning.looped, words) {
                (true, _) => Merges::Looped,
                (false, 1) => Merges::WrittenOut,
                (false, _) => Merges::Compact,
            },
            label_merges: if tuning.looped {
                Merges::Looped
            } else {
                Merges::Compact
            },
            idle_workgroups_cost: !tuning.looped,
        };
        let few = power(len.div_ceil(MOST_MERGED_TILES)).clamp(SMALLEST, tile);
        let merged = power(len.div_ceil(few));
        if len > SMALLEST && len <= tuning.merged && merged <= MOST_MERGED_TILES {
            plan.tile = few;
            plan.merged = merged;
            return plan;
        }
        if len <= tile {
            plan.tile = power(len).clamp(SMALLEST, tile);
            return plan;
        }
        if len >= tuning.twice && words >= tuning.partition {
            plan.partition(moved_words + payload.words(), key_words, tuning, limits);
            return plan;
        }
        if len >= tuning.twice {
            let buckets = |tile: u32| {
                let most = MOST_SAMPLE_BUCKETS.min(tile / 16);
                len.div_ceil(tuning.bucket).clamp(2, most)
            };
            // Buckets of so many tiles that samples tell too little: larger tiles, if there can be any.
            let misses = |plan: &Self| {
                let records = len / buckets(plan.tile);
                margin(records, plan.tile, plan.samples) > plan.child / 3
            };
            while misses(&plan) && plan.tile < fits(words, LARGEST) {
                plan.tile *= 2;
                plan.child = fits(words, plan.child.max(plan.tile));
            }
            plan.buckets = buckets(plan.tile);
        } else {
            // About as many tiles as a large GPU runs at once, each as small as may be.
            plan.tile = power(len / 128).clamp(SMALLEST, tile);
            plan.samples = power(len / 32).clamp(SMALLEST, samples);
            let margin = margin(len, plan.tile, plan.samples);
            plan.child = power(3 * margin).clamp((2 * SMALLEST).min(child), child);
        }
        plan.most_children = plan.tile / 16;
        plan
    }

    /// Plans two distributions of records of `words` words by labels, found by their keys of `key_words`.
    fn partition(&mut self, words: u32, key_words: u32, tuning: &Tuning, limits: &DeviceLimits) {
        // Each child has a word a tile in the table of ranks, which is to be less than a tenth of the records, or than half of the
        // memory that there may be for tables.
        const TABLE_BYTES: u64 = 8 << 20;
        let len = u64::from(self.len);
        let has_room_for_ranks = |tile: u32, fine| {
            let table = u64::from(fine) * len.div_ceil(tile.into()) * 4;
            table <= (len * u64::from(words) * 4 / 10).max(TABLE_BYTES)
        };
        let has_room_for_tile = |tile, fine| {
            tile <= LARGEST && partition_bytes(tile, fine, key_words) <= limits.workgroup_bytes
        };
        self.fine = tuning.fine.next_power_of_two().clamp(32, 512);
        self.tile = tuning.tile.next_power_of_two().clamp(SMALLEST, LARGEST);
        // (Few records of many words may fit one of these tiles, and yet no tile that is sorted.)
        while self.tile > SMALLEST
            && (!has_room_for_tile(self.tile, self.fine) || self.tile >= self.len)
        {
            self.tile /= 2;
        }
        while self.fine > 32 && !has_room_for_ranks(self.tile, self.fine) {
            if has_room_for_tile(2 * self.tile, self.fine) {
                self.tile *= 2;
            } else {
                self.fine /= 2;
            }
        }
        let most = MOST_SAMPLE_BUCKETS.min(self.fine);
        self.buckets = self.len.div_ceil(tuning.bucket).clamp(2, most);
        // Children that fill a good part of a tile cannot be packed well.
        while self.fine < 512.min(self.tile * words / 20)
            && has_room_for_tile(self.tile, 2 * self.fine)
            && self.len / (self.buckets * self.fine) > self.child / 4
        {
            self.fine *= 2;
        }
        self.most_children = self.fine;
    }

    /// The plan for `len` numbers of rows that a caller's function compares. If there are more than a tile's, they are
    /// distributed by labels, twice: whatever the function says of two rows, each number has one label, and so one place.
    #[must_use]
    pub fn comparing(len: u32, tuning: &Tuning, limits: &DeviceLimits) -> Self {
        // A comparison reads two rows from memory, and a record of a larger tile takes part in more of them: so what is
        // sorted by comparisons is small, and there is much of it. (At 2^16 rows one workgroup with 8192 samples took most of the
        // time.)
        let bucket = tuning.bucket.min(1 << 16);
        let buckets = len.div_ceil(bucket.max(1)).clamp(2, MOST_SAMPLE_BUCKETS);
        let child = 3 * (len / (buckets * tuning.fine.next_power_of_two().clamp(32, 512)));
        let tile = if len < 1 << 19 { 2 * SMALLEST } else { LARGEST };
        let tuning = Tuning {
            // (A function that contradicts itself would lose rows.)
            merged: 0,
            twice: 0,
            partition: 1,
            tile: tuning.tile.min(tile),
            child: tuning.child.min(child.next_power_of_two().max(SMALLEST)),
            samples: tuning.samples.min(2 * SMALLEST),
            bucket,
            ..*tuning
        };
        let plan = Self::new(len, KeyType::U32, Payload::None, &tuning, limits);
        Self {
            merges: Merges::Stages,
            ..plan
        }
    }

    /// Whether it is unlikely that many children overflow their tiles. If it is not, there are too many
    /// records for the samples that fit workgroup memory, and the sort is slow, if right.
    #[must_use]
    pub fn has_room(&self) -> bool {
        if self.is_one_tile() || self.merged > 0 {
            return true;
        }
        let records = self.len / self.buckets;
        if let Some(child) = records.checked_div(self.fine) {
            return child <= self.child / 2;
        }
        margin(records, self.tile, self.samples) <= self.child
    }

    /// Children that the first of two distributions looks for a record's in, where tiles are partitioned.
    pub(crate) fn first_fine(&self) -> u32 {
        self.buckets.next_power_of_two().max(32).min(self.fine)
    }

    /// Whether one workgroup sorts everything.
    #[must_use]
    pub const fn is_one_tile(&self) -> bool {
        self.len <= self.tile
    }

    /// Tiles of the input.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.len.div_ceil(self.tile)
    }

    /// Tiles of all buckets, at the most: each may have one that is not full.
    #[must_use]
    pub const fn bucket_tiles(&self) -> u32 {
        if self.buckets == 1 {
            self.tiles()
        } else {
            self.tiles() + self.buckets
        }
    }

    /// Children of a bucket of so many records.
    ///
    /// As many as that, by ten standard deviations or more, none has more records than [`child`](Self::child):
    /// the number of records between two samples misses what it should be by up to an interval in
    /// each tile, evenly distributed and independent, so by `interval * sqrt(2 tiles / 12)`, and 2.5
    /// times `interval * sqrt(tiles)` is left free. But never more than half.
    #[must_use]
    pub fn children(&self, records: u32) -> u32 {
        if records <= self.child {
            return records.min(1);
        }
        let margin = margin(records, self.tile, self.samples).min(self.child / 2);
        records
            .div_ceil(self.child - margin)
            .min(self.most_children)
    }

    /// Children of all buckets, at the most.
    #[must_use]
    pub fn all_children(&self) -> u32 {
        if self.fine > 0 {
            self.buckets * self.fine
        } else if self.buckets == 1 {
            self.children(self.len)
        } else {
            self.len / (self.child / 2) + self.buckets
        }
    }

    /// Tiles that the children are sorted in, at the most: each a child, or, where there is more than
    /// one in it, as many as fit; so that two consecutive ones of a bucket have more than one tile's records.
    #[must_use]
    pub fn groups(&self) -> u32 {
        if self.fine > 0 {
            let half = self.child.div_ceil(2);
            (self.len / half + self.buckets).min(self.all_children())
        } else {
            self.all_children()
        }
    }

    /// Those of them that have a workgroup each: all, unless [idle ones cost](Self::idle_workgroups_cost). Then as many as are
    /// likely; the workgroups of those that [overflow](Self::overflow_workgroups) take the others.
    #[must_use]
    pub fn likely_groups(&self) -> u32 {
        let all = self.groups();
        if !self.idle_workgroups_cost || self.buckets == 1 {
            return all;
        }
        // What a group leaves free: a part of the child that did not fit; or what samples may miss.
        let records = self.len / self.buckets;
        let free = match records.checked_div(self.fine) {
            Some(child) => child.min(self.child / 2),
            None => margin(records, self.tile, self.samples).min(self.child / 2),
        };
        (self.len / (self.child - free) + self.buckets).min(all)
    }

    /// Workgroups that sort what does not fit a tile, one after the other: more wait for nothing.
    #[must_use]
    pub fn overflow_workgroups(&self) -> u32 {
        let groups = self.likely_groups();
        let each = if self.idle_workgroups_cost { 32 } else { 1 };
        groups.div_ceil(each).min(64)
    }

    /// Lanes that search for a splitter, each in a tile of its bucket.
    #[must_use]
    pub const fn rank_lanes(&self) -> u32 {
        if self.idle_workgroups_cost { 32 } else { 128 }
    }

    /// Words of the table of ranks, of either distribution.
    #[must_use]
    pub fn prefix_words(&self) -> u64 {
        let first = u64::from(self.buckets - 1) * u64::from(self.tiles());
        let second = if self.buckets == 1 {
            u64::from(self.children(self.len).max(1) - 1) * u64::from(self.tiles())
        } else {
            u64::from(self.most_children - 1) * u64::from(self.bucket_tiles())
        };
        first.max(second).max(1)
    }
}

/// Records to be left free in a child, so that it does not overflow.
fn margin(records: u32, tile: u32, samples: u32) -> u32 {
    let interval = records.div_ceil(samples).min(8192);
    let tiles = records.div_ceil(tile);
    let root = tiles.isqrt() + u32::from(tiles.isqrt().pow(2) < tiles);
    interval * root * 5 / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(workgroup_bytes: u32) -> DeviceLimits {
        DeviceLimits {
            buffer_bytes: u64::MAX,
            workgroups: 65_535,
            keys_per_dispatch: 1 << 25,
            workgroup_bytes,
            workgroup_lanes: 1024,
        }
    }

    #[test]
    fn children_leave_room_for_what_samples_miss() {
        let plan = SampleSort::new(
            1 << 26,
            KeyType::U32,
            Payload::None,
            &Tuning::default(),
            &limits(48 << 10),
        );
        assert_eq!((plan.tile, plan.child, plan.samples), (4096, 4096, 8192));
        assert_eq!(plan.buckets, 255);
        for records in [5000, 1 << 17, 1 << 18, 300_000] {
            let average = records / plan.children(records);
            let interval = f64::from(records.div_ceil(plan.samples));
            let tiles = f64::from(records.div_ceil(plan.tile));
            let deviation = interval * (tiles / 6.0).sqrt();
            assert!(f64::from(average) + 5.0 * deviation <= f64::from(plan.child));
        }
        // Larger tiles where there would be too many of them.
        let large = SampleSort::new(
            1 << 28,
            KeyType::U32,
            Payload::None,
            &Tuning::default(),
            &limits(48 << 10),
        );
        assert_eq!((large.tile, large.child), (8192, 8192));
        assert_eq!(plan.children(0), 0);
        assert_eq!(plan.children(4096), 1);
    }
}
