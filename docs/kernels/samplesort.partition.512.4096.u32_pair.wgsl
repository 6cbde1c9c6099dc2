// bcfsort.samplesort.partition.512.4096.u32_pair

const WORDS: u32 = 2u;
const LANES: u32 = 512u;
const NODES: u32 = 512u;
const TILE: u32 = 4096u;
const CELLS: u32 = 4096u;
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
    // Approximate records of a child; the next level's slots for the children of one segment.
    child: u32,
    slots: u32,
    // Nodes of a segment's tree.
    nodes: u32,
    // Samples of a segment, a power of two.
    samples: u32,
    // The seed of the position of each sample in its interval.
    seed: u32,
    // The output range: the ranks to sort.
    rank_begin: u32,
    rank_end: u32,
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
    // 1 if items are spread over buckets: records of two words.
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

// Writes a word of a record to the target.

fn store_word(i: u32, word: u32, value: u32) {
    if word == 0u {
        target_values[i] = value;
    } else {
        target_keys[i] = value;
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
// record, its number of records, and its first tile.
//
// Clamped: a table may hold anything, if other work that shares the memory ran meanwhile. A segment
// is within the records in any case.

@group(0) @binding(5) var<storage, read> segments: array<u32>;

struct Segment {
    start: u32,
    count: u32,
    first_tile: u32,
}

// One `return`: FXC treats a value returned from within a branch as uninitialised, and barriers
// after it as divergent.
fn segment_at(number: u32) -> Segment {
    var segment = Segment(0u, params.len, 0u);
    if params.whole == 0u {
        let at = 1u + 3u * number;
        let start = min(segments[at], params.len);
        let count = min(segments[at + 1u], params.len - start);
        segment = Segment(start, count, segments[at + 2u]);
    }
    return segment;
}

// The tiles of a segment. They begin at multiples of 32 records, as rows of memory do.
fn tiles_between(start: u32, count: u32) -> u32 {
    return select((count + start % 32u + params.tile - 1u) / params.tile, 0u, count == 0u);
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
    var all = (params.len + TILE - 1u) / TILE;
    if params.whole == 0u {
        all = min(segments[0], params.tiles);
    }
    return all;
}

// Loads the splitters into workgroup memory, and clears the histogram.
fn build_tree(segment: u32, lane: u32) {
    for (var i = lane; i < NODES; i += LANES) {
        cells_store(0u, NODES, i, splitter_at(segment * NODES + i));
        atomicStore(&histogram[i], 0u);
    }
    if lane == 0u {
        atomicStore(&histogram[NODES], 0u);
    }
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

// A lane's records, and the leaf of each: NODES plus the number of its child.
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
    if maps_source() {
        for (var j = 0u; j < EACH; j++) {
            r[j] = encode_source(r[j]);
        }
    }
}

// Searches a lane's records among the splitters, all of them together, level by level.
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
}

// Loads splitter number `at`.

fn splitter_at(at: u32) -> Record {
    return vec2<u32>(splitters[2u * at], splitters[2u * at + 1u]);
}

// Prefix sums of one value per lane, for the first VALUES lanes of a workgroup. The first 32 lanes
// compute them.
//
// No bank conflict: one unused word follows every 32 values, so 32 lanes that each walk VALUES / 32
// values are in different banks. All lanes read the same total.

const OWN: u32 = VALUES / 32u;

var<workgroup> scan_cells: array<u32, VALUES + 32u>;
var<workgroup> scan_totals: array<u32, 32>;

fn scan_cell(i: u32) -> u32 {
    return i + i / 32u;
}

// The sum of the values of the lanes before this one. All lanes must call it. Until the next call,
// that of lane i is in `scan_cells[scan_cell(i)]`.
fn exclusive_sum(lane: u32, value: u32) -> u32 {
    workgroupBarrier();
    if lane < VALUES {
        scan_cells[scan_cell(lane)] = value;
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = 0u;
        for (var i = 0u; i < OWN; i++) {
            sum += scan_cells[scan_cell(lane * OWN + i)];
        }
        scan_totals[lane] = sum;
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = 0u;
        for (var i = 0u; i < 31u; i++) {
            sum += select(0u, scan_totals[i], i < lane);
        }
        for (var i = 0u; i < OWN; i++) {
            let cell = scan_cell(lane * OWN + i);
            let own = scan_cells[cell];
            scan_cells[cell] = sum;
            sum += own;
        }
    }
    workgroupBarrier();
    return scan_cells[scan_cell(min(lane, VALUES - 1u))];
}

// Uses lib/key_map, lib/scan, lib/workgroup, samplesort/io, samplesort/maps, samplesort/params,
// samplesort/segments, samplesort/shape, samplesort/tile.
//
// SAMPLE SORT, partition: moves the records of a segment to its children.
//
//   search      each record among the splitters, as in `count`
//   rank        each record among the tile's records of its child: an atomic in workgroup memory
//   room        for the tile's records of each child: an atomic in `counts` per tile and child
//   order       the records by child in workgroup memory, one word of each at a time
//   move        them to the target: consecutive records go to consecutive positions
//
// The atomics are executed in any order, so the records of a child are in any order. The final sort
// gives the same bytes in any case.
//
// The child of position p in the ordered tile is found in `marks`, with a word for 16 positions.
// Its lower half marks the positions where a child begins, its upper half counts the children
// before.
//
// Bank conflicts as in `count`, and where records are stored by child in workgroup memory.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

const MARKS: u32 = TILE / 16u;

var<workgroup> marks: array<atomic<u32>, MARKS>;
// Position in the target minus position in the tile, for each nonempty child of the tile.
var<workgroup> offsets: array<u32, NODES>;
var<workgroup> begins: array<u32, NODES + 1u>;

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
    build_tree(tile.segment, lane);
    for (var i = lane; i < MARKS; i += LANES) {
        atomicStore(&marks[i], 0u);
    }
    var rank: array<u32, EACH>;
    let full = is_full(tile);
    load_records(tile, lane);
    workgroupBarrier();
    search_records();
    for (var j = 0u; j < EACH; j++) {
        let position = tile.first + j * LANES + lane;
        let is_valid = full | ((position >= tile.start) & (position < tile.end));
        node[j] = select(NODES, node[j] - NODES, is_valid);
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
        begins[lane] = begin;
        if count > 0u {
            offsets[before >> 16u] = room - begin;
            atomicOr(&marks[begin / 16u], 1u << (begin % 16u));
        }
    }
    if lane == NODES - 1u {
        begins[NODES] = begin + count;
    }
    workgroupBarrier();
    var mark = 0u;
    if lane < MARKS {
        mark = atomicLoad(&marks[lane]);
    }
    let children = exclusive_sum(lane, countOneBits(mark));
    if lane < MARKS {
        atomicStore(&marks[lane], mark | (children << 16u));
    }
    workgroupBarrier();
    let all = tile.end - tile.start;
    var to: array<u32, EACH>;
    for (var j = 0u; j < EACH; j++) {
        rank[j] += begins[node[j]];
        let position = j * LANES + lane;
        let word = atomicLoad(&marks[position / 16u]);
        let child = (word >> 16u) + countOneBits(word & (0xffffu >> (15u - position % 16u))) - 1u;
        // Clamped: if keys or counts are overwritten meanwhile, a child has other records than
        // `count` found.
        to[j] = min(offsets[child] + position, tile.last);
    }
    for (var word = 0u; word < WORDS; word++) {
        if word > 0u {
            workgroupBarrier();
        }
        for (var j = 0u; j < EACH; j++) {
            cells[rank[j]] = word_of(r[j], word);
        }
        workgroupBarrier();
        for (var j = 0u; j < EACH; j++) {
            let position = j * LANES + lane;
            if position < all {
                store_word(to[j], word, cells[position]);
            }
        }
    }
}
