// Keys are read from a buffer, and not written to it.

@group(0) @binding(1) var<storage, read> source: array<Key>;

// The key's bits, still to be encoded: where many keys are loaded, doing so at once would wait for
// each of them in turn.
fn load_bits(index: u32) -> Key {
    return source[index];
}
