// Keys are read where the caller has them: in rows, a distance from one to the next, or one behind the other.

@group(0) @binding(1) var<storage, read> source: array<Key>;

// The key's bits, still to be encoded.
fn load_bits(index: u32) -> Key {
    return source[params.key_first + index * params.key_stride];
}
