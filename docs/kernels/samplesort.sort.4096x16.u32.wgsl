// bcfsort.samplesort.sort.4096x16.u32

const WORDS: u32 = 1u;
const LANES: u32 = 256u;
const SORT_TILE: u32 = 4096u;

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

// The order-preserving map of src/key.rs.
fn encode_key(key: Key, sign: vec2<u32>, flip: vec2<u32>) -> Key {
    return key ^ ((0u - (key >> 31u)) & sign.x) ^ flip.x;
}

fn decode_key(key: Key, sign: vec2<u32>, flip: vec2<u32>) -> Key {
    let bits = key ^ flip.x;
    return bits ^ ((0u - (bits >> 31u)) & sign.x);
}

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

// The number of a workgroup in a two-dimensional dispatch.
fn workgroup_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return params.first + group.y * groups.x + group.x;
}

// Maps of keys, at the first read and at the last write: see src/key.rs.

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

// Records are written to `target_keys`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
}

var<workgroup> tile_words: array<u32, 4096>;

fn word_at(line: u32, cell: u32) -> u32 {
    return (line ^ ((line >> 4u) & 1u)) * 16u + (cell ^ ((line >> 1u) & 15u));
}

fn sort_lines(blocks: Blocks, lane: u32) {
    var r0 = fetch(blocks, blocks.low + 0u + lane);
    var r1 = fetch(blocks, blocks.low + 256u + lane);
    var r2 = fetch(blocks, blocks.low + 512u + lane);
    var r3 = fetch(blocks, blocks.low + 768u + lane);
    var r4 = fetch(blocks, blocks.low + 1024u + lane);
    var r5 = fetch(blocks, blocks.low + 1280u + lane);
    var r6 = fetch(blocks, blocks.low + 1536u + lane);
    var r7 = fetch(blocks, blocks.low + 1792u + lane);
    var r8 = fetch(blocks, blocks.high + 2048u + lane);
    var r9 = fetch(blocks, blocks.high + 2304u + lane);
    var r10 = fetch(blocks, blocks.high + 2560u + lane);
    var r11 = fetch(blocks, blocks.high + 2816u + lane);
    var r12 = fetch(blocks, blocks.high + 3072u + lane);
    var r13 = fetch(blocks, blocks.high + 3328u + lane);
    var r14 = fetch(blocks, blocks.high + 3584u + lane);
    var r15 = fetch(blocks, blocks.high + 3840u + lane);
    if maps_source() {
        r0 = encode_source(r0);
        r1 = encode_source(r1);
        r2 = encode_source(r2);
        r3 = encode_source(r3);
        r4 = encode_source(r4);
        r5 = encode_source(r5);
        r6 = encode_source(r6);
        r7 = encode_source(r7);
        r8 = encode_source(r8);
        r9 = encode_source(r9);
        r10 = encode_source(r10);
        r11 = encode_source(r11);
        r12 = encode_source(r12);
        r13 = encode_source(r13);
        r14 = encode_source(r14);
        r15 = encode_source(r15);
    }
    r0 = padded_first(blocks, blocks.low + 0u + lane, r0);
    r1 = padded(blocks, blocks.low + 256u + lane, r1);
    r2 = padded(blocks, blocks.low + 512u + lane, r2);
    r3 = padded(blocks, blocks.low + 768u + lane, r3);
    r4 = padded(blocks, blocks.low + 1024u + lane, r4);
    r5 = padded(blocks, blocks.low + 1280u + lane, r5);
    r6 = padded(blocks, blocks.low + 1536u + lane, r6);
    r7 = padded(blocks, blocks.low + 1792u + lane, r7);
    r8 = padded(blocks, blocks.high + 2048u + lane, r8);
    r9 = padded(blocks, blocks.high + 2304u + lane, r9);
    r10 = padded(blocks, blocks.high + 2560u + lane, r10);
    r11 = padded(blocks, blocks.high + 2816u + lane, r11);
    r12 = padded(blocks, blocks.high + 3072u + lane, r12);
    r13 = padded(blocks, blocks.high + 3328u + lane, r13);
    r14 = padded(blocks, blocks.high + 3584u + lane, r14);
    r15 = padded(blocks, blocks.high + 3840u + lane, r15);
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
    let w = word_at(lane, 0u);
    tile_words[w ^ 0u] = r0;
    tile_words[w ^ 1u] = r1;
    tile_words[w ^ 2u] = r2;
    tile_words[w ^ 3u] = r3;
    tile_words[w ^ 4u] = r4;
    tile_words[w ^ 5u] = r5;
    tile_words[w ^ 6u] = r6;
    tile_words[w ^ 7u] = r7;
    tile_words[w ^ 8u] = r8;
    tile_words[w ^ 9u] = r9;
    tile_words[w ^ 10u] = r10;
    tile_words[w ^ 11u] = r11;
    tile_words[w ^ 12u] = r12;
    tile_words[w ^ 13u] = r13;
    tile_words[w ^ 14u] = r14;
    tile_words[w ^ 15u] = r15;
}

fn line_pass(lane: u32) {
    let w = word_at(lane, 0u);
    var r0 = tile_words[w ^ 0u];
    var r1 = tile_words[w ^ 1u];
    var r2 = tile_words[w ^ 2u];
    var r3 = tile_words[w ^ 3u];
    var r4 = tile_words[w ^ 4u];
    var r5 = tile_words[w ^ 5u];
    var r6 = tile_words[w ^ 6u];
    var r7 = tile_words[w ^ 7u];
    var r8 = tile_words[w ^ 8u];
    var r9 = tile_words[w ^ 9u];
    var r10 = tile_words[w ^ 10u];
    var r11 = tile_words[w ^ 11u];
    var r12 = tile_words[w ^ 12u];
    var r13 = tile_words[w ^ 13u];
    var r14 = tile_words[w ^ 14u];
    var r15 = tile_words[w ^ 15u];
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
    tile_words[w ^ 0u] = r0;
    tile_words[w ^ 1u] = r1;
    tile_words[w ^ 2u] = r2;
    tile_words[w ^ 3u] = r3;
    tile_words[w ^ 4u] = r4;
    tile_words[w ^ 5u] = r5;
    tile_words[w ^ 6u] = r6;
    tile_words[w ^ 7u] = r7;
    tile_words[w ^ 8u] = r8;
    tile_words[w ^ 9u] = r9;
    tile_words[w ^ 10u] = r10;
    tile_words[w ^ 11u] = r11;
    tile_words[w ^ 12u] = r12;
    tile_words[w ^ 13u] = r13;
    tile_words[w ^ 14u] = r14;
    tile_words[w ^ 15u] = r15;
}

fn near_1(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u * 16u;
    let column1 = 15u - column0;
    let low1 = low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w1_16 = w1 ^ 16u;
    let w0_1 = w0 ^ 1u;
    let w1_17 = w1 ^ 17u;
    let w0_2 = w0 ^ 2u;
    let w1_18 = w1 ^ 18u;
    let w0_3 = w0 ^ 3u;
    let w1_19 = w1 ^ 19u;
    let w0_4 = w0 ^ 4u;
    let w1_20 = w1 ^ 20u;
    let w0_5 = w0 ^ 5u;
    let w1_21 = w1 ^ 21u;
    let w0_6 = w0 ^ 6u;
    let w1_22 = w1 ^ 22u;
    let w0_7 = w0 ^ 7u;
    let w1_23 = w1 ^ 23u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w1_16 + 0u];
    var r2 = tile_words[w0_1 + 32u];
    var r3 = tile_words[w1_17 + 32u];
    var r4 = tile_words[w0_2 + 64u];
    var r5 = tile_words[w1_18 + 64u];
    var r6 = tile_words[w0_3 + 96u];
    var r7 = tile_words[w1_19 + 96u];
    var r8 = tile_words[w0_4 + 128u];
    var r9 = tile_words[w1_20 + 128u];
    var r10 = tile_words[w0_5 + 160u];
    var r11 = tile_words[w1_21 + 160u];
    var r12 = tile_words[w0_6 + 192u];
    var r13 = tile_words[w1_22 + 192u];
    var r14 = tile_words[w0_7 + 224u];
    var r15 = tile_words[w1_23 + 224u];
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    tile_words[w0_0 + 0u] = r0;
    tile_words[w1_16 + 0u] = r1;
    tile_words[w0_1 + 32u] = r2;
    tile_words[w1_17 + 32u] = r3;
    tile_words[w0_2 + 64u] = r4;
    tile_words[w1_18 + 64u] = r5;
    tile_words[w0_3 + 96u] = r6;
    tile_words[w1_19 + 96u] = r7;
    tile_words[w0_4 + 128u] = r8;
    tile_words[w1_20 + 128u] = r9;
    tile_words[w0_5 + 160u] = r10;
    tile_words[w1_21 + 160u] = r11;
    tile_words[w0_6 + 192u] = r12;
    tile_words[w1_22 + 192u] = r13;
    tile_words[w0_7 + 224u] = r14;
    tile_words[w1_23 + 224u] = r15;
}

fn near_2(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u * 16u;
    let column1 = 15u - column0;
    let low1 = low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w0_16 = w0 ^ 16u;
    let w1_1 = w1 ^ 1u;
    let w1_17 = w1 ^ 17u;
    let w0_2 = w0 ^ 2u;
    let w0_18 = w0 ^ 18u;
    let w1_3 = w1 ^ 3u;
    let w1_19 = w1 ^ 19u;
    let w0_4 = w0 ^ 4u;
    let w0_20 = w0 ^ 20u;
    let w1_5 = w1 ^ 5u;
    let w1_21 = w1 ^ 21u;
    let w0_6 = w0 ^ 6u;
    let w0_22 = w0 ^ 22u;
    let w1_7 = w1 ^ 7u;
    let w1_23 = w1 ^ 23u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_16 + 0u];
    var r2 = tile_words[w1_1 + 32u];
    var r3 = tile_words[w1_17 + 32u];
    var r4 = tile_words[w0_2 + 64u];
    var r5 = tile_words[w0_18 + 64u];
    var r6 = tile_words[w1_3 + 96u];
    var r7 = tile_words[w1_19 + 96u];
    var r8 = tile_words[w0_4 + 128u];
    var r9 = tile_words[w0_20 + 128u];
    var r10 = tile_words[w1_5 + 160u];
    var r11 = tile_words[w1_21 + 160u];
    var r12 = tile_words[w0_6 + 192u];
    var r13 = tile_words[w0_22 + 192u];
    var r14 = tile_words[w1_7 + 224u];
    var r15 = tile_words[w1_23 + 224u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_16 + 0u] = r1;
    tile_words[w1_1 + 32u] = r2;
    tile_words[w1_17 + 32u] = r3;
    tile_words[w0_2 + 64u] = r4;
    tile_words[w0_18 + 64u] = r5;
    tile_words[w1_3 + 96u] = r6;
    tile_words[w1_19 + 96u] = r7;
    tile_words[w0_4 + 128u] = r8;
    tile_words[w0_20 + 128u] = r9;
    tile_words[w1_5 + 160u] = r10;
    tile_words[w1_21 + 160u] = r11;
    tile_words[w0_6 + 192u] = r12;
    tile_words[w0_22 + 192u] = r13;
    tile_words[w1_7 + 224u] = r14;
    tile_words[w1_23 + 224u] = r15;
}

fn near_3(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u * 16u;
    let column1 = 15u - column0;
    let low1 = low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w0_16 = w0 ^ 16u;
    let w0_1 = w0 ^ 1u;
    let w0_17 = w0 ^ 17u;
    let w1_2 = w1 ^ 2u;
    let w1_18 = w1 ^ 18u;
    let w1_3 = w1 ^ 3u;
    let w1_19 = w1 ^ 19u;
    let w0_4 = w0 ^ 4u;
    let w0_20 = w0 ^ 20u;
    let w0_5 = w0 ^ 5u;
    let w0_21 = w0 ^ 21u;
    let w1_6 = w1 ^ 6u;
    let w1_22 = w1 ^ 22u;
    let w1_7 = w1 ^ 7u;
    let w1_23 = w1 ^ 23u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_16 + 0u];
    var r2 = tile_words[w0_1 + 32u];
    var r3 = tile_words[w0_17 + 32u];
    var r4 = tile_words[w1_2 + 64u];
    var r5 = tile_words[w1_18 + 64u];
    var r6 = tile_words[w1_3 + 96u];
    var r7 = tile_words[w1_19 + 96u];
    var r8 = tile_words[w0_4 + 128u];
    var r9 = tile_words[w0_20 + 128u];
    var r10 = tile_words[w0_5 + 160u];
    var r11 = tile_words[w0_21 + 160u];
    var r12 = tile_words[w1_6 + 192u];
    var r13 = tile_words[w1_22 + 192u];
    var r14 = tile_words[w1_7 + 224u];
    var r15 = tile_words[w1_23 + 224u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_16 + 0u] = r1;
    tile_words[w0_1 + 32u] = r2;
    tile_words[w0_17 + 32u] = r3;
    tile_words[w1_2 + 64u] = r4;
    tile_words[w1_18 + 64u] = r5;
    tile_words[w1_3 + 96u] = r6;
    tile_words[w1_19 + 96u] = r7;
    tile_words[w0_4 + 128u] = r8;
    tile_words[w0_20 + 128u] = r9;
    tile_words[w0_5 + 160u] = r10;
    tile_words[w0_21 + 160u] = r11;
    tile_words[w1_6 + 192u] = r12;
    tile_words[w1_22 + 192u] = r13;
    tile_words[w1_7 + 224u] = r14;
    tile_words[w1_23 + 224u] = r15;
}

fn near_4(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u * 16u;
    let column1 = 15u - column0;
    let low1 = low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w0_16 = w0 ^ 16u;
    let w0_1 = w0 ^ 1u;
    let w0_17 = w0 ^ 17u;
    let w0_2 = w0 ^ 2u;
    let w0_18 = w0 ^ 18u;
    let w0_3 = w0 ^ 3u;
    let w0_19 = w0 ^ 19u;
    let w1_4 = w1 ^ 4u;
    let w1_20 = w1 ^ 20u;
    let w1_5 = w1 ^ 5u;
    let w1_21 = w1 ^ 21u;
    let w1_6 = w1 ^ 6u;
    let w1_22 = w1 ^ 22u;
    let w1_7 = w1 ^ 7u;
    let w1_23 = w1 ^ 23u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_16 + 0u];
    var r2 = tile_words[w0_1 + 32u];
    var r3 = tile_words[w0_17 + 32u];
    var r4 = tile_words[w0_2 + 64u];
    var r5 = tile_words[w0_18 + 64u];
    var r6 = tile_words[w0_3 + 96u];
    var r7 = tile_words[w0_19 + 96u];
    var r8 = tile_words[w1_4 + 128u];
    var r9 = tile_words[w1_20 + 128u];
    var r10 = tile_words[w1_5 + 160u];
    var r11 = tile_words[w1_21 + 160u];
    var r12 = tile_words[w1_6 + 192u];
    var r13 = tile_words[w1_22 + 192u];
    var r14 = tile_words[w1_7 + 224u];
    var r15 = tile_words[w1_23 + 224u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_16 + 0u] = r1;
    tile_words[w0_1 + 32u] = r2;
    tile_words[w0_17 + 32u] = r3;
    tile_words[w0_2 + 64u] = r4;
    tile_words[w0_18 + 64u] = r5;
    tile_words[w0_3 + 96u] = r6;
    tile_words[w0_19 + 96u] = r7;
    tile_words[w1_4 + 128u] = r8;
    tile_words[w1_20 + 128u] = r9;
    tile_words[w1_5 + 160u] = r10;
    tile_words[w1_21 + 160u] = r11;
    tile_words[w1_6 + 192u] = r12;
    tile_words[w1_22 + 192u] = r13;
    tile_words[w1_7 + 224u] = r14;
    tile_words[w1_23 + 224u] = r15;
}

fn far_1(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u;
    let column1 = 15u - column0;
    let low1 = 15u - low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w1_24 = w1 ^ 24u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w1_24 + 256u];
    var r2 = tile_words[w0_0 + 512u];
    var r3 = tile_words[w1_24 + 768u];
    var r4 = tile_words[w0_0 + 1024u];
    var r5 = tile_words[w1_24 + 1280u];
    var r6 = tile_words[w0_0 + 1536u];
    var r7 = tile_words[w1_24 + 1792u];
    var r8 = tile_words[w0_0 + 2048u];
    var r9 = tile_words[w1_24 + 2304u];
    var r10 = tile_words[w0_0 + 2560u];
    var r11 = tile_words[w1_24 + 2816u];
    var r12 = tile_words[w0_0 + 3072u];
    var r13 = tile_words[w1_24 + 3328u];
    var r14 = tile_words[w0_0 + 3584u];
    var r15 = tile_words[w1_24 + 3840u];
    { let x = r0; r0 = min(x, r1); r1 = max(x, r1); }
    { let x = r2; r2 = min(x, r3); r3 = max(x, r3); }
    { let x = r4; r4 = min(x, r5); r5 = max(x, r5); }
    { let x = r6; r6 = min(x, r7); r7 = max(x, r7); }
    { let x = r8; r8 = min(x, r9); r9 = max(x, r9); }
    { let x = r10; r10 = min(x, r11); r11 = max(x, r11); }
    { let x = r12; r12 = min(x, r13); r13 = max(x, r13); }
    { let x = r14; r14 = min(x, r15); r15 = max(x, r15); }
    tile_words[w0_0 + 0u] = r0;
    tile_words[w1_24 + 256u] = r1;
    tile_words[w0_0 + 512u] = r2;
    tile_words[w1_24 + 768u] = r3;
    tile_words[w0_0 + 1024u] = r4;
    tile_words[w1_24 + 1280u] = r5;
    tile_words[w0_0 + 1536u] = r6;
    tile_words[w1_24 + 1792u] = r7;
    tile_words[w0_0 + 2048u] = r8;
    tile_words[w1_24 + 2304u] = r9;
    tile_words[w0_0 + 2560u] = r10;
    tile_words[w1_24 + 2816u] = r11;
    tile_words[w0_0 + 3072u] = r12;
    tile_words[w1_24 + 3328u] = r13;
    tile_words[w0_0 + 3584u] = r14;
    tile_words[w1_24 + 3840u] = r15;
}

fn far_2(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u;
    let column1 = 15u - column0;
    let low1 = 15u - low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w0_24 = w0 ^ 24u;
    let w1_0 = w1 ^ 0u;
    let w1_24 = w1 ^ 24u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_24 + 256u];
    var r2 = tile_words[w1_0 + 512u];
    var r3 = tile_words[w1_24 + 768u];
    var r4 = tile_words[w0_0 + 1024u];
    var r5 = tile_words[w0_24 + 1280u];
    var r6 = tile_words[w1_0 + 1536u];
    var r7 = tile_words[w1_24 + 1792u];
    var r8 = tile_words[w0_0 + 2048u];
    var r9 = tile_words[w0_24 + 2304u];
    var r10 = tile_words[w1_0 + 2560u];
    var r11 = tile_words[w1_24 + 2816u];
    var r12 = tile_words[w0_0 + 3072u];
    var r13 = tile_words[w0_24 + 3328u];
    var r14 = tile_words[w1_0 + 3584u];
    var r15 = tile_words[w1_24 + 3840u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_24 + 256u] = r1;
    tile_words[w1_0 + 512u] = r2;
    tile_words[w1_24 + 768u] = r3;
    tile_words[w0_0 + 1024u] = r4;
    tile_words[w0_24 + 1280u] = r5;
    tile_words[w1_0 + 1536u] = r6;
    tile_words[w1_24 + 1792u] = r7;
    tile_words[w0_0 + 2048u] = r8;
    tile_words[w0_24 + 2304u] = r9;
    tile_words[w1_0 + 2560u] = r10;
    tile_words[w1_24 + 2816u] = r11;
    tile_words[w0_0 + 3072u] = r12;
    tile_words[w0_24 + 3328u] = r13;
    tile_words[w1_0 + 3584u] = r14;
    tile_words[w1_24 + 3840u] = r15;
}

fn far_3(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u;
    let column1 = 15u - column0;
    let low1 = 15u - low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w0_24 = w0 ^ 24u;
    let w1_0 = w1 ^ 0u;
    let w1_24 = w1 ^ 24u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_24 + 256u];
    var r2 = tile_words[w0_0 + 512u];
    var r3 = tile_words[w0_24 + 768u];
    var r4 = tile_words[w1_0 + 1024u];
    var r5 = tile_words[w1_24 + 1280u];
    var r6 = tile_words[w1_0 + 1536u];
    var r7 = tile_words[w1_24 + 1792u];
    var r8 = tile_words[w0_0 + 2048u];
    var r9 = tile_words[w0_24 + 2304u];
    var r10 = tile_words[w0_0 + 2560u];
    var r11 = tile_words[w0_24 + 2816u];
    var r12 = tile_words[w1_0 + 3072u];
    var r13 = tile_words[w1_24 + 3328u];
    var r14 = tile_words[w1_0 + 3584u];
    var r15 = tile_words[w1_24 + 3840u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_24 + 256u] = r1;
    tile_words[w0_0 + 512u] = r2;
    tile_words[w0_24 + 768u] = r3;
    tile_words[w1_0 + 1024u] = r4;
    tile_words[w1_24 + 1280u] = r5;
    tile_words[w1_0 + 1536u] = r6;
    tile_words[w1_24 + 1792u] = r7;
    tile_words[w0_0 + 2048u] = r8;
    tile_words[w0_24 + 2304u] = r9;
    tile_words[w0_0 + 2560u] = r10;
    tile_words[w0_24 + 2816u] = r11;
    tile_words[w1_0 + 3072u] = r12;
    tile_words[w1_24 + 3328u] = r13;
    tile_words[w1_0 + 3584u] = r14;
    tile_words[w1_24 + 3840u] = r15;
}

fn far_4(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u;
    let column1 = 15u - column0;
    let low1 = 15u - low0;
    let w0 = word_at(low0, column0);
    let w1 = word_at(low1, column1);
    let w0_0 = w0 ^ 0u;
    let w0_24 = w0 ^ 24u;
    let w1_0 = w1 ^ 0u;
    let w1_24 = w1 ^ 24u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_24 + 256u];
    var r2 = tile_words[w0_0 + 512u];
    var r3 = tile_words[w0_24 + 768u];
    var r4 = tile_words[w0_0 + 1024u];
    var r5 = tile_words[w0_24 + 1280u];
    var r6 = tile_words[w0_0 + 1536u];
    var r7 = tile_words[w0_24 + 1792u];
    var r8 = tile_words[w1_0 + 2048u];
    var r9 = tile_words[w1_24 + 2304u];
    var r10 = tile_words[w1_0 + 2560u];
    var r11 = tile_words[w1_24 + 2816u];
    var r12 = tile_words[w1_0 + 3072u];
    var r13 = tile_words[w1_24 + 3328u];
    var r14 = tile_words[w1_0 + 3584u];
    var r15 = tile_words[w1_24 + 3840u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_24 + 256u] = r1;
    tile_words[w0_0 + 512u] = r2;
    tile_words[w0_24 + 768u] = r3;
    tile_words[w0_0 + 1024u] = r4;
    tile_words[w0_24 + 1280u] = r5;
    tile_words[w0_0 + 1536u] = r6;
    tile_words[w0_24 + 1792u] = r7;
    tile_words[w1_0 + 2048u] = r8;
    tile_words[w1_24 + 2304u] = r9;
    tile_words[w1_0 + 2560u] = r10;
    tile_words[w1_24 + 2816u] = r11;
    tile_words[w1_0 + 3072u] = r12;
    tile_words[w1_24 + 3328u] = r13;
    tile_words[w1_0 + 3584u] = r14;
    tile_words[w1_24 + 3840u] = r15;
}

fn middle(lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u * 16u;
    let column1 = 15u - column0;
    let low1 = low0;
    let w0 = word_at(low0, column0);
    let w0_0 = w0 ^ 0u;
    let w0_16 = w0 ^ 16u;
    let w0_1 = w0 ^ 1u;
    let w0_17 = w0 ^ 17u;
    let w0_2 = w0 ^ 2u;
    let w0_18 = w0 ^ 18u;
    let w0_3 = w0 ^ 3u;
    let w0_19 = w0 ^ 19u;
    let w0_4 = w0 ^ 4u;
    let w0_20 = w0 ^ 20u;
    let w0_5 = w0 ^ 5u;
    let w0_21 = w0 ^ 21u;
    let w0_6 = w0 ^ 6u;
    let w0_22 = w0 ^ 22u;
    let w0_7 = w0 ^ 7u;
    let w0_23 = w0 ^ 23u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_16 + 0u];
    var r2 = tile_words[w0_1 + 32u];
    var r3 = tile_words[w0_17 + 32u];
    var r4 = tile_words[w0_2 + 64u];
    var r5 = tile_words[w0_18 + 64u];
    var r6 = tile_words[w0_3 + 96u];
    var r7 = tile_words[w0_19 + 96u];
    var r8 = tile_words[w0_4 + 128u];
    var r9 = tile_words[w0_20 + 128u];
    var r10 = tile_words[w0_5 + 160u];
    var r11 = tile_words[w0_21 + 160u];
    var r12 = tile_words[w0_6 + 192u];
    var r13 = tile_words[w0_22 + 192u];
    var r14 = tile_words[w0_7 + 224u];
    var r15 = tile_words[w0_23 + 224u];
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
    tile_words[w0_0 + 0u] = r0;
    tile_words[w0_16 + 0u] = r1;
    tile_words[w0_1 + 32u] = r2;
    tile_words[w0_17 + 32u] = r3;
    tile_words[w0_2 + 64u] = r4;
    tile_words[w0_18 + 64u] = r5;
    tile_words[w0_3 + 96u] = r6;
    tile_words[w0_19 + 96u] = r7;
    tile_words[w0_4 + 128u] = r8;
    tile_words[w0_20 + 128u] = r9;
    tile_words[w0_5 + 160u] = r10;
    tile_words[w0_21 + 160u] = r11;
    tile_words[w0_6 + 192u] = r12;
    tile_words[w0_22 + 192u] = r13;
    tile_words[w0_7 + 224u] = r14;
    tile_words[w0_23 + 224u] = r15;
}

fn merge_columns(k: u32, lane: u32) {
    workgroupBarrier();
    switch k {
        case 1u: { near_1(lane); }
        case 2u: { near_2(lane); }
        case 3u: { near_3(lane); }
        case 4u: { near_4(lane); }
        case 5u: { far_1(lane); }
        case 6u: { far_2(lane); }
        case 7u: { far_3(lane); }
        default: { far_4(lane); }
    }
    if k > 4u {
        workgroupBarrier();
        middle(lane);
    }
}

fn sort_tile(blocks: Blocks, lane: u32, count: u32) {
    sort_lines(blocks, lane);
    for (var k = 1u; (16u << k) <= count; k++) {
        merge_columns(k, lane);
        workgroupBarrier();
        line_pass(lane);
    }
    workgroupBarrier();
}

fn put_tile(blocks: Blocks, lane: u32) {
    let column0 = lane % 16u;
    let low0 = lane / 16u;
    let column1 = 15u - column0;
    let low1 = 15u - low0;
    let w0 = word_at(low0, column0);
    let w0_0 = w0 ^ 0u;
    let w0_24 = w0 ^ 24u;
    var r0 = tile_words[w0_0 + 0u];
    var r1 = tile_words[w0_24 + 256u];
    var r2 = tile_words[w0_0 + 512u];
    var r3 = tile_words[w0_24 + 768u];
    var r4 = tile_words[w0_0 + 1024u];
    var r5 = tile_words[w0_24 + 1280u];
    var r6 = tile_words[w0_0 + 1536u];
    var r7 = tile_words[w0_24 + 1792u];
    var r8 = tile_words[w0_0 + 2048u];
    var r9 = tile_words[w0_24 + 2304u];
    var r10 = tile_words[w0_0 + 2560u];
    var r11 = tile_words[w0_24 + 2816u];
    var r12 = tile_words[w0_0 + 3072u];
    var r13 = tile_words[w0_24 + 3328u];
    var r14 = tile_words[w0_0 + 3584u];
    var r15 = tile_words[w0_24 + 3840u];
    if maps_target() && !blocks.is_large {
        r0 = decode_target(r0);
        r1 = decode_target(r1);
        r2 = decode_target(r2);
        r3 = decode_target(r3);
        r4 = decode_target(r4);
        r5 = decode_target(r5);
        r6 = decode_target(r6);
        r7 = decode_target(r7);
        r8 = decode_target(r8);
        r9 = decode_target(r9);
        r10 = decode_target(r10);
        r11 = decode_target(r11);
        r12 = decode_target(r12);
        r13 = decode_target(r13);
        r14 = decode_target(r14);
        r15 = decode_target(r15);
    }
    put_first(blocks, blocks.low + 0u + lane, r0);
    put(blocks, blocks.low + 256u + lane, r1);
    put(blocks, blocks.low + 512u + lane, r2);
    put(blocks, blocks.low + 768u + lane, r3);
    put(blocks, blocks.low + 1024u + lane, r4);
    put(blocks, blocks.low + 1280u + lane, r5);
    put(blocks, blocks.low + 1536u + lane, r6);
    put(blocks, blocks.low + 1792u + lane, r7);
    put(blocks, blocks.high + 2048u + lane, r8);
    put(blocks, blocks.high + 2304u + lane, r9);
    put(blocks, blocks.high + 2560u + lane, r10);
    put(blocks, blocks.high + 2816u + lane, r11);
    put(blocks, blocks.high + 3072u + lane, r12);
    put(blocks, blocks.high + 3328u + lane, r13);
    put(blocks, blocks.high + 3584u + lane, r14);
    put(blocks, blocks.high + 3840u + lane, r15);
}


// Uses samplesort/io, samplesort/maps, samplesort/params, samplesort/shape.
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
// No bank conflict: see `src/samplesort/tile_sort.rs`. Lanes access consecutive records of a line,
// or of two lines, in different banks.

@group(0) @binding(5) var<storage, read> items: array<u32>;

const HALF: u32 = SORT_TILE / 2u;

// An item: contiguous records that one workgroup sorts.
struct Item {
    start: u32,
    count: u32,
    // True if they need no sort.
    is_done: bool,
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
    var item = Item(start, min(SORT_TILE, params.len - start), false);
    if params.is_listed == 1u {
        let at = 1u + 3u * number;
        let begin = min(items[at], params.len);
        let count = min(items[at + 1u], params.len - begin);
        item = Item(begin, count, items[at + 2u] == 1u || count == 0u);
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
}

fn fetch(blocks: Blocks, position: u32) -> Record {
    return load_source(clamp(position, blocks.start, blocks.end - 1u));
}

// Replaces a fetched record with padding. Only the tile's first row has positions before the item,
// so only `padded_first` checks for these.
fn padded(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(LAST, r, position < blocks.end);
}

fn padded_first(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(padded(blocks, position, r), FIRST, position < blocks.start);
}

// Stores a sorted record: in the source if the item is larger than a tile.
fn put(blocks: Blocks, position: u32, r: Record) {
    if position < blocks.end {
        if blocks.is_large {
            store_source(position, r);
        } else {
            store_target(position, r);
        }
    }
}

fn put_first(blocks: Blocks, position: u32, r: Record) {
    if position >= blocks.start {
        put(blocks, position, r);
    }
}

fn sort_blocks(blocks: Blocks, lane: u32) {
    sort_tile(blocks, lane, SORT_TILE);
    // Lanes store to positions that other lanes have fetched from.
    storageBarrier();
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
    for (var number = workgroup_number(group, groups); number < all; number += stride) {
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
                            sort_blocks(Blocks(low, high, are_sorted, start, end, is_large), lane);
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
