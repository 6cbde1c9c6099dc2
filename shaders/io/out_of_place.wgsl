// Keys are read from one buffer and written to another.

@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

// The key's bits, still to be encoded: where many keys are loaded, doing so at once would wait for
// each of them in turn.
fn load_bits(index: u32) -> Key {
    return source[index];
}

fn store_key(index: u32, key: Key) {
    destination[index] = decode(key);
}
