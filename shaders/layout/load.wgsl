// The first read of a key. A kernel takes the section for its width.

// ---- keys

// INPUT KEYS of 8, 16 or 32 bits: contiguous, packed, or strided (a field of structs).
//
// `source`: the words of the key buffer, with 2^key_shift keys in each. Record i has key number
// key_first + i * key_stride.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The mapped key of a record. A packed key is in the upper bits of the word.
fn load_key(i: u32) -> vec2<u32> {
    let at = params.key_first + i * params.key_stride;
    let bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * bits;
    let word = (source[at >> params.key_shift] >> shift) << (32u - bits);
    return vec2<u32>(encode_key(word, key_sign(), key_flip()), 0u);
}

// ---- wide_keys

// INPUT KEYS of 64 bits: contiguous, or strided (a field of structs).
//
// `source`: the words of the key buffer. Record i has key number key_first + i * key_stride.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The mapped key of a record: the low word and the high word.
fn load_key(i: u32) -> vec2<u32> {
    let at = 2u * (params.key_first + i * params.key_stride);
    return encode_key(vec2<u32>(source[at], source[at + 1u]), key_sign(), key_flip());
}
