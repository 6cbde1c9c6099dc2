// Keys are written to a buffer, and not read from there.

@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

fn store_key(index: u32, key: Key) {
    destination[index] = key;
}
