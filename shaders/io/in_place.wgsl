// Keys are read from and written to the same buffer. One binding, because WebGPU forbids a buffer
// in two roles of one dispatch.

@group(0) @binding(1) var<storage, read_write> keys: array<Key>;

// The key's bits, still to be encoded: where many keys are loaded, doing so at once would wait for
// each of them in turn.
fn load_bits(index: u32) -> Key {
    return keys[index];
}

fn store_bits(index: u32, bits: Key) {
    keys[index] = bits;
}

fn store_key(index: u32, key: Key) {
    keys[index] = decode(key);
}
