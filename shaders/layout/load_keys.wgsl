// INPUT KEYS of 8, 16 or 32 bits: contiguous, packed, or strided (a field of structs).
//
// `source`: the words of the key buffer. Key i is number key_first + i * key_stride of it, counted
// in keys, of which 2^key_shift share a word.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The key of a record, mapped. A packed key is the upper bits of a word.
fn load_key(i: u32) -> vec2<u32> {
    let at = params.key_first + i * params.key_stride;
    let bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * bits;
    let word = (source[at >> params.key_shift] >> shift) << (32u - bits);
    return to_ordered(vec2<u32>(word, 0u));
}
