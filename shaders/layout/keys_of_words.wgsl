// DECODE from sorted words: the key is the first of every source_stride words.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The mapped key of a rank.
fn key_at(rank: u32, known: ptr<function, u32>) -> u32 {
    return source[rank * params.source_stride];
}
