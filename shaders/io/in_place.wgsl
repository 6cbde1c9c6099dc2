// Keys are read from and written to one buffer. It has one binding: WebGPU forbids a read-only and
// a writable binding of a buffer in one dispatch.

@group(0) @binding(1) var<storage, read_write> keys: array<Key>;

fn load_key(index: u32) -> Key {
    return keys[index];
}

fn store_key(index: u32, key: Key) {
    keys[index] = key;
}
