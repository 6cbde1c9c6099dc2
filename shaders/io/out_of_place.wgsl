// Keys are read from one buffer and written to another.

@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

fn load_key(index: u32) -> Key {
    return encode(source[index]);
}

fn store_key(index: u32, key: Key) {
    destination[index] = decode(key);
}
