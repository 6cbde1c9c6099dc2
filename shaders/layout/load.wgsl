// The first read of a key. A kernel takes the section for its width.

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
