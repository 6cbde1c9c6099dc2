// Keys of a word or less, 2^key_shift to a word, are read where the caller has them. They are written back there by one workgroup
// (put_one_word.wgsl), or are fields of rows that are.

@group(0) @binding(1) var<storage, read_write> keys: array<u32>;

// The key's bits, still to be encoded.
fn load_bits(index: u32) -> Key {
    let at = params.key_first + index * params.key_stride;
    return unpack(keys[at >> params.key_shift], at, params.key_shift);
}
