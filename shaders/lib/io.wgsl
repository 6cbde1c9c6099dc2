// The buffers of keys in base cases and merges. A kernel takes the sections that it needs.

// ---- in_place

// Keys are read from and written to one buffer. It has one binding: WebGPU forbids a read-only and
// a writable binding of a buffer in one dispatch.

@group(0) @binding(1) var<storage, read_write> keys: array<Key>;

fn load_key(index: u32) -> Key {
    return keys[index];
}

fn store_key(index: u32, key: Key) {
    keys[index] = key;
}

// ---- source

// Keys are read from a buffer that is not written.

@group(0) @binding(1) var<storage, read> source: array<Key>;

fn load_key(index: u32) -> Key {
    return source[index];
}

// ---- destination

// Keys are written to `destination`, not to the buffer that they are loaded from.

@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

fn store_key(index: u32, key: Key) {
    destination[index] = key;
}
