// Parameters, segments, and records: what is read of them, and what is written.

// ---- params

// Parameters of the top k of segments.

struct Params {
    // Records of all segments.
    len: u32,
    // The first row of this dispatch, and one past the last: a row for each segment.
    first: u32,
    end: u32,
    // The positions of keys: see layout/load.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    key_low: u32,
    key_up: u32,
    // The map of keys: see lib/key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
    // The number of segments, and the first of their offsets, or their length: see below.
    segments: u32,
    offsets_first: u32,
    segment_len: u32,
    // Records of a row.
    k: u32,
    // The most records that are sorted, of which the first k are written: k to CELLS.
    room: u32,
    // The index of the first key of the first row, and of its first index.
    output_first: u32,
    indices_first: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}

// ---- segments

// The segments: the first record of one, and the number of its records, at most LONGEST. Whatever
// the offsets are, it is within all records.
//
// If params.segment_len is not 0, they are rows of so many records, one after the other, and
// nothing is read. Otherwise
//
// `offsets`: from word offsets_first on, the first record of each of params.segments segments. One
// ends where the next begins. If the next begins before it, it is empty. Of a longer one, the first
// LONGEST records count.

@group(0) @binding(4) var<storage, read> offsets: array<u32>;

fn segment_at(row: u32) -> vec2<u32> {
    var segment = vec2<u32>(row * params.segment_len, params.segment_len);
    if params.segment_len == 0u {
        let first = min(offsets[params.offsets_first + row], params.len);
        var end = params.len;
        if row + 1u < params.segments {
            end = min(offsets[params.offsets_first + row + 1u], params.len);
        }
        segment = vec2<u32>(first, min(max(end, first) - first, LONGEST));
    }
    return segment;
}

// ---- one_word

alias Record = vec2<u32>;

// Records before and after all others.
const FIRST: Record = vec2<u32>(0u, 0u);
const LAST: Record = vec2<u32>(0xffffffffu, 0xffffffffu);

const WORDS: u32 = 2u;

fn record_of(key: vec2<u32>, index: u32) -> Record {
    return vec2<u32>(index, key.x);
}

fn key_of(r: Record) -> u32 {
    return r.y;
}

fn precedes(a: Record, b: Record) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

// The most significant word, counted from there, in which two records differ.
fn level_of(a: Record, b: Record) -> u32 {
    return select(1u, 0u, a.y != b.y);
}

fn word_of(r: Record, level: u32) -> u32 {
    return select(r.x, r.y, level == 0u);
}

fn with_word(r: Record, level: u32, word: u32) -> Record {
    return vec2<u32>(select(r.x, word, level == 1u), select(r.y, word, level == 0u));
}

var<workgroup> kept_indices: array<u32, CELLS>;
var<workgroup> kept_low: array<u32, CELLS>;

fn kept_load(i: u32) -> Record {
    return vec2<u32>(kept_indices[i], kept_low[i]);
}

fn kept_store(i: u32, r: Record) {
    kept_indices[i] = r.x;
    kept_low[i] = r.y;
}

// Stores a record at its place: see select.wgsl.
fn keep(i: u32, r: Record) {
    kept_indices[i] = r.x;
    kept_low[i] = r.y;
}

// ---- two_words

alias Record = vec3<u32>;

// Records before and after all others.
const FIRST: Record = vec3<u32>(0u, 0u, 0u);
const LAST: Record = vec3<u32>(0xffffffffu, 0xffffffffu, 0xffffffffu);

const WORDS: u32 = 3u;

fn record_of(key: vec2<u32>, index: u32) -> Record {
    return vec3<u32>(index, key);
}

fn key_of(r: Record) -> vec2<u32> {
    return r.yz;
}

fn precedes(a: Record, b: Record) -> bool {
    let by_low = (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
    return (a.z < b.z) | ((a.z == b.z) & by_low);
}

// The most significant word, counted from there, in which two records differ.
fn level_of(a: Record, b: Record) -> u32 {
    return select(select(2u, 1u, a.y != b.y), 0u, a.z != b.z);
}

fn word_of(r: Record, level: u32) -> u32 {
    return select(select(r.x, r.y, level == 1u), r.z, level == 0u);
}

fn with_word(r: Record, level: u32, word: u32) -> Record {
    return vec3<u32>(
        select(r.x, word, level == 2u),
        select(r.y, word, level == 1u),
        select(r.z, word, level == 0u),
    );
}

var<workgroup> kept_indices: array<u32, CELLS>;
var<workgroup> kept_low: array<u32, CELLS>;
var<workgroup> kept_high: array<u32, CELLS>;

fn kept_load(i: u32) -> Record {
    return vec3<u32>(kept_indices[i], kept_low[i], kept_high[i]);
}

fn kept_store(i: u32, r: Record) {
    kept_indices[i] = r.x;
    kept_low[i] = r.y;
    kept_high[i] = r.z;
}

// Stores a record at its place: see select.wgsl.
fn keep(i: u32, r: Record) {
    kept_indices[i] = r.x;
    kept_low[i] = r.y;
    kept_high[i] = r.z;
}

// ---- no_keys

fn store_key(at: u32, r: Record) {}

// ---- keys

// `output`: keys of one word, from number output_first on.

@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn store_key(at: u32, r: Record) {
    output[params.output_first + at] = decode_key(key_of(r), key_sign(), key_flip());
}

// ---- wide_keys

// `output`: keys of two words, from number output_first on.

@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn store_key(at: u32, r: Record) {
    let key = decode_key(key_of(r), key_sign(), key_flip());
    output[2u * (params.output_first + at)] = key.x;
    output[2u * (params.output_first + at) + 1u] = key.y;
}

// ---- no_indices

fn store_index(at: u32, index: u32) {}

// ---- indices

// `indices`: from number indices_first on.

@group(0) @binding(3) var<storage, read_write> indices: array<u32>;

fn store_index(at: u32, index: u32) {
    indices[params.indices_first + at] = index;
}
