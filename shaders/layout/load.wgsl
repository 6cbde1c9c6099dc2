// The first read of a record: its key, and its segment. A kernel takes the section for the width of
// its keys.

// ---- keys

// INPUT KEYS of 8, 16 or 32 bits: contiguous, packed, or strided (a field of structs).
//
// `source`: the words of the key buffer, with 2^key_shift keys in each. Record i has key number
// key_first + i * key_stride. Of a key count all bits, or those from bit key_low on: 32 - key_up of
// them.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The key of a record as it lies: the bits that count, as the upper bits of a word.
fn raw_key(i: u32) -> vec2<u32> {
    let at = params.key_first + i * params.key_stride;
    let bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * bits + params.key_low;
    return vec2<u32>((source[at >> params.key_shift] >> shift) << params.key_up, 0u);
}

// Whether a record has another key than the one before it.
fn differs_from_last(i: u32) -> bool {
    return raw_key(i).x != raw_key(max(i, 1u) - 1u).x;
}

// The mapped key of a record.
fn load_key(i: u32) -> vec2<u32> {
    return vec2<u32>(encode_key(raw_key(i).x, key_sign(), key_flip()), 0u);
}

// ---- words

// INPUT KEYS of 32 bits: contiguous, or strided (a field of structs). Fewer instructions than for
// keys that may be packed.
//
// `source`: the words of the key buffer. Record i has key number key_first + i * key_stride.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The key of a record as it lies.
fn raw_key(i: u32) -> vec2<u32> {
    return vec2<u32>(source[params.key_first + i * params.key_stride], 0u);
}

// ---- wide_keys

// INPUT KEYS of 64 bits: contiguous, or strided (a field of structs).
//
// `source`: the words of the key buffer. Record i has key number key_first + i * key_stride.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The key of a record as it lies: the low word and the high word.
fn raw_key(i: u32) -> vec2<u32> {
    let at = 2u * (params.key_first + i * params.key_stride);
    return vec2<u32>(source[at], source[at + 1u]);
}

// Whether a record has another key than the one before it.
fn differs_from_last(i: u32) -> bool {
    let own = raw_key(i);
    let last = raw_key(max(i, 1u) - 1u);
    return (own.x != last.x) | (own.y != last.y);
}

// The mapped key of a record.
fn load_key(i: u32) -> vec2<u32> {
    return encode_key(raw_key(i), key_sign(), key_flip());
}

// ---- segment

// SEGMENTS: contiguous parts of the input, sorted separately.
//
// `offsets`: from word offsets_first on, the first record of each of params.segments segments,
// ascending. If they do not ascend, a search still ends, with some number up to params.segments.
// params.segments_power: the largest power of two up to the number of segments, or 0.

@group(0) @binding(4) var<storage, read> offsets: array<u32>;

// The number of segments that begin at record i or before it.
fn segment_of(i: u32) -> u32 {
    var begun = 0u;
    for (var step = params.segments_power; step > 0u; step /= 2u) {
        let next = begun + step;
        if next <= params.segments && offsets[params.offsets_first + next - 1u] <= i {
            begun = next;
        }
    }
    return begun;
}
