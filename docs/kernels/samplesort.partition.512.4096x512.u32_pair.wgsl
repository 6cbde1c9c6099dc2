// bcfsort.samplesort.partition.512.4096x512.u32_pair

const WORDS: u32 = 2u;
const LANES: u32 = 512u;
const NODES: u32 = 512u;
const TILE: u32 = 4096u;
const CELLS: u32 = 4096u;
const PART: u32 = 4096u;
const VALUES: u32 = 512u;

// Records of two words, the least significant one first.

alias Record = vec2<u32>;

const FIRST: Record = vec2<u32>(0u);
const LAST: Record = vec2<u32>(0xffffffffu);

// `||` and `&&` would be branches, thousands of them in a network.
fn is_greater(a: Record, b: Record) -> bool {
    return (a.y > b.y) | ((a.y == b.y) & (a.x > b.x));
}

fn is_equal(a: Record, b: Record) -> bool {
    return (a.x == b.x) & (a.y == b.y);
}

// The record just before this one; FIRST for FIRST.
fn predecessor(r: Record) -> Record {
    let borrows = r.x == 0u;
    return vec2<u32>(
        r.x - select(1u, 0u, borrows & (r.y == 0u)),
        r.y - select(0u, 1u, borrows & (r.y != 0u)),
    );
}

fn word_of(r: Record, word: u32) -> u32 {
    return select(r.x, r.y, word == 1u);
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}

// Keys of one word.

alias Key = u32;

// A record is a key of one word and a value; equal keys are ordered by value.

fn record_of(key: Key, value: u32) -> Record {
    return vec2<u32>(value, key);
}

fn key_of(r: Record) -> Key {
    return r.y;
}

fn value_of(r: Record) -> u32 {
    return r.x;
}

fn encode_key(key: u32, sign: vec2<u32>, flip: vec2<u32>) -> u32 {
    return key ^ ((0u - (key >> 31u)) & sign.x) ^ flip.x;
}

fn decode_key(key: u32, sign: vec2<u32>, flip: vec2<u32>) -> u32 {
    let bits = key ^ flip.x;
    return bits ^ ((0u - (bits >> 31u)) & sign.x);
}

// The number of a workgroup.
//
// A dispatch of more than 65,535 workgroups is two-dimensional. A long sort is dispatched in parts:
// the first workgroup of a part is a parameter, `first`, which a kernel adds.

fn workgroup_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Parameters of all sample-sort kernels; each kernel reads the ones it needs.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past its last.
    first: u32,
    end: u32,
    // Segments of this level. `whole`: 1 at the first level, whose only segment is all records.
    segments: u32,
    whole: u32,
    // The capacity of the source, and of the target, in records, where children have gaps between
    // them; else 0, and it is `len`.
    source_room: u32,
    target_room: u32,
    // What `table` makes of the counts. Where one record in 2^`interval_log2` is counted, a child
    // gets room for `deviations` standard deviations more.
    stage: u32,
    interval_log2: u32,
    deviations: u32,
    // Approximate records of a child; the next level's slots for the children of one segment.
    child: u32,
    slots: u32,
    // Nodes of a segment's tree, and its bins: a power of two, or 0.
    nodes: u32,
    bins: u32,
    // Words of a segment's splitters and bins.
    stride: u32,
    // Samples of a segment, a power of two.
    samples: u32,
    // The seed of the position of each sample, or counted record, in its interval.
    seed: u32,
    // The output range: the ranks to sort, or with `rank_segments` those of each segment of the
    // user's. These begin at the offsets from word `offsets_first` on.
    rank_begin: u32,
    rank_end: u32,
    rank_segments: u32,
    offsets_first: u32,
    // 1 if items that need no sort are left out of the list.
    skips_done: u32,
    // Records of a tile, to merge or to partition.
    tile: u32,
    // Tiles per workgroup of `count`.
    group_tiles: u32,
    // The largest number of records of an item that fits a tile.
    capacity: u32,
    // Entries of `tile_segments`, and of the list of items.
    tiles: u32,
    items: u32,
    // Words of a splitter; 0 with a custom comparator.
    splitter_words: u32,
    // 1 if there is a list of items to sort.
    is_listed: u32,
    // 1 if items are spread over buckets.
    is_spread: u32,
    // The order-preserving map of records at their read, and at their write.
    source_sign_low: u32,
    source_sign_high: u32,
    source_flip_low: u32,
    source_flip_high: u32,
    target_sign_low: u32,
    target_sign_high: u32,
    target_flip_low: u32,
    target_flip_high: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// The state of an item in its list. EVEN: the samples of its segment were. DONE: it needs no sort.
const EVEN: u32 = 0u;
const DONE: u32 = 1u;
const UNEVEN: u32 = 2u;

// Maps of keys, at the first read and at the last write: see lib/key_map.wgsl.

// Maps a record that was read to the record to compare.
fn encode_source(r: Record) -> Record {
    let sign = vec2<u32>(params.source_sign_low, params.source_sign_high);
    let flip = vec2<u32>(params.source_flip_low, params.source_flip_high);
    return record_of(encode_key(key_of(r), sign, flip), value_of(r));
}

// Maps a sorted record to the record to write.
fn decode_target(r: Record) -> Record {
    let sign = vec2<u32>(params.target_sign_low, params.target_sign_high);
    let flip = vec2<u32>(params.target_flip_low, params.target_flip_high);
    return record_of(decode_key(key_of(r), sign, flip), value_of(r));
}

// True if the source, or the target, has a map that changes keys. A test for many records at once
// costs nothing.
fn maps_source() -> bool {
    let sign = params.source_sign_low | params.source_sign_high;
    return (sign | params.source_flip_low | params.source_flip_high) != 0u;
}

fn maps_target() -> bool {
    let sign = params.target_sign_low | params.target_sign_high;
    return (sign | params.target_flip_low | params.target_flip_high) != 0u;
}

// Records are read from `source_keys` and `source_values`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;
@group(0) @binding(2) var<storage, read> source_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], source_values[i]);
}

// Records are written to `target_keys` and `target_values`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;
@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
    target_values[i] = value_of(r);
}

// Words of a record that are ordered at once.
const ORDERED_WORDS: u32 = 1u;

// Writes the words from `word` on of the record at place `at` of the ordered part of a tile.
fn store_ordered(i: u32, word: u32, at: u32) {
    if word == 0u {
        target_values[i] = cells[at];
    } else {
        target_keys[i] = cells[at];
    }
}

// Workgroup memory as an array of words: the records from word `base` on, in planes of `plane`
// words, one plane for each word of a record. Consecutive records are in different banks.

var<workgroup> cells: array<u32, CELLS>;

fn cells_load(base: u32, plane: u32, i: u32) -> Record {
    return vec2<u32>(cells[base + i], cells[base + plane + i]);
}

fn cells_store(base: u32, plane: u32, i: u32, r: Record) {
    cells[base + i] = r.x;
    cells[base + plane + i] = r.y;
}

// The segments that a level splits: at the first level all records, at others the children of the
// level before. `segments`: the number of tiles of all segments, then for each segment its first
// record, its number of records, its first tile, and its first record's position in the target.
// Source and target differ where the source has room between its segments.
//
// Clamped: a table may hold anything, if other work that shares the memory ran meanwhile. A segment
// is within the source in any case.

@group(0) @binding(5) var<storage, read> segments: array<u32>;

struct Segment {
    start: u32,
    count: u32,
    first_tile: u32,
    target_start: u32,
}

// Records that are counted or moved at the first level.
fn records() -> u32 {
    let part = (1u << params.interval_log2) - 1u;
    return (params.len >> params.interval_log2) + select(0u, 1u, (params.len & part) > 0u);
}

// One `return`: FXC treats a value returned from within a branch as uninitialised, and barriers
// after it as divergent.
fn segment_at(number: u32) -> Segment {
    var segment = Segment(0u, records(), 0u, 0u);
    if params.whole == 0u {
        let at = 1u + 4u * number;
        let room = max(params.len, params.source_room);
        let start = min(segments[at], room);
        let count = min(segments[at + 1u], room - start);
        segment = Segment(start, count, segments[at + 2u], segments[at + 3u]);
    }
    return segment;
}

// The tiles of a segment. They begin at multiples of 32 records, as rows of memory do.
fn tiles_between(start: u32, count: u32) -> u32 {
    return select((count + start % 32u + params.tile - 1u) / params.tile, 0u, count == 0u);
}

fn hash(x: u32) -> u32 {
    var z = x * 0x9e3779b9u;
    z = (z ^ (z >> 15u)) * 0x85ebca6bu;
    z = (z ^ (z >> 13u)) * 0xc2b2ae35u;
    return z ^ (z >> 16u);
}

// A tile of a segment to split, processed by one workgroup: a lane has every LANES-th record.
//
// Clamped as in `segments.wgsl`: a tile is within its segment, and may then be empty.

@group(0) @binding(6) var<storage, read> splitters: array<u32>;
@group(0) @binding(8) var<storage, read> tile_segments: array<u32>;

// Records per lane.
const EACH: u32 = TILE / LANES;

var<workgroup> histogram: array<atomic<u32>, NODES + 1u>;

struct Tile {
    segment: u32,
    // The position of its first row of memory, and its records: [start, end).
    first: u32,
    start: u32,
    end: u32,
    // The last record of the segment; 0 if the segment has no record.
    last: u32,
}

fn tile_at(number: u32) -> Tile {
    var owner = 0u;
    if params.whole == 0u {
        owner = min(tile_segments[number], params.segments - 1u);
    }
    let segment = segment_at(owner);
    let end = segment.start + segment.count;
    let row = segment.start / 32u * 32u;
    let first = min(row + (number - segment.first_tile) * TILE, end);
    let tile_end = first + min(TILE, end - first);
    return Tile(owner, first, max(first, segment.start), tile_end, max(end, 1u) - 1u);
}

// True if all positions of the tile hold records of its segment.
fn is_full(tile: Tile) -> bool {
    return tile.start == tile.first && tile.end == tile.first + TILE;
}

fn tiles() -> u32 {
    var all = (records() + TILE - 1u) / TILE;
    if params.whole == 0u {
        all = min(segments[0], params.tiles);
    }
    return all;
}

// Loads the splitters and the table of bins into workgroup memory, and clears the histogram.
fn load_splitters(segment: u32, lane: u32) -> Bins {
    for (var i = lane; i < NODES; i += LANES) {
        cells_store(0u, NODES, i, splitter_at(segment * params.stride + i * WORDS));
        atomicStore(&histogram[i], 0u);
    }
    if lane == 0u {
        atomicStore(&histogram[NODES], 0u);
    }
    return load_bins(segment, lane);
}

// The upper three levels of the tree, in registers, as all lanes read them.
struct Top {
    n1: Record,
    n2: Record,
    n3: Record,
    n4: Record,
    n5: Record,
    n6: Record,
    n7: Record,
}

fn top_of_tree() -> Top {
    return Top(
        cells_load(0u, NODES, 1u),
        cells_load(0u, NODES, 2u),
        cells_load(0u, NODES, 3u),
        cells_load(0u, NODES, 4u),
        cells_load(0u, NODES, 5u),
        cells_load(0u, NODES, 6u),
        cells_load(0u, NODES, 7u),
    );
}

// The node of the fourth level where the search for a record continues.
fn below_top(top: Top, r: Record) -> u32 {
    let a = is_greater(r, top.n1);
    let b = is_greater(r, pick(top.n2, top.n3, a));
    let low = pick(top.n4, top.n5, b);
    let high = pick(top.n6, top.n7, b);
    let c = is_greater(r, pick(low, high, a));
    return 8u + select(0u, 4u, a) + select(0u, 2u, b) + select(0u, 1u, c);
}

// The node of the next level where the search continues.
fn below(node: u32, r: Record) -> u32 {
    return 2u * node + select(0u, 1u, is_greater(r, cells_load(0u, NODES, node)));
}

// A lane's records, and the child of each; while a tree is searched, the node that is reached.
var<private> r: array<Record, EACH>;
var<private> node: array<u32, EACH>;

// Loads a lane's records. At positions outside of the segment, loads some record of the segment.
fn load_records(tile: Tile, lane: u32) {
    if is_full(tile) {
        for (var j = 0u; j < EACH; j++) {
            r[j] = load_source(tile.first + j * LANES + lane);
        }
    } else {
        for (var j = 0u; j < EACH; j++) {
            r[j] = load_source(clamp(tile.first + j * LANES + lane, tile.start, tile.last));
        }
    }
    map_records();
}

fn map_records() {
    if maps_source() {
        for (var j = 0u; j < EACH; j++) {
            r[j] = encode_source(r[j]);
        }
    }
}

// Searches a lane's records in the tree, all of them together, level by level.
fn search_records() {
    let top = top_of_tree();
    for (var j = 0u; j < EACH; j++) {
        node[j] = below_top(top, r[j]);
    }
    for (var level = 8u; level < NODES; level *= 2u) {
        for (var j = 0u; j < EACH; j++) {
            node[j] = below(node[j], r[j]);
        }
    }
    for (var j = 0u; j < EACH; j++) {
        node[j] -= NODES;
    }
}

// Loads the splitter whose words begin at `at`.

fn splitter_at(at: u32) -> Record {
    return vec2<u32>(splitters[at], splitters[at + 1u]);
}

alias Summand = u32;

const NOTHING: Summand = 0u;

// Summands that all banks hold at once.
const SCAN_LINE: u32 = 32u;

fn added(a: Summand, b: Summand) -> Summand {
    return a + b;
}

const OWN: u32 = VALUES / 32u;

// The place of the first total.
const TOTALS: u32 = VALUES + VALUES / SCAN_LINE;

fn scan_cell(i: u32) -> u32 {
    return i + i / SCAN_LINE;
}

// The sum of the values of the lanes before this one. All lanes must call it. Until the words
// change, that of lane i is at `scan_cell(i)`.
fn exclusive_sum(lane: u32, value: Summand) -> Summand {
    workgroupBarrier();
    if lane < VALUES {
        scan_store(scan_cell(lane), value);
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = NOTHING;
        for (var i = 0u; i < OWN; i++) {
            sum = added(sum, scan_load(scan_cell(lane * OWN + i)));
        }
        scan_store(TOTALS + lane, sum);
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = NOTHING;
        for (var i = 0u; i < 31u; i++) {
            sum = added(sum, select(NOTHING, scan_load(TOTALS + i), i < lane));
        }
        for (var i = 0u; i < OWN; i++) {
            let cell = scan_cell(lane * OWN + i);
            let own = scan_load(cell);
            scan_store(cell, sum);
            sum = added(sum, own);
        }
    }
    workgroupBarrier();
    return scan_load(scan_cell(min(lane, VALUES - 1u)));
}

struct Bins {
    // The first record of the first bin, and log2 of the records of a bin; or NO_BINS.
    low: Record,
    shift: u32,
}

const NO_BINS: u32 = 0xffffffffu;

fn minus(a: Record, b: Record) -> Record {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn plus(a: Record, b: Record) -> Record {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

// `r` / 2^`shift` for a shift below 32; the largest word if the quotient has two words.
fn shifted_right(r: Record, shift: u32) -> u32 {
    // A shift of 32 is one of 0. Then the upper word is 0, or the quotient has two words.
    let word = (r.x >> shift) | (r.y << ((32u - shift) % 32u));
    return select(word, 0xffffffffu, (r.y >> shift) > 0u);
}

// `word` * 2^`shift`.
fn shifted_left(word: u32, shift: u32) -> Record {
    let part = shift % 32u;
    let carry = select(word >> ((32u - part) % 32u), 0u, part == 0u);
    return select(vec2<u32>(word << part, carry), vec2<u32>(0u, word << part), shift >= 32u);
}

// The bins of samples from `least` to `greatest`: as narrow as they may be. Wide ones are ranges of
// the upper word alone.
fn bins_between(least: Record, greatest: Record) -> Bins {
    var low = predecessor(least);
    let log2 = countTrailingZeros(params.bins);
    var range = minus(greatest, low);
    var bits = 32u - countLeadingZeros(range.x);
    if range.y > 0u {
        bits = 64u - countLeadingZeros(range.y);
    }
    var shift = max(bits, log2) - log2;
    if shift >= 32u {
        low.x = 0u;
        // The bins begin earlier now.
        shift = max(64u - countLeadingZeros(greatest.y - low.y), log2 + 32u) - log2;
    }
    // No bin of a single value has other records, too.
    let is_last = shift == 0u && range.x == params.bins - 1u;
    return Bins(low, shift + select(0u, 1u, is_last));
}

// The bin of a record where bins are ranges of the upper word alone.
fn wide_bin_of(bins: Bins, r: Record) -> u32 {
    return min((max(r.y, bins.low.y) - bins.low.y) >> (bins.shift - 32u), params.bins - 1u);
}

fn bin_of(bins: Bins, r: Record) -> u32 {
    var bin = 0u;
    if bins.shift >= 32u {
        bin = (max(r.y, bins.low.y) - bins.low.y) >> (bins.shift - 32u);
    } else {
        let above = pick(r, bins.low, is_greater(bins.low, r));
        bin = shifted_right(minus(above, bins.low), bins.shift);
    }
    return min(bin, params.bins - 1u);
}

fn in_first_word(word: u32) -> Record {
    return vec2<u32>(word, 0u);
}

// The last record of a bin.
fn last_of_bin(bins: Bins, bin: u32) -> Record {
    let first = plus(bins.low, shifted_left(bin, bins.shift));
    let last = plus(first, minus(shifted_left(1u, bins.shift), vec2<u32>(1u, 0u)));
    return pick(last, LAST, (bin == params.bins - 1u) | is_greater(first, last));
}

// Loads the table of a segment's bins into workgroup memory, after the tree.
fn load_bins(segment: u32, lane: u32) -> Bins {
    var bins = Bins(FIRST, NO_BINS);
    if params.bins > 0u {
        let at = segment * params.stride + NODES * WORDS;
        bins = Bins(splitter_at(at + 1u), splitters[at]);
        if bins.shift != NO_BINS {
            for (var i = lane; i < params.bins / 2u; i += LANES) {
                cells[NODES * WORDS + i] = splitters[at + 4u + i];
            }
        }
    }
    return bins;
}

// The child of a bin's records; NODES or more, but less than 2 * NODES whatever the table holds, if
// the bin is crowded.
fn child_of(bin: u32) -> u32 {
    return (cells[NODES * WORDS + bin / 2u] >> (16u * (bin % 2u))) & (2u * NODES - 1u);
}

// Finds the children of a lane's records by their bins. False if one of these is crowded.
//
// Of many records bins are most often ranges of the upper word. One test is for all records then.
fn find_bins(bins: Bins) -> bool {
    var is_found = bins.shift != NO_BINS;
    if is_found && bins.shift >= 32u {
        for (var j = 0u; j < EACH; j++) {
            node[j] = child_of(wide_bin_of(bins, r[j]));
            is_found &= node[j] < NODES;
        }
    } else if is_found {
        for (var j = 0u; j < EACH; j++) {
            node[j] = child_of(bin_of(bins, r[j]));
            is_found &= node[j] < NODES;
        }
    }
    return is_found;
}

// Uses lib/key_map, lib/scan, lib/workgroup, samplesort/bins, samplesort/io, samplesort/params,
// samplesort/segments, samplesort/shape, samplesort/tile.
//
// SAMPLE SORT, partition: moves the records of a segment to its children.
//
//   child       of each record, as in `count`
//   rank        each record among the tile's records of its child: an atomic in workgroup memory
//   room        for the tile's records of each child: an atomic in `counts` per tile and child
//   order       the records by child in workgroup memory, a part of the tile at a time; keys and
//               values of one word one after the other
//   move        them to the target: consecutive records go to consecutive positions
//
// The atomics are executed in any order, so the records of a child are in any order. The final sort
// gives the same bytes in any case.
//
// The child of position p in the ordered tile is found in `marks`, with a word for 16 positions.
// Its lower half marks the positions where a child begins, its upper half counts the children
// before: a search in the starts of the children, since a second sum would take more barriers.
//
// Bank conflicts as in `count`, and where records are stored by child in workgroup memory.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

const MARKS: u32 = TILE / 16u;

var<workgroup> marks: array<atomic<u32>, MARKS>;
// Position in the target minus position in the tile, for each nonempty child of the tile.
var<workgroup> offsets: array<u32, NODES>;

// Sums in place of what is searched, which is not needed any more.

fn scan_load(i: u32) -> u32 {
    return cells[i];
}

fn scan_store(i: u32, value: u32) {
    cells[i] = value;
}

// More than any position, as are the TILE - 1 numbers after it.
const NOWHERE: u32 = 0xffffffffu - (TILE - 1u);

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number >= tiles() {
        return;
    }
    let tile = tile_at(number);
    if tile.start >= tile.end {
        return;
    }
    let bins = load_splitters(tile.segment, lane);
    for (var i = lane; i < MARKS; i += LANES) {
        atomicStore(&marks[i], 0u);
    }
    var rank: array<u32, EACH>;
    let full = is_full(tile);
    load_records(tile, lane);
    // The end of the room for a child, loaded while records are. `segments` is the table of the
    // children here.
    var room_end = 0xffffffffu;
    if params.target_room > 0u {
        let at = 1u + 4u * min(lane, params.slots - 1u);
        room_end = segments[at] + segments[at + 1u];
    }
    workgroupBarrier();
    if !find_bins(bins) {
        search_records();
    }
    for (var j = 0u; j < EACH; j++) {
        let position = tile.first + j * LANES + lane;
        let is_valid = full | ((position >= tile.start) & (position < tile.end));
        node[j] = select(NODES, node[j], is_valid);
        rank[j] = atomicAdd(&histogram[node[j]], 1u);
    }
    workgroupBarrier();
    var count = 0u;
    var room = 0u;
    if lane < NODES {
        count = atomicLoad(&histogram[lane]);
        if count > 0u {
            room = atomicAdd(&counts[tile.segment * NODES + lane], count);
        }
    }
    // Lower half: records before. Upper half: nonempty children before.
    let before = exclusive_sum(lane, count | select(0u, 1u << 16u, count > 0u));
    let begin = before & 0xffffu;
    if lane < NODES {
        // From here on the counters are these sums.
        atomicStore(&histogram[lane], before);
        if count > 0u {
            atomicOr(&marks[begin / 16u], 1u << (begin % 16u));
        }
    }
    if lane == NODES - 1u {
        atomicStore(&histogram[NODES], begin + count);
    }
    workgroupBarrier();
    let all = tile.end - tile.start;
    if lane < MARKS {
        let mark = atomicLoad(&marks[lane]);
        // The last child that begins before the mark's positions, or before the end of the records:
        // it is not empty.
        let position = min(16u * lane, all);
        var child = 0u;
        var last = 0u;
        for (var step = NODES / 2u; step > 0u; step /= 2u) {
            let start = atomicLoad(&histogram[child + step]);
            let is_before = (start & 0xffffu) < position;
            child += select(0u, step, is_before);
            last = select(last, start, is_before);
        }
        let children = select((last >> 16u) + 1u, 0u, lane == 0u);
        atomicStore(&marks[lane], mark | (children << 16u));
    }
    if lane < NODES && count > 0u {
        // Records for which there is no room are not stored: they are moved again. (This is as late
        // as it may be, since it waits for the atomic.)
        let has_room = room + count <= room_end;
        offsets[before >> 16u] = select(NOWHERE, room, has_room) - begin;
    }
    workgroupBarrier();
    let end = max(params.len, params.target_room);
    for (var j = 0u; j < EACH; j++) {
        rank[j] += atomicLoad(&histogram[node[j]]) & 0xffffu;
    }
    for (var part = 0u; part < TILE; part += PART) {
        var to: array<u32, PART / LANES>;
        for (var j = 0u; j < PART / LANES; j++) {
            let position = part + j * LANES + lane;
            let word = atomicLoad(&marks[position / 16u]);
            let marked = countOneBits(word & (0xffffu >> (15u - position % 16u)));
            to[j] = offsets[(word >> 16u) + marked - 1u] + position;
        }
        for (var word = 0u; word < WORDS; word += ORDERED_WORDS) {
            if part + word > 0u {
                workgroupBarrier();
            }
            for (var j = 0u; j < EACH; j++) {
                // Unsigned, so ranks of earlier parts are large.
                if PART == TILE || rank[j] - part < PART {
                    for (var i = 0u; i < ORDERED_WORDS; i++) {
                        cells[i * PART + rank[j] - part] = word_of(r[j], word + i);
                    }
                }
            }
            workgroupBarrier();
            for (var j = 0u; j < PART / LANES; j++) {
                let position = j * LANES + lane;
                // If keys or counts are overwritten meanwhile, a child has other records than
                // `count` found.
                if (part + position < all) & (to[j] < end) {
                    store_ordered(to[j], word, position);
                }
            }
        }
    }
}
