//! Records the dispatches of a sample sort.

use super::kernels::{self, COUNTED, MERGE_LANES, MOVED, ROOMS, SortParams, TileSizes};
use super::plan::{Level, Sizes, SortPlan};
use super::shape::Shape;
use super::tuning::Tuning;
use crate::device::{DeviceLimits, grid, parts};
use crate::key::KeyMap;
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::shader::Kernel;
use std::ops::Range;

/// The buffers of records: keys, and values if there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// Keys of one or two words.
    pub keys: Buffer,
    /// Values of one word.
    pub values: Option<Buffer>,
}

/// A sort of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordSort {
    /// The number of records.
    pub len: u32,
    /// The type of the records. With a custom comparator, the rows are in [`Buffer::Keys`], and the
    /// records are their indices.
    pub shape: Shape,
    /// The input. It is unchanged if it is not the target.
    pub source: Records,
    /// The result.
    pub target: Records,
    /// Scratch memory of the same size or more, separate from source and target.
    pub scratch: Records,
    /// The key map: applied at the first read, inverted at the last write.
    pub map: KeyMap,
    /// The ranks whose records must be in order; `None` for all.
    pub ranks: Option<Ranks>,
}

/// The ranks whose records a sort puts in order. The other records are before and after them, in
/// any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The ranks: of all records, or of those of each segment.
    pub range: Range<u32>,
    /// The first word, and the number, of the offsets of the segments in [`Buffer::Offsets`].
    /// Records are in the order of their segments.
    pub segments: Option<(u32, u32)>,
}

/// The identity map: keys are unsigned words.
pub const AS_THEY_ARE: KeyMap = KeyMap {
    bits: 64,
    sign_mask: 0,
    flip: 0,
};

/// Records a sort, with the sizes for a tuning and a device.
pub fn record(recording: &mut Recording, sort: &WordSort, tuning: &Tuning, limits: &DeviceLimits) {
    let sizes = Sizes::new(sort.shape, tuning, limits);
    record_with(recording, sort, &sizes, limits);
}

/// Records a sort with the given sizes.
pub fn record_with(
    recording: &mut Recording,
    sort: &WordSort,
    sizes: &Sizes,
    limits: &DeviceLimits,
) {
    // A single record is already sorted: a map and its inverse do not change it.
    if sort.len == 0 || (sort.len == 1 && sort.source == sort.target) {
        return;
    }
    let plan = SortPlan::new(sort.len, sizes);
    let room = match &plan {
        SortPlan::Levels(levels) => levels[0].estimate.unwrap_or_default().room,
        _ => 0,
    };
    let recorder = Recorder {
        sort,
        sizes,
        limits,
        room,
    };
    let mut reserve = |records: Records| {
        let words = u64::from(room.max(sort.len)) * 4;
        recording.reserve(records.keys, words * u64::from(sort.shape.key_words()));
        if let Some(values) = records.values {
            recording.reserve(values, words);
        }
    };
    match plan {
        SortPlan::Tile(tile) => {
            let in_place = sort.source == sort.target;
            let maps = (sort.map, sort.map);
            recorder.sort_tiles(recording, tile, in_place, sort.target, maps);
        }
        SortPlan::Tiles(tile) => {
            reserve(sort.scratch);
            let maps = (sort.map, AS_THEY_ARE);
            recorder.sort_tiles(recording, tile, false, sort.scratch, maps);
            recorder.merge_tiles(recording, tile);
        }
        SortPlan::Levels(levels) => {
            reserve(sort.scratch);
            recorder.levels(recording, &levels);
        }
    }
}

struct Recorder<'a> {
    sort: &'a WordSort,
    sizes: &'a Sizes,
    limits: &'a DeviceLimits,
    /// The records for which children have room in scratch memory; 0 if all are counted.
    room: u32,
}

/// A dispatch of one kernel.
#[derive(Clone, Copy)]
struct Dispatch {
    phase: Phase,
    round: u32,
    workgroups: u32,
    /// Records of a workgroup.
    each: u32,
    /// True if the last part does all that is beyond the workgroups.
    is_open: bool,
    keys: u64,
    parameters: SortParams,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self {
            phase: Phase::BaseCase,
            round: 0,
            workgroups: 1,
            each: 1,
            is_open: false,
            keys: 0,
            parameters: SortParams::default(),
        }
    }
}

/// The name of a binding, and its buffer.
type Table = (&'static str, Buffer);
const SPLITTERS: Table = ("splitters", Buffer::Splitters);
const COUNTS: Table = ("counts", Buffer::Counts);
const TILE_SEGMENTS: Table = ("tile_segments", Buffer::TileTable);

/// The partition of one level's segments among their children. Its dispatches get the table of
/// segments that they read.
#[derive(Clone, Copy)]
struct Split<'a> {
    recorder: &'a Recorder<'a>,
    level: &'a Level,
    from: Records,
    to: Records,
    /// The table of the children.
    children: Buffer,
    /// Records of a tile of the next level.
    next_tile: u32,
    /// A dispatch of a workgroup for each segment.
    of_segments: Dispatch,
}

impl Split<'_> {
    /// Chooses the splitters of each segment.
    fn splitters(&self, recording: &mut Recording, segments: Buffer) {
        let Self {
            recorder, level, ..
        } = *self;
        let is_compact = recorder.sizes.is_compact;
        let samples = recorder.most_samples(level);
        let kernel = kernels::splitters(samples, is_compact, recorder.sort.shape);
        let mut bindings = self.of_records(segments);
        bindings.push(("children", self.children));
        let of_samples = Dispatch {
            phase: Phase::Splitters,
            keys: u64::from(level.segments) * u64::from(level.samples),
            ..self.of_segments
        };
        recorder.dispatch(recording, &kernel, &bindings, of_samples);
    }

    /// Counts the records of each child, or of one in each interval.
    fn count(&self, recording: &mut Recording, segments: Buffer) {
        let Self {
            recorder, level, ..
        } = *self;
        let interval_log2 = self.interval_log2();
        let counted = recorder.sort.len.div_ceil(1 << interval_log2);
        let tile = level.partition.tile;
        let tiles = match level.estimate {
            Some(_) => counted.div_ceil(tile),
            None => level.tiles,
        };
        let parameters = self.of_segments.parameters;
        let group_tiles = parameters.group_tiles;
        let of_tiles = Dispatch {
            workgroups: tiles.div_ceil(group_tiles),
            each: tile * group_tiles,
            keys: counted.into(),
            parameters: SortParams {
                interval_log2,
                ..parameters
            },
            ..self.of_segments
        };
        let is_sampled = level.estimate.is_some();
        let kernel = kernels::count(level.partition, is_sampled, recorder.sort.shape);
        recorder.dispatch(recording, &kernel, &self.of_records(segments), of_tiles);
    }

    /// Makes the table of the children, or of the records in `again` that must be moved again.
    fn table(&self, recording: &mut Recording, segments: Buffer, again: Buffer, stage: u32) {
        let recorder = self.recorder;
        let kernel = kernels::table(self.level.partition.nodes);
        let bindings = [
            ("segments", segments),
            SPLITTERS,
            COUNTS,
            ("again", again),
            ("children", self.children),
            ("offsets", recorder.offsets()),
        ];
        let of_children = Dispatch {
            parameters: SortParams {
                stage,
                interval_log2: self.interval_log2(),
                tile: self.next_tile,
                ..self.of_segments.parameters
            },
            ..self.of_segments
        };
        recorder.dispatch(recording, &kernel, &bindings, of_children);
    }

    /// Moves the records to their children.
    fn partition(&self, recording: &mut Recording, segments: Buffer) {
        let Self {
            recorder, level, ..
        } = *self;
        let kernel = kernels::partition(level.partition, recorder.sort.shape);
        let mut bindings = self.of_records(segments);
        bindings.extend(Recorder::target(self.to));
        let of_tiles = Dispatch {
            phase: Phase::Distribution,
            workgroups: level.tiles,
            each: level.partition.tile,
            keys: recorder.sort.len.into(),
            ..self.of_segments
        };
        recorder.dispatch(recording, &kernel, &bindings, of_tiles);
    }

    /// The same without rooms, for the records that a table has.
    fn again(&self) -> Self {
        let mut again = *self;
        again.of_segments.parameters.whole = 0;
        again.of_segments.parameters.target_room = 0;
        again
    }

    /// The log2 of the records of which one is counted.
    fn interval_log2(&self) -> u32 {
        self.level.estimate.map_or(0, |of| of.interval_log2)
    }

    /// The bindings of kernels that read records.
    fn of_records(&self, segments: Buffer) -> Vec<Table> {
        let mut bindings = self.recorder.source(self.from);
        bindings.extend([("segments", segments), SPLITTERS, COUNTS, TILE_SEGMENTS]);
        bindings
    }
}

impl Recorder<'_> {
    fn levels(&self, recording: &mut Recording, levels: &[Level]) {
        let len = self.sort.len;
        let mut from = (self.sort.source, self.sort.map);
        for (number, level) in levels.iter().enumerate() {
            let is_last = number + 1 == levels.len();
            let to = if number % 2 == 0 {
                self.sort.scratch
            } else {
                self.sort.target
            };
            let segments = (number % 2) as u8;
            let next = if is_last {
                Buffer::Items
            } else {
                Buffer::Segments(segments ^ 1)
            };
            let nodes = u64::from(level.segments) * u64::from(level.partition.nodes);
            recording.reserve(
                Buffer::Splitters,
                u64::from(level.segments) * u64::from(self.stride(level)) * 4,
            );
            recording.reserve(Buffer::Counts, nodes * 4);
            recording.reserve(Buffer::TileTable, u64::from(level.tiles) * 4);
            // The first level binds a table of segments, and may move all records again as one.
            recording.reserve(Buffer::Segments(segments), 20);
            // An item has three words, a segment four; and one word is for all of them.
            let words = if is_last {
                3 * u64::from(self.most_items(level))
            } else {
                4 * u64::from(level.segments) * u64::from(level.slots)
            };
            recording.reserve(next, 4 + 4 * words);
            let next = (next, levels.get(number + 1));
            self.split(recording, number as u32, level, from, to, next);
            from = (to, AS_THEY_ARE);
        }
        let Some(last) = levels.last() else {
            return;
        };
        let sort_tile = last.sort_tile;
        let in_place = from.0 == self.sort.target;
        let capacity = sort_tile - 31;
        let items = self.most_items(last);
        let likely = (u64::from(len) * 5 / 4 / u64::from(capacity)) as u32 + last.segments + 1;
        let sizes = TileSizes {
            tile: sort_tile,
            is_compact: self.sizes.is_compact,
            in_place,
            is_spread: last.is_spread,
        };
        let kernel = kernels::sort(sizes, self.sort.shape);
        let bindings = self.sorted(from.0, in_place, self.sort.target);
        let of_items = Dispatch {
            phase: Phase::BucketSort,
            workgroups: likely,
            each: sort_tile,
            is_open: true,
            keys: u64::from(likely) * u64::from(sort_tile),
            parameters: SortParams {
                items,
                is_listed: 1,
                ..self.parameters(AS_THEY_ARE, self.sort.map)
            },
            ..Dispatch::default()
        };
        self.dispatch(recording, &kernel, &bindings, of_items);
    }

    /// Bins of a segment; 0 if its records are searched in a tree alone.
    fn bins(&self, level: &Level) -> u32 {
        let nodes = level.partition.nodes;
        // The splitters' bins, and sums, take the place of the samples.
        let has_room = 2 * nodes <= self.most_samples(level);
        // Every tile loads its segment's table.
        let has_tiles = self.sort.len / level.segments >= 2 * level.partition.tile;
        if self.sort.len >= self.sizes.large && has_room && has_tiles {
            kernels::bins(nodes, level.segments == 1, self.sort.shape)
        } else {
            0
        }
    }

    /// The number of samples for which a level's kernel is compiled: the smallest tile that holds
    /// the samples, since its time depends on its size. A tile has at least 16 lines of 16 records.
    fn most_samples(&self, level: &Level) -> u32 {
        let few = self.sizes.samples.clamp(256, 1024);
        if level.samples <= few {
            few
        } else {
            self.sizes.samples
        }
    }

    /// Words of a segment's splitters and bins.
    fn stride(&self, level: &Level) -> u32 {
        let nodes = level.partition.nodes;
        kernels::splitter_words(nodes, self.bins(level), self.sort.shape)
    }

    /// The largest number of items in a level's table: packed items, of which any two neighbours
    /// exceed a tile; parts of children that are in order; and the remainder of each segment.
    fn most_items(&self, level: &Level) -> u32 {
        let capacity = u64::from(level.sort_tile - 31);
        (3 * u64::from(self.sort.len) / capacity) as u32 + 3 * level.segments + 3
    }

    /// Records one level: partitions its segments.
    fn split(
        &self,
        recording: &mut Recording,
        number: u32,
        level: &Level,
        (from, map): (Records, KeyMap),
        to: Records,
        (children, next_level): (Buffer, Option<&Level>),
    ) {
        let segments = Buffer::Segments((number % 2) as u8);
        let split = Split {
            recorder: self,
            level,
            from,
            to,
            children,
            next_tile: next_level.map_or(1, |next| next.partition.tile),
            of_segments: Dispatch {
                phase: Phase::Ranks,
                round: number,
                workgroups: level.segments,
                keys: u64::from(level.segments) * u64::from(level.partition.nodes),
                parameters: self.of_level(number, level, next_level, map),
                ..Dispatch::default()
            },
        };
        // Only the last table has records that must be moved again, and it reads no segments. Any
        // other table will do in the place of either.
        let unused = match children {
            Buffer::Items => Buffer::Segments((number + 1) as u8 % 2),
            _ => Buffer::Items,
        };
        recording.reserve(unused, 16);
        split.splitters(recording, segments);
        split.count(recording, segments);
        if level.estimate.is_none() {
            split.table(recording, segments, unused, COUNTED);
            split.partition(recording, segments);
            return;
        }
        split.table(recording, segments, unused, ROOMS);
        split.partition(recording, children);
        // All records are moved again, as one segment, if a child had no room.
        split.table(recording, unused, segments, MOVED);
        split.again().partition(recording, segments);
    }

    /// Records a dispatch, in parts that are short enough.
    fn dispatch(&self, to: &mut Recording, kernel: &Kernel, bindings: &[Table], of: Dispatch) {
        for (first, end) in parts(of.workgroups, of.each, self.limits) {
            let workgroups = end - first;
            let keys = of.keys * u64::from(workgroups) / u64::from(of.workgroups);
            let is_open = of.is_open && end == of.workgroups;
            to.steps.push(Step {
                phase: of.phase,
                round: of.round,
                kernel: kernel.clone(),
                workgroups: grid(workgroups, self.limits),
                bindings: bindings.to_vec(),
                parameters: SortParams {
                    first,
                    end: if is_open { u32::MAX } else { end },
                    ..of.parameters
                }
                .into(),
                keys,
            });
        }
    }

    /// The parameters of the kernels of a level.
    fn of_level(
        &self,
        number: u32,
        level: &Level,
        next: Option<&Level>,
        map: KeyMap,
    ) -> SortParams {
        let is_last = next.is_none();
        // Children that are in order in the target need no item, unless their keys must be mapped.
        let skips_done = number % 2 == 1 && self.sort.map.sign_mask == 0 && self.sort.map.flip == 0;
        // A workgroup reads splitters and adds counts once for several tiles, if there are enough
        // workgroups for all multiprocessors.
        let group_tiles = match level.estimate {
            Some(_) => 1,
            None => (level.tiles / 1024).clamp(1, 8),
        };
        let estimate = level.estimate.unwrap_or_default();
        SortParams {
            segments: level.segments,
            whole: u32::from(number == 0),
            source_room: if number == 1 { self.room } else { 0 },
            target_room: estimate.room,
            deviations: self.sizes.rooms.deviations,
            child: level.child,
            slots: if is_last { 0 } else { level.slots },
            nodes: level.partition.nodes,
            bins: self.bins(level),
            stride: self.stride(level),
            samples: level.samples,
            seed: self.limits.sampling_seed.wrapping_add(number),
            skips_done: skips_done.into(),
            tile: level.partition.tile,
            group_tiles,
            capacity: level.sort_tile - 31,
            tiles: level.tiles,
            items: self.most_items(level),
            is_spread: u32::from(is_last && level.is_spread),
            ..self.parameters(map, AS_THEY_ARE)
        }
    }

    /// Sorts each tile of the source.
    fn sort_tiles(
        &self,
        recording: &mut Recording,
        tile: u32,
        in_place: bool,
        to: Records,
        (source, target): (KeyMap, KeyMap),
    ) {
        let sizes = TileSizes {
            tile,
            is_compact: self.sizes.is_compact,
            in_place,
            is_spread: false,
        };
        let kernel = kernels::sort(sizes, self.sort.shape);
        // Without a list, the binding still needs a buffer.
        recording.reserve(Buffer::Items, 16);
        let bindings = self.sorted(self.sort.source, in_place, to);
        let tiles = self.sort.len.div_ceil(tile);
        let of_tiles = Dispatch {
            workgroups: tiles,
            each: tile,
            keys: u64::from(tiles) * u64::from(tile),
            parameters: self.parameters(source, target),
            ..Dispatch::default()
        };
        self.dispatch(recording, &kernel, &bindings, of_tiles);
    }

    /// Merges all sorted tiles.
    fn merge_tiles(&self, recording: &mut Recording, tile: u32) {
        let mut bindings = self.source(self.sort.scratch);
        bindings.extend(Self::target(self.sort.target));
        let workgroups = self.sort.len.div_ceil(MERGE_LANES);
        let kernel = kernels::merge(self.sort.shape);
        let of_tiles = Dispatch {
            phase: Phase::Merge,
            workgroups,
            each: MERGE_LANES,
            keys: u64::from(workgroups) * u64::from(MERGE_LANES),
            parameters: SortParams {
                tile,
                ..self.parameters(AS_THEY_ARE, self.sort.map)
            },
            ..Dispatch::default()
        };
        self.dispatch(recording, &kernel, &bindings, of_tiles);
    }

    /// The offsets of the user's segments. Without segments none are read: any buffer will do that
    /// is not written.
    fn offsets(&self) -> Buffer {
        let segments = self.sort.ranks.as_ref().and_then(|ranks| ranks.segments);
        segments.map_or(TILE_SEGMENTS.1, |_| Buffer::Offsets)
    }

    /// The bindings of source records, and of the rows that a comparator compares.
    fn source(&self, from: Records) -> Vec<Table> {
        let mut bindings = self.rows();
        bindings.push(("source_keys", from.keys));
        bindings.extend(from.values.map(|values| ("source_values", values)));
        bindings
    }

    /// The bindings of a sort of tiles, out of place or in place, and the list of items.
    fn sorted(&self, from: Records, in_place: bool, to: Records) -> Vec<Table> {
        let mut bindings = if in_place {
            self.rows()
        } else {
            self.source(from)
        };
        bindings.extend(Self::target(to));
        bindings.push(("items", Buffer::Items));
        bindings
    }

    fn rows(&self) -> Vec<Table> {
        match self.sort.shape {
            Shape::Row { .. } => vec![("compared_rows", Buffer::Keys)],
            _ => Vec::new(),
        }
    }

    fn target(to: Records) -> Vec<Table> {
        let mut bindings = vec![("target_keys", to.keys)];
        bindings.extend(to.values.map(|values| ("target_values", values)));
        bindings
    }

    /// The parameters of every kernel, with the maps of its source and its target.
    fn parameters(&self, source: KeyMap, target: KeyMap) -> SortParams {
        let all = Ranks {
            range: 0..self.sort.len,
            segments: None,
        };
        let ranks = self.sort.ranks.as_ref().unwrap_or(&all);
        let (offsets_first, rank_segments) = ranks.segments.unwrap_or((0, 0));
        SortParams {
            len: self.sort.len,
            splitter_words: match self.sort.shape {
                Shape::Row { .. } => 0,
                shape => shape.stored_words(),
            },
            rank_begin: ranks.range.start,
            rank_end: ranks.range.end,
            rank_segments,
            offsets_first,
            source_sign_low: source.sign_mask as u32,
            source_sign_high: (source.sign_mask >> 32) as u32,
            source_flip_low: source.flip as u32,
            source_flip_high: (source.flip >> 32) as u32,
            target_sign_low: target.sign_mask as u32,
            target_sign_high: (target.sign_mask >> 32) as u32,
            target_flip_low: target.flip as u32,
            target_flip_high: (target.flip >> 32) as u32,
            ..SortParams::default()
        }
    }
}
