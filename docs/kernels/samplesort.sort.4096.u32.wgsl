// bcfsort.samplesort.sort.4096.u32

const WORDS: u32 = 1u;
const LANES: u32 = 256u;
const SORT_TILE: u32 = 4096u;
const FAR_BITS: u32 = 4u;

// Records of one word.

alias Record = u32;

const FIRST: Record = 0u;
const LAST: Record = 0xffffffffu;

fn is_greater(a: Record, b: Record) -> bool {
    return a > b;
}

fn is_equal(a: Record, b: Record) -> bool {
    return a == b;
}

// The record just before this one; FIRST for FIRST.
fn predecessor(r: Record) -> Record {
    return r - select(0u, 1u, r != FIRST);
}

fn word_of(r: Record, word: u32) -> u32 {
    return r;
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}

// Keys of one word.

alias Key = u32;

// A record is a key of one word.

fn record_of(key: Key, value: u32) -> Record {
    return key;
}

fn key_of(r: Record) -> Key {
    return r;
}

fn value_of(r: Record) -> u32 {
    return 0u;
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

// Records are read from `source_keys`. It is scratch memory, so it may be written.

@group(0) @binding(1) var<storage, read_write> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    source_keys[i] = key_of(r);
}

// Stores a record of a sorted tile: of a large item, in the source.
fn store_sorted(i: u32, r: Record, is_large: bool) {
    if is_large {
        store_source(i, r);
    } else {
        store_target(i, r);
    }
}

// Records are written to `target_keys`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
}

// Lines of a tile of SORT_TILE records: one for each lane. FAR_BITS: the bits of a line's number
// but for four, 0 to 4.
const LINES: u32 = SORT_TILE / 16u;

// The distance of the lines of a far column; those of a near one are neighbours.
const STRIDE: u32 = LINES / 16u;

// The places of 16 cells in an array: those of a lane's line (`line_at`), or of its column
// (`column_at`). `half`: lines of the column in half a block where a merge begins; 0 in other
// passes.
struct Places {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

// Cell i is at `first`, changed by each bit of i: bit b flips the bits `flips[b]` of the place, and
// adds `steps[b]`. Both are the same for all lanes. (Steps could be flips, too, but a sum is part
// of a load's address and costs nothing.)
fn places(first: u32, flips: vec4<u32>, steps: vec4<u32>) -> Places {
    let a = vec4<u32>(first) ^ vec4<u32>(0u, flips.x, flips.y, flips.x ^ flips.y);
    let b = a ^ vec4<u32>(flips.z);
    let step_a = vec4<u32>(0u, steps.x, steps.y, steps.x + steps.y);
    let step_b = step_a + steps.z;
    let eight = vec4<u32>(flips.w);
    return Places(
        a + step_a,
        b + step_b,
        (a ^ eight) + (step_a + steps.w),
        (b ^ eight) + (step_b + steps.w),
    );
}

// What an upper half adds to the flips. The cells with the bit `half` of their number (1, 2, 4 or
// 8; 0 for none) are the upper half, and `flips` leads to the opposite cell.
fn upper(half: u32, flips: u32) -> vec4<u32> {
    let bits = (vec4<u32>(half) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u);
    return bits * flips;
}

// The first line of a lane's column: 16 consecutive lines if `stride` is 1, or those whose numbers
// differ in the upper bits if it is STRIDE.
fn first_line(lane: u32, stride: u32) -> u32 {
    return select(lane / 16u * 16u, lane / 16u, stride > 1u);
}

var<workgroup> tile_words: array<u32, LINES * 16u>;

// The places of an array of words.

fn word_place(line: u32, cell: u32) -> u32 {
    return (line ^ ((line >> 4u) & 1u)) * 16u + (cell ^ ((line >> 1u) & 15u));
}

// The places of these words of the tile, 16 in a line.
fn word_places(words: vec4<u32>) -> vec4<u32> {
    let cell = (words >> vec4<u32>(5u)) & vec4<u32>(15u);
    let line = (words >> vec4<u32>(4u)) & vec4<u32>(16u);
    return words ^ (cell | line);
}

// What the bits of a line's number flip in a place, and what they add. Bit 0 is flipped, since bit
// 4 is, too.
fn word_flips(line: vec4<u32>) -> vec4<u32> {
    let low = (line >> vec4<u32>(1u)) & vec4<u32>(15u);
    return low | (((line ^ (line >> vec4<u32>(4u))) & vec4<u32>(1u)) * 16u);
}

fn word_steps(line: vec4<u32>) -> vec4<u32> {
    return (line & vec4<u32>(~1u)) * 16u;
}

fn word_column(lane: u32, stride: u32, half: u32) -> Places {
    let first = word_place(first_line(lane, stride), lane % 16u);
    let opposite = upper(half, word_place(stride - 1u, 15u));
    let lines = vec4<u32>(1u, 2u, 4u, 8u) * stride;
    return places(first, word_flips(lines) ^ opposite, word_steps(lines));
}

fn line_at(lane: u32) -> Places {
    return places(word_place(lane, 0u), vec4<u32>(1u, 2u, 4u, 8u), vec4<u32>(0u));
}

fn column_at(lane: u32, stride: u32, half: u32) -> Places {
    return word_column(lane, stride, half);
}

// Cells of one word.

fn load(at: u32) -> u32 {
    return tile_words[at];
}

fn store(at: u32, cell: u32) {
    tile_words[at] = cell;
}

struct Cells {
    c0: Record,
    c1: Record,
    c2: Record,
    c3: Record,
    c4: Record,
    c5: Record,
    c6: Record,
    c7: Record,
    c8: Record,
    c9: Record,
    c10: Record,
    c11: Record,
    c12: Record,
    c13: Record,
    c14: Record,
    c15: Record,
}

fn fetch_cells(blocks: Blocks, lane: u32) -> Cells {
    return Cells(
        fetch(blocks, lane, position_of(blocks, lane, 0u)),
        fetch(blocks, lane, position_of(blocks, lane, 1u)),
        fetch(blocks, lane, position_of(blocks, lane, 2u)),
        fetch(blocks, lane, position_of(blocks, lane, 3u)),
        fetch(blocks, lane, position_of(blocks, lane, 4u)),
        fetch(blocks, lane, position_of(blocks, lane, 5u)),
        fetch(blocks, lane, position_of(blocks, lane, 6u)),
        fetch(blocks, lane, position_of(blocks, lane, 7u)),
        fetch(blocks, lane, position_of(blocks, lane, 8u)),
        fetch(blocks, lane, position_of(blocks, lane, 9u)),
        fetch(blocks, lane, position_of(blocks, lane, 10u)),
        fetch(blocks, lane, position_of(blocks, lane, 11u)),
        fetch(blocks, lane, position_of(blocks, lane, 12u)),
        fetch(blocks, lane, position_of(blocks, lane, 13u)),
        fetch(blocks, lane, position_of(blocks, lane, 14u)),
        fetch(blocks, lane, position_of(blocks, lane, 15u)),
    );
}

fn encode_cells(cells: Cells) -> Cells {
    return Cells(
        encode_source(cells.c0),
        encode_source(cells.c1),
        encode_source(cells.c2),
        encode_source(cells.c3),
        encode_source(cells.c4),
        encode_source(cells.c5),
        encode_source(cells.c6),
        encode_source(cells.c7),
        encode_source(cells.c8),
        encode_source(cells.c9),
        encode_source(cells.c10),
        encode_source(cells.c11),
        encode_source(cells.c12),
        encode_source(cells.c13),
        encode_source(cells.c14),
        encode_source(cells.c15),
    );
}

fn pad_cells(blocks: Blocks, lane: u32, cells: Cells) -> Cells {
    return Cells(
        pad(blocks, lane, 0u, cells.c0),
        pad(blocks, lane, 1u, cells.c1),
        pad(blocks, lane, 2u, cells.c2),
        pad(blocks, lane, 3u, cells.c3),
        pad(blocks, lane, 4u, cells.c4),
        pad(blocks, lane, 5u, cells.c5),
        pad(blocks, lane, 6u, cells.c6),
        pad(blocks, lane, 7u, cells.c7),
        pad(blocks, lane, 8u, cells.c8),
        pad(blocks, lane, 9u, cells.c9),
        pad(blocks, lane, 10u, cells.c10),
        pad(blocks, lane, 11u, cells.c11),
        pad(blocks, lane, 12u, cells.c12),
        pad(blocks, lane, 13u, cells.c13),
        pad(blocks, lane, 14u, cells.c14),
        pad(blocks, lane, 15u, cells.c15),
    );
}

fn load_cells(at: Places) -> Cells {
    return Cells(
        load(at.a.x),
        load(at.a.y),
        load(at.a.z),
        load(at.a.w),
        load(at.b.x),
        load(at.b.y),
        load(at.b.z),
        load(at.b.w),
        load(at.c.x),
        load(at.c.y),
        load(at.c.z),
        load(at.c.w),
        load(at.d.x),
        load(at.d.y),
        load(at.d.z),
        load(at.d.w),
    );
}

fn store_cells(at: Places, cells: Cells) {
    store(at.a.x, cells.c0);
    store(at.a.y, cells.c1);
    store(at.a.z, cells.c2);
    store(at.a.w, cells.c3);
    store(at.b.x, cells.c4);
    store(at.b.y, cells.c5);
    store(at.b.z, cells.c6);
    store(at.b.w, cells.c7);
    store(at.c.x, cells.c8);
    store(at.c.y, cells.c9);
    store(at.c.z, cells.c10);
    store(at.c.w, cells.c11);
    store(at.d.x, cells.c12);
    store(at.d.y, cells.c13);
    store(at.d.z, cells.c14);
    store(at.d.w, cells.c15);
}

// The position of record `i` of those that a lane fetches: a warp fetches contiguous records.
fn position_of(blocks: Blocks, lane: u32, i: u32) -> u32 {
    return select(blocks.low, blocks.high, i >= 8u) + i * LINES + lane;
}

// Maps the fetched keys, where a sort has to.
fn mapped(cells: Cells) -> Cells {
    if maps_source() {
        return encode_cells(cells);
    }
    return cells;
}

// 63 comparators, written by src/samplesort/networks.rs.
fn sort_line(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r2); r2 = max(x, r2); }
    { let x = r1; r1 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r6); r6 = max(x, r6); }
    { let x = r5; r5 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r10); r10 = max(x, r10); }
    { let x = r9; r9 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r14); r14 = max(x, r14); }
    { let x = r13; r13 = min(x, r15); r15 = max(x, r15); }
    { let x = r1; r1 = min(x, r2); r2 = max(x, r2); }
    { let x = r5; r5 = min(x, r6); r6 = max(x, r6); }
    { let x = r9; r9 = min(x, r10); r10 = max(x, r10); }
    { let x = r13; r13 = min(x, r14); r14 = max(x, r14); }
    { let x = r0; r0 = min(x, r4); r4 = max(x, r4); }
    { let x = r1; r1 = min(x, r5); r5 = max(x, r5); }
    { let x = r2; r2 = min(x, r6); r6 = max(x, r6); }
    { let x = r3; r3 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r12); r12 = max(x, r12); }
    { let x = r9; r9 = min(x, r13); r13 = max(x, r13); }
    { let x = r10; r10 = min(x, r14); r14 = max(x, r14); }
    { let x = r11; r11 = min(x, r15); r15 = max(x, r15); }
    { let x = r2; r2 = min(x, r4); r4 = max(x, r4); }
    { let x = r3; r3 = min(x, r5); r5 = max(x, r5); }
    { let x = r10; r10 = min(x, r12); r12 = max(x, r12); }
    { let x = r11; r11 = min(x, r13); r13 = max(x, r13); }
    { let x = r1; r1 = min(x, r2); r2 = max(x, r2); }
    { let x = r3; r3 = min(x, r4); r4 = max(x, r4); }
    { let x = r5; r5 = min(x, r6); r6 = max(x, r6); }
    { let x = r9; r9 = min(x, r10); r10 = max(x, r10); }
    { let x = r11; r11 = min(x, r12); r12 = max(x, r12); }
    { let x = r13; r13 = min(x, r14); r14 = max(x, r14); }
    { let x = r0; r0 = min(x, r8); r8 = max(x, r8); }
    { let x = r1; r1 = min(x, r9); r9 = max(x, r9); }
    { let x = r2; r2 = min(x, r10); r10 = max(x, r10); }
    { let x = r3; r3 = min(x, r11); r11 = max(x, r11); }
    { let x = r4; r4 = min(x, r12); r12 = max(x, r12); }
    { let x = r5; r5 = min(x, r13); r13 = max(x, r13); }
    { let x = r6; r6 = min(x, r14); r14 = max(x, r14); }
    { let x = r7; r7 = min(x, r15); r15 = max(x, r15); }
    { let x = r4; r4 = min(x, r8); r8 = max(x, r8); }
    { let x = r5; r5 = min(x, r9); r9 = max(x, r9); }
    { let x = r6; r6 = min(x, r10); r10 = max(x, r10); }
    { let x = r7; r7 = min(x, r11); r11 = max(x, r11); }
    { let x = r2; r2 = min(x, r4); r4 = max(x, r4); }
    { let x = r3; r3 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r8); r8 = max(x, r8); }
    { let x = r7; r7 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r12); r12 = max(x, r12); }
    { let x = r11; r11 = min(x, r13); r13 = max(x, r13); }
    { let x = r1; r1 = min(x, r2); r2 = max(x, r2); }
    { let x = r3; r3 = min(x, r4); r4 = max(x, r4); }
    { let x = r5; r5 = min(x, r6); r6 = max(x, r6); }
    { let x = r7; r7 = min(x, r8); r8 = max(x, r8); }
    { let x = r9; r9 = min(x, r10); r10 = max(x, r10); }
    { let x = r11; r11 = min(x, r12); r12 = max(x, r12); }
    { let x = r13; r13 = min(x, r14); r14 = max(x, r14); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// 32 comparators, written by src/samplesort/networks.rs.
fn merge_line(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r8); r8 = max(x, r8); }
    { let x = r1; r1 = min(x, r9); r9 = max(x, r9); }
    { let x = r2; r2 = min(x, r10); r10 = max(x, r10); }
    { let x = r3; r3 = min(x, r11); r11 = max(x, r11); }
    { let x = r4; r4 = min(x, r12); r12 = max(x, r12); }
    { let x = r5; r5 = min(x, r13); r13 = max(x, r13); }
    { let x = r6; r6 = min(x, r14); r14 = max(x, r14); }
    { let x = r7; r7 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r4); r4 = max(x, r4); }
    { let x = r1; r1 = min(x, r5); r5 = max(x, r5); }
    { let x = r2; r2 = min(x, r6); r6 = max(x, r6); }
    { let x = r3; r3 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r12); r12 = max(x, r12); }
    { let x = r9; r9 = min(x, r13); r13 = max(x, r13); }
    { let x = r10; r10 = min(x, r14); r14 = max(x, r14); }
    { let x = r11; r11 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r2); r2 = max(x, r2); }
    { let x = r1; r1 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r6); r6 = max(x, r6); }
    { let x = r5; r5 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r10); r10 = max(x, r10); }
    { let x = r9; r9 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r14); r14 = max(x, r14); }
    { let x = r13; r13 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// 8 comparators, written by src/samplesort/networks.rs.
fn cross_1(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// 16 comparators, written by src/samplesort/networks.rs.
fn cross_2(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r3); r3 = max(x, r3); }
    { let x = r1; r1 = min(x, r2); r2 = max(x, r2); }
    { let x = r4; r4 = min(x, r7); r7 = max(x, r7); }
    { let x = r5; r5 = min(x, r6); r6 = max(x, r6); }
    { let x = r8; r8 = min(x, r11); r11 = max(x, r11); }
    { let x = r9; r9 = min(x, r10); r10 = max(x, r10); }
    { let x = r12; r12 = min(x, r15); r15 = max(x, r15); }
    { let x = r13; r13 = min(x, r14); r14 = max(x, r14); }
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// 24 comparators, written by src/samplesort/networks.rs.
fn cross_3(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r7); r7 = max(x, r7); }
    { let x = r1; r1 = min(x, r6); r6 = max(x, r6); }
    { let x = r2; r2 = min(x, r5); r5 = max(x, r5); }
    { let x = r3; r3 = min(x, r4); r4 = max(x, r4); }
    { let x = r8; r8 = min(x, r15); r15 = max(x, r15); }
    { let x = r9; r9 = min(x, r14); r14 = max(x, r14); }
    { let x = r10; r10 = min(x, r13); r13 = max(x, r13); }
    { let x = r11; r11 = min(x, r12); r12 = max(x, r12); }
    { let x = r0; r0 = min(x, r2); r2 = max(x, r2); }
    { let x = r1; r1 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r6); r6 = max(x, r6); }
    { let x = r5; r5 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r10); r10 = max(x, r10); }
    { let x = r9; r9 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r14); r14 = max(x, r14); }
    { let x = r13; r13 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// 32 comparators, written by src/samplesort/networks.rs.
fn cross_4(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r15); r15 = max(x, r15); }
    { let x = r1; r1 = min(x, r14); r14 = max(x, r14); }
    { let x = r2; r2 = min(x, r13); r13 = max(x, r13); }
    { let x = r3; r3 = min(x, r12); r12 = max(x, r12); }
    { let x = r4; r4 = min(x, r11); r11 = max(x, r11); }
    { let x = r5; r5 = min(x, r10); r10 = max(x, r10); }
    { let x = r6; r6 = min(x, r9); r9 = max(x, r9); }
    { let x = r7; r7 = min(x, r8); r8 = max(x, r8); }
    { let x = r0; r0 = min(x, r4); r4 = max(x, r4); }
    { let x = r1; r1 = min(x, r5); r5 = max(x, r5); }
    { let x = r2; r2 = min(x, r6); r6 = max(x, r6); }
    { let x = r3; r3 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r12); r12 = max(x, r12); }
    { let x = r9; r9 = min(x, r13); r13 = max(x, r13); }
    { let x = r10; r10 = min(x, r14); r14 = max(x, r14); }
    { let x = r11; r11 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r2); r2 = max(x, r2); }
    { let x = r1; r1 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r6); r6 = max(x, r6); }
    { let x = r5; r5 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r10); r10 = max(x, r10); }
    { let x = r9; r9 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r14); r14 = max(x, r14); }
    { let x = r13; r13 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// 32 comparators, written by src/samplesort/networks.rs.
fn clean(cells: Cells) -> Cells {
    var r0 = cells.c0;
    var r1 = cells.c1;
    var r2 = cells.c2;
    var r3 = cells.c3;
    var r4 = cells.c4;
    var r5 = cells.c5;
    var r6 = cells.c6;
    var r7 = cells.c7;
    var r8 = cells.c8;
    var r9 = cells.c9;
    var r10 = cells.c10;
    var r11 = cells.c11;
    var r12 = cells.c12;
    var r13 = cells.c13;
    var r14 = cells.c14;
    var r15 = cells.c15;
    { let x = r0; r0 = min(x, r8); r8 = max(x, r8); }
    { let x = r1; r1 = min(x, r9); r9 = max(x, r9); }
    { let x = r2; r2 = min(x, r10); r10 = max(x, r10); }
    { let x = r3; r3 = min(x, r11); r11 = max(x, r11); }
    { let x = r4; r4 = min(x, r12); r12 = max(x, r12); }
    { let x = r5; r5 = min(x, r13); r13 = max(x, r13); }
    { let x = r6; r6 = min(x, r14); r14 = max(x, r14); }
    { let x = r7; r7 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r4); r4 = max(x, r4); }
    { let x = r1; r1 = min(x, r5); r5 = max(x, r5); }
    { let x = r2; r2 = min(x, r6); r6 = max(x, r6); }
    { let x = r3; r3 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r12); r12 = max(x, r12); }
    { let x = r9; r9 = min(x, r13); r13 = max(x, r13); }
    { let x = r10; r10 = min(x, r14); r14 = max(x, r14); }
    { let x = r11; r11 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r2); r2 = max(x, r2); }
    { let x = r1; r1 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r6); r6 = max(x, r6); }
    { let x = r5; r5 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r10); r10 = max(x, r10); }
    { let x = r9; r9 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r14); r14 = max(x, r14); }
    { let x = r13; r13 = min(x, r15); r15 = max(x, r15); }
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    return Cells(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15);
}

// The passes over columns, one function for each size of block: a lane compares cells as soon as
// they are loaded.

fn merge_1(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 1u);
    store_cells(at, cross_1(load_cells(at)));
}

fn merge_2(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 2u);
    store_cells(at, cross_2(load_cells(at)));
}

fn merge_3(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 4u);
    store_cells(at, cross_3(load_cells(at)));
}

fn merge_4(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 8u);
    store_cells(at, cross_4(load_cells(at)));
}

fn clean_near(lane: u32) {
    let at = column_at(lane, 1u, 0u);
    store_cells(at, clean(load_cells(at)));
}

// Compares lines with lines, to merge 2^k of them. Of more than 16 lines, far ones are compared
// first. k is at most 4 + FAR_BITS, which is a constant: a compiler drops the passes that do not
// occur.
fn merge_columns(k: u32, lane: u32) {
    workgroupBarrier();
    switch k {
        case 1u: { merge_1(lane, 1u); }
        case 2u: { merge_2(lane, 1u); }
        case 3u: { merge_3(lane, 1u); }
        case 4u: { merge_4(lane, 1u); }
        default: {
            switch k - FAR_BITS {
                case 1u: { if FAR_BITS >= 4u { merge_1(lane, STRIDE); } }
                case 2u: { if FAR_BITS >= 3u { merge_2(lane, STRIDE); } }
                case 3u: { if FAR_BITS >= 2u { merge_3(lane, STRIDE); } }
                default: { if FAR_BITS >= 1u { merge_4(lane, STRIDE); } }
            }
        }
    }
    if FAR_BITS > 0u && k > 4u {
        workgroupBarrier();
        clean_near(lane);
    }
}

// Replaces a fetched record with padding. Only the tile's first 32 records may be before the item.
fn pad(blocks: Blocks, lane: u32, i: u32, r: Record) -> Record {
    let position = position_of(blocks, lane, i);
    if i * LINES < 32u {
        return padded_first(blocks, position, r);
    }
    return padded(blocks, position, r);
}

// Fetches records in any order, and stores a sorted line for each lane.
fn sort_lines(blocks: Blocks, lane: u32) {
    let cells = mapped(fetch_cells(blocks, lane));
    store_cells(line_at(lane), sort_line(pad_cells(blocks, lane, cells)));
}

// Fetches a tile and sorts it. `count`: SORT_TILE; of samples, which may be fewer, a power of two.
fn sort_tile(blocks: Blocks, lane: u32, count: u32) {
    sort_lines(blocks, lane);
    for (var k = 1u; (16u << k) <= count; k++) {
        merge_columns(k, lane);
        workgroupBarrier();
        let at = line_at(lane);
        store_cells(at, merge_line(load_cells(at)));
    }
    workgroupBarrier();
}

fn decode_cells(cells: Cells) -> Cells {
    return Cells(
        decode_target(cells.c0),
        decode_target(cells.c1),
        decode_target(cells.c2),
        decode_target(cells.c3),
        decode_target(cells.c4),
        decode_target(cells.c5),
        decode_target(cells.c6),
        decode_target(cells.c7),
        decode_target(cells.c8),
        decode_target(cells.c9),
        decode_target(cells.c10),
        decode_target(cells.c11),
        decode_target(cells.c12),
        decode_target(cells.c13),
        decode_target(cells.c14),
        decode_target(cells.c15),
    );
}

fn put_cells(blocks: Blocks, lane: u32, cells: Cells) {
    put_at(blocks, lane, 0u, cells.c0);
    put_at(blocks, lane, 1u, cells.c1);
    put_at(blocks, lane, 2u, cells.c2);
    put_at(blocks, lane, 3u, cells.c3);
    put_at(blocks, lane, 4u, cells.c4);
    put_at(blocks, lane, 5u, cells.c5);
    put_at(blocks, lane, 6u, cells.c6);
    put_at(blocks, lane, 7u, cells.c7);
    put_at(blocks, lane, 8u, cells.c8);
    put_at(blocks, lane, 9u, cells.c9);
    put_at(blocks, lane, 10u, cells.c10);
    put_at(blocks, lane, 11u, cells.c11);
    put_at(blocks, lane, 12u, cells.c12);
    put_at(blocks, lane, 13u, cells.c13);
    put_at(blocks, lane, 14u, cells.c14);
    put_at(blocks, lane, 15u, cells.c15);
}

fn put_at(blocks: Blocks, lane: u32, i: u32, r: Record) {
    let position = position_of(blocks, lane, i);
    if i * LINES < 32u {
        put_first(blocks, position, r);
    } else {
        put(blocks, position, r);
    }
}

// Writes the sorted records to the target: cell i of a lane's column is record `i * LINES + lane`,
// as `position_of` says.
fn put_tile(blocks: Blocks, lane: u32) {
    var cells = load_cells(column_at(lane, STRIDE, 0u));
    if maps_target() && !blocks.is_large {
        cells = decode_cells(cells);
    }
    put_cells(blocks, lane, cells);
}

// Lanes fetch records from positions to which other lanes store.

fn fetch(blocks: Blocks, lane: u32, position: u32) -> Record {
    return load_source(clamp(position, blocks.start, blocks.end - 1u));
}

fn end_fetches(blocks: Blocks) {
    storageBarrier();
}

// Uses lib/key_map, lib/workgroup, samplesort/cells, samplesort/io, samplesort/params,
// samplesort/shape, samplesort/spread, samplesort/tile_sort.
//
// SAMPLE SORT, sort: sorts items in tiles of SORT_TILE records in workgroup memory. Items are from
// the list of `table`, or each tile of all records is an item.
//
// A tile begins where the item's first row of memory (32 records) begins, so rows are read and
// written whole. The tile is padded with FIRST before the item and with LAST after it.
//
// An item larger than a tile is rare. One workgroup sorts it by a bitonic network over blocks of
// half a tile, in which each comparator sorts two blocks, with the smaller records first. An item
// that fits a tile is one such comparator. A large item is sorted in its source, so that all
// comparators read from there, and is moved to the target at the end.
//
// Clamped as in `segments.wgsl`: an item is within the records.
//
// No bank conflict: see `tile_sort.wgsl`.

@group(0) @binding(5) var<storage, read> items: array<u32>;

const HALF: u32 = SORT_TILE / 2u;

// An item: contiguous records that one workgroup sorts.
struct Item {
    start: u32,
    count: u32,
    // True if they need no sort.
    is_done: bool,
    // True if the samples of their segment were even.
    is_even: bool,
}

fn items_of_all() -> u32 {
    var all = (params.len + SORT_TILE - 1u) / SORT_TILE;
    if params.is_listed == 1u {
        all = min(items[0], params.items);
    }
    return all;
}

fn item_at(number: u32) -> Item {
    let start = number * SORT_TILE;
    var item = Item(start, min(SORT_TILE, params.len - start), false, false);
    if params.is_listed == 1u {
        let at = 1u + 3u * number;
        let begin = min(items[at], params.len);
        let count = min(items[at + 1u], params.len - begin);
        let state = items[at + 2u];
        item = Item(begin, count, state == DONE || count == 0u, state == EVEN);
    }
    return item;
}

// Two blocks to sort together.
struct Blocks {
    // The position of the lower block, and that of the upper block minus HALF.
    low: u32,
    high: u32,
    // True if each block is sorted.
    are_sorted: bool,
    // The item's records: [start, end).
    start: u32,
    end: u32,
    // True if the item is larger than a tile.
    is_large: bool,
    // True if the item fits a tile, and the samples of its segment were even.
    is_even: bool,
}

// Replaces a fetched record with padding. Only the tile's first row has positions before the item,
// so only `padded_first` checks for these.
fn padded(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(LAST, r, position < blocks.end);
}

fn padded_first(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(padded(blocks, position, r), FIRST, position < blocks.start);
}

fn put(blocks: Blocks, position: u32, r: Record) {
    if position < blocks.end {
        store_sorted(position, r, blocks.is_large);
    }
}

fn put_first(blocks: Blocks, position: u32, r: Record) {
    if position >= blocks.start {
        put(blocks, position, r);
    }
}

fn sort_blocks(blocks: Blocks, lane: u32) {
    sort_tile(blocks, lane, SORT_TILE);
    end_fetches(blocks);
    put_tile(blocks, lane);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let stride = groups.x * groups.y;
    let all = min(items_of_all(), params.end);
    let own = params.first + workgroup_number(group, groups);
    for (var number = own; number < all; number += stride) {
        let item = item_at(number);
        let start = item.start;
        let end = item.start + item.count;
        let first = start / 32u * 32u;
        let is_large = end - first > SORT_TILE;
        if !item.is_done {
            let blocks = max((end - first - 1u) / HALF + 1u, 2u);
            for (var size = 2u; size / 2u < blocks; size *= 2u) {
                for (var distance = size / 2u; distance > 0u; distance /= 2u) {
                    let flip = select(distance, size - 1u, distance == size / 2u);
                    for (var i = 0u; i < blocks; i++) {
                        let other = i ^ flip;
                        if other > i && other < blocks {
                            workgroupBarrier();
                            if is_large {
                                storageBarrier();
                            }
                            let low = first + i * HALF;
                            let high = first + (other - 1u) * HALF;
                            // With an odd number of blocks the first stage leaves out the last one.
                            let are_sorted = size > 2u && (other ^ 1u) < blocks;
                            let is_even = item.is_even && !is_large;
                            sort_blocks(
                                Blocks(low, high, are_sorted, start, end, is_large, is_even),
                                lane,
                            );
                        }
                    }
                }
            }
        }
        if item.is_done || is_large {
            storageBarrier();
            workgroupBarrier();
            for (var i = start + lane; i < end; i += LANES) {
                store_target(i, decode_target(load_source(i)));
            }
        }
    }
}
