// Keys are read from and written to the same buffer. One binding, because WebGPU forbids a buffer
// in two roles of one dispatch.

@group(0) @binding(1) var<storage, read_write> keys: array<Key>;

fn load_key(index: u32) -> Key {
    return keys[index];
}

fn store_key(index: u32, key: Key) {
    keys[index] = key;
}
