// Keys of fewer than 32 bits are written to where the caller has them, 2^key_shift to a word. Other workgroups may write the others of a
// word, and some are none of the records': each changes its own bits of it.

@group(0) @binding(2) var<storage, read_write> destination: array<atomic<u32>>;

fn store_word(word: u32, bits: u32) {
    atomicStore(&destination[word], bits);
}

// Writes those bits of a word that are `own`.
fn store_part(word: u32, bits: u32, own: u32) {
    atomicAnd(&destination[word], ~own);
    atomicOr(&destination[word], bits);
}

fn store_key(index: u32, key: Key) {
    let at = params.key_first + index;
    let key_bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * key_bits;
    let bits = to_memory(decode(key)) >> (32u - key_bits);
    store_part(at >> params.key_shift, bits << shift, (0xffffffffu >> (32u - key_bits)) << shift);
}
