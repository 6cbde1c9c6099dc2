// DECODE of 64-bit keys from records of two words: a key's low word and its high word.

fn key_at(rank: u32) -> vec2<u32> {
    return vec2<u32>(source[2u * rank], source[2u * rank + 1u]);
}
