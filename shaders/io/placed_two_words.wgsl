// Keys of two words are read where the caller has them. They are written back there by one workgroup (put_two_words.wgsl), or are
// fields of rows that are.

@group(0) @binding(1) var<storage, read_write> keys: array<u32>;

// The key's bits, still to be encoded.
fn load_bits(index: u32) -> Key {
    let word = 2u * (params.key_first + index * params.key_stride);
    return vec2<u32>(keys[word], keys[word + 1u]);
}
