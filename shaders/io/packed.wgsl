// Keys of fewer than 32 bits are written to where the caller has them, 2^key_shift to a word. Lanes beside write the others of a word,
// and some are none of the records': each lane changes its own bits of it.

@group(0) @binding(2) var<storage, read_write> destination: array<atomic<u32>>;

fn store_bits(index: u32, bits: Key) {
    let at = params.key_first + index;
    let key_bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * key_bits;
    let word = at >> params.key_shift;
    atomicAnd(&destination[word], ~((0xffffffffu >> (32u - key_bits)) << shift));
    atomicOr(&destination[word], (to_memory(bits) >> (32u - key_bits)) << shift);
}

fn store_key(index: u32, key: Key) {
    store_bits(index, decode(key));
}
