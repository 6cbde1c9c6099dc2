// Keys are read from a buffer that is not written.

@group(0) @binding(1) var<storage, read> source: array<Key>;

fn load_key(index: u32) -> Key {
    return source[index];
}
