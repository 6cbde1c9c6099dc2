// KEY MAP: from the bits of a key to words whose unsigned order is the order of the sort, and back.
//
// `sign`, `flip`: the low and the high words of `KeyMap` in src/key.rs, which say the key type and
// the direction. A kernel takes the section for the width of its keys.

// ---- one_word

fn encode_key(key: u32, sign: vec2<u32>, flip: vec2<u32>) -> u32 {
    return key ^ ((0u - (key >> 31u)) & sign.x) ^ flip.x;
}

fn decode_key(key: u32, sign: vec2<u32>, flip: vec2<u32>) -> u32 {
    let bits = key ^ flip.x;
    return bits ^ ((0u - (bits >> 31u)) & sign.x);
}

// ---- two_words

fn encode_key(key: vec2<u32>, sign: vec2<u32>, flip: vec2<u32>) -> vec2<u32> {
    return key ^ (vec2<u32>(0u - (key.y >> 31u)) & sign) ^ flip;
}

fn decode_key(key: vec2<u32>, sign: vec2<u32>, flip: vec2<u32>) -> vec2<u32> {
    let bits = key ^ flip;
    return bits ^ (vec2<u32>(0u - (bits.y >> 31u)) & sign);
}

// ---- order

// The order of mapped keys of one word, with 0 for the other, or of two.
fn precedes(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}
