// Keys are written to `destination`, not to the buffer that they are loaded from.

@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

fn store_key(index: u32, key: Key) {
    destination[index] = key;
}
