// Uses layout/each_item, layout/load, layout/params, lib/key_map, lib/workgroup.
//
// How the records of a sort of words are composed. A kernel takes the section of its name. Before
// it, `encode_keys` and `encode_fields` take one of values and one of keys, which has their
// `destination`; `encode_segments` takes `values`.

// ---- values

// `values`: the value of each composed record.

@group(0) @binding(3) var<storage, read_write> values: array<u32>;

fn store_value(i: u32, value: u32) {
    values[i] = value;
}

// ---- no_values

// Composed records without a value.

fn store_value(i: u32, value: u32) {}

// ---- keys

// COMPOSED RECORDS: a key of one word, with the index as value.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = key.x;
    store_value(i, i);
}

// ---- wide_keys

// COMPOSED RECORDS: a key of two words, low word first, with the index as value.

@group(0) @binding(2) var<storage, read_write> destination: array<vec2<u32>>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = key;
    store_value(i, i);
}

// ---- segment_keys

// COMPOSED RECORDS: (segment, key of one word), with the index as value.

@group(0) @binding(2) var<storage, read_write> destination: array<vec2<u32>>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = vec2<u32>(key.x, segment_of(i));
    store_value(i, i);
}

// ---- segment_wide_keys

// COMPOSED RECORDS: (segment, high word of a key), with its low word as value.

@group(0) @binding(2) var<storage, read_write> destination: array<vec2<u32>>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = vec2<u32>(key.y, segment_of(i));
    store_value(i, key.x);
}

// ---- encode_keys

// ENCODE: composes the records of a sort of words from the user's keys.
//
// `source`: see load.wgsl. `destination`, `values`: the composed records, compared as unsigned
// words, with the value, if any, as the least significant one:
//
//     keys of    segments  destination               values
//     8 to 32    no        key                       index
//     64         no        key (low, high word)      index
//     8 to 32    yes       (key, segment)            index
//     64         yes       (high word, segment)      low word
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

fn item(i: u32) {
    if i < params.len {
        store(i, load_key(i));
    }
}

// ---- encode_fields

// ENCODE, keys of several fields: composes records from the first two, the second one as the lowest
// bits. See `encode_keys`; `append_field` adds other fields.
//
// `source`: see load.wgsl, for the first field. `destination`, `values`: the composed records.
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

// The second field of a record, mapped, as the lowest bits of a word.
fn load_second(i: u32) -> u32 {
    let at = params.second_first + i * params.second_stride;
    let bits = 32u >> params.second_shift;
    let shift = (at & ((1u << params.second_shift) - 1u)) * bits;
    let raw = (source[at >> params.second_shift] >> shift) << params.second_unused;
    let sign = vec2<u32>(params.second_sign, 0u);
    return encode_key(raw, sign, vec2<u32>(params.second_flip, 0u)) >> params.second_unused;
}

fn item(i: u32) {
    if i < params.len {
        let first = load_key(i).x >> params.unused;
        let second = load_second(i);
        // A shift by 32 bits would shift by none.
        let is_word = params.second_unused == 0u;
        let low = select((first << (32u - params.second_unused)) | second, second, is_word);
        store(i, vec2<u32>(low, first >> params.second_unused));
    }
}

// ---- append_field

// ENCODE, keys of several fields: appends one more field to composed records, as the lowest bits of
// their keys.
//
// `source`: see load.wgsl, for the field. `destination`: the composed records, of params.words
// words. Of these, params.source_stride words are the key, low word first; above a key of one word
// there may be a segment. The bits that the key has move up.
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        let field = load_key(i).x >> params.unused;
        // A field of 32 bits fills a word, and a shift by 32 bits would shift by none.
        let is_word = params.unused == 0u;
        let bits = 32u - params.unused;
        let at = i * params.words;
        let low = destination[at];
        destination[at] = select((low << bits) | field, field, is_word);
        if params.source_stride == 2u {
            let carried = (destination[at + 1u] << bits) | (low >> params.unused);
            destination[at + 1u] = select(carried, low, is_word);
        }
    }
}

// ---- encode_segments

// ENCODE, second pass of a segmented argsort of 64-bit keys: the segment of each record, in the
// order of the first pass.
//
// `source`: the indices in that order. `destination`: their segments. `values`: 0, 1, 2, ..., the
// ranks in that order. A sort by (segment, rank) gives the records of each segment by key.
//
// A lane encodes 8 records, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        destination[i] = segment_of(source[i]);
        store_value(i, i);
    }
}
