// Keys that are the upper bits of words: see narrow_keys.wgsl.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The key in a place.
fn key_at(place: u32, known: ptr<function, u32>) -> u32 {
    return source[place];
}
