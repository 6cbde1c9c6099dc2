// Keys are read where the caller has them: in rows, a distance from one to the next, or one behind the other, also 2^key_shift
// of them to a word.

@group(0) @binding(1) var<storage, read> source: array<Stored>;

// The key's bits, still to be encoded.
fn load_bits(index: u32) -> Key {
    let at = params.key_first + index * params.key_stride;
    return unpack(source[at >> params.key_shift], at, params.key_shift);
}
