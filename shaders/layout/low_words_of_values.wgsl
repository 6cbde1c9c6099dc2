// DECODE of 64-bit keys from records of (high word, segment), with the low word as value.

@group(0) @binding(3) var<storage, read> values: array<u32>;

fn key_at(rank: u32) -> vec2<u32> {
    return vec2<u32>(values[rank], source[2u * rank]);
}
