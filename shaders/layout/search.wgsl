// Uses layout/each_item, layout/load, layout/params, lib/key_map, lib/workgroup.
//
// SEARCHES among sorted records. A kernel takes the section of its name, and before it one of
// needles (what it looks for), `places`, and one of the index, if there is one. `index_keys` takes
// only that of the index.
//
// INDEX of sorted keys: the mapped key of every INDEXED-th record, one after the other.

// ---- cells

// Needle i: the key i * params.cell_step, but at most params.cells, one more than the last cell.

fn cell_of(i: u32) -> u32 {
    return min(i * params.cell_step, params.cells);
}

// Keys of 8 and 16 bits may have fewer values than there are cells.
fn is_beyond(i: u32) -> bool {
    return (cell_of(i) << params.unused) >> params.unused != cell_of(i);
}

fn needle(i: u32) -> vec2<u32> {
    return vec2<u32>(encode_key(cell_of(i) << params.unused, user_sign(), user_flip()), 0u);
}

// The cell of a key as it is read.
fn cell_with(key: vec2<u32>) -> u32 {
    return decode_key(key.x, user_sign(), user_flip()) >> params.unused;
}

// ---- wide_cells

// Needle i: the key i * params.cell_step, but at most params.cells, one more than the last cell.

fn is_beyond(i: u32) -> bool {
    return false;
}

fn needle(i: u32) -> vec2<u32> {
    let cell = min(i * params.cell_step, params.cells);
    return encode_key(vec2<u32>(cell, 0u), user_sign(), user_flip());
}

// The cell of a key as it is read; of one that is larger than cells can be, the largest number.
fn cell_with(key: vec2<u32>) -> u32 {
    let bits = decode_key(key, user_sign(), user_flip());
    return select(0xffffffffu, bits.x, bits.y == 0u);
}

// ---- keys

// Needle i: key number source_first + i of `needles`, with as many in each word as in that of the
// user's keys.

@group(0) @binding(3) var<storage, read> needles: array<u32>;

fn is_beyond(i: u32) -> bool {
    return false;
}

fn needle(i: u32) -> vec2<u32> {
    let at = params.source_first + i;
    let bits = 32u - params.unused;
    let in_word = 32u / bits;
    let word = needles[at / in_word] >> (at % in_word * bits);
    return vec2<u32>(encode_key(word << params.unused, user_sign(), user_flip()), 0u);
}

// ---- wide_keys

// Needle i: key number source_first + i of `needles`.

@group(0) @binding(3) var<storage, read> needles: array<u32>;

fn is_beyond(i: u32) -> bool {
    return false;
}

fn needle(i: u32) -> vec2<u32> {
    let at = 2u * (params.source_first + i);
    return encode_key(vec2<u32>(needles[at], needles[at + 1u]), user_sign(), user_flip());
}

// ---- places

// The place of a needle among sorted records: the number of records that precede it, or with
// params.is_upper, that it does not precede. If the records are not in order, some number up to
// theirs.
//
// `places`: from word destination_first on, that of each of params.needles.

@group(0) @binding(2) var<storage, read_write> places: array<u32>;

// Whether a record with this key is before the needle's place.
fn is_key_before(key: vec2<u32>, needle: vec2<u32>) -> bool {
    return select(precedes(key, needle), !precedes(needle, key), params.is_upper != 0u);
}

fn is_before(i: u32, needle: vec2<u32>) -> bool {
    return is_key_before(load_key(i), needle);
}

// 1 if the range has `step` records from `place` on and the last of them, so all of them, are
// before the needle's place; else 0.
fn is_passed(place: u32, step: u32, end: u32, needle: vec2<u32>) -> u32 {
    let is_there = step <= end - place;
    let next = select(place, place + step, is_there);
    return u32(is_there & is_before(max(next, 1u) - 1u, needle));
}

fn store_place(i: u32, place: u32) {
    if i < params.needles {
        // After all keys in ascending order, and before them in descending order.
        let beyond = select(0u, params.len, params.user_flip_low == 0u);
        places[params.destination_first + i] = select(place, beyond, is_beyond(i));
    }
}

// Needles after the last one are searched for as that one is, and not stored.
fn needle_or_last(i: u32) -> vec2<u32> {
    return needle(min(i, params.needles - 1u));
}

// Stores the place of needle i among the records from range.x to range.y. A step compares three
// records, whose loads are under way together, and a quarter of the range is left.
fn search(i: u32, wanted: vec2<u32>, range: vec2<u32>) {
    let end = range.y;
    var place = range.x;
    let power = firstLeadingBit(max(end - place, 1u)) / 2u;
    for (var step = 1u << (2u * power); step > 0u; step /= 4u) {
        let passed = is_passed(place, step, end, wanted)
            + is_passed(place, 2u * step, end, wanted)
            + is_passed(place, 3u * step, end, wanted);
        place += passed * step;
    }
    store_place(i, place);
}

// ---- search

// SEARCH: the place of each needle among sorted records.
//
// `source`: see load.wgsl. `places`: see above.
//
// A lane searches for one needle.
//
// No workgroup memory.

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let i = number * LANES + lane;
    search(i, needle_or_last(i), vec2<u32>(0u, params.len));
}

// ---- read_one_word

@group(0) @binding(4) var<storage, read> index: array<u32>;

fn index_key(i: u32) -> vec2<u32> {
    return vec2<u32>(index[i], 0u);
}

// ---- read_two_words

@group(0) @binding(4) var<storage, read> index: array<u32>;

fn index_key(i: u32) -> vec2<u32> {
    return vec2<u32>(index[2u * i], index[2u * i + 1u]);
}

// ---- write_one_word

@group(0) @binding(2) var<storage, read_write> index: array<u32>;

fn store_index(i: u32, key: vec2<u32>) {
    index[i] = key.x;
}

// ---- write_two_words

@group(0) @binding(2) var<storage, read_write> index: array<u32>;

fn store_index(i: u32, key: vec2<u32>) {
    index[2u * i] = key.x;
    index[2u * i + 1u] = key.y;
}

// ---- index_keys

// INDEX_KEYS: the index of sorted keys.
//
// `source`: see load.wgsl.
//
// A lane reads 8 keys, and writes them.
//
// No workgroup memory.

fn item(i: u32) {
    if i < params.len / INDEXED + u32(params.len % INDEXED > 0u) {
        store_index(i, load_key(i * INDEXED));
    }
}

// ---- search_index

// SEARCH_INDEX: the place of each needle among sorted records that have an index.
//
// `source`: see load.wgsl. `index`, `places`: see above.
//
// A lane searches for EACH needles, LANES apart: first among SAMPLES entries of the index, at equal
// distances, which the workgroup has read; then among the entries between two of these; then among
// the records between two entries. So only the last loads are far apart: all steps of a search in
// the records would be.
//
// Bank conflicts where samples are searched, which depend on the needles.

var<workgroup> samples: array<vec2<u32>, SAMPLES>;

// One more than the last of some records (or entries) before a place, and where the next one is.
fn between(before: u32, distance: u32, end: u32) -> vec2<u32> {
    let begin = select((before - 1u) * distance + 1u, 0u, before == 0u);
    return min(vec2<u32>(begin, before * distance), vec2<u32>(end));
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let entries = params.len / INDEXED + u32(params.len % INDEXED > 0u);
    let distance = max(entries / SAMPLES + u32(entries % SAMPLES > 0u), 1u);
    for (var j = lane; j < SAMPLES; j += LANES) {
        samples[j] = index_key(min(j * distance, max(entries, 1u) - 1u));
    }
    workgroupBarrier();
    for (var j = 0u; j < EACH; j++) {
        let i = (number * EACH + j) * LANES + lane;
        let wanted = needle_or_last(i);
        var before = 0u;
        for (var step = SAMPLES / 2u; step > 0u; step /= 2u) {
            before += select(0u, step, is_key_before(samples[before + step - 1u], wanted));
        }
        before += select(0u, 1u, is_key_before(samples[before], wanted));
        let range = between(before, distance, entries);
        var entry = range.x;
        let size = max(range.y - range.x, 1u);
        for (var step = 1u << firstLeadingBit(size); step > 0u; step /= 2u) {
            let is_within = step <= range.y - entry;
            let next = select(entry, entry + step, is_within);
            let is_next = is_within & is_key_before(index_key(max(next, 1u) - 1u), wanted);
            entry = select(entry, next, is_next);
        }
        search(i, wanted, between(entry, INDEXED, params.len));
    }
}
