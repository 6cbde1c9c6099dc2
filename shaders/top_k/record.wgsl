// A record: its mapped key, and its index in its segment, which makes all records different. As a
// number it has the key's words and then the index, the least significant word first. CELLS records
// are in workgroup memory, a plane for each word. A kernel takes the section for the width of its
// keys.

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
