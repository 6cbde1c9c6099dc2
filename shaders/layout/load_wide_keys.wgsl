// INPUT KEYS of 64 bits: contiguous, or strided (a field of structs).
//
// `source`: the words of the key buffer. Record i has key number key_first + i * key_stride.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The mapped key of a record: the low word and the high word.
fn load_key(i: u32) -> vec2<u32> {
    let at = 2u * (params.key_first + i * params.key_stride);
    return to_ordered(vec2<u32>(source[at], source[at + 1u]));
}
