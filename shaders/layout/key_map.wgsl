// KEY MAP: from key bits to words whose unsigned order is the order of the sort, and back.
//
// `params.sign_*` and `params.flip_*` are the low and the high words of `KeyMap` in src/key.rs.
// They encode the key type and the direction. A key of one word has a high word of 0.

fn sign_of(key: vec2<u32>) -> vec2<u32> {
    let top = select(key.x, key.y, KEY_WORDS == 2u);
    return vec2<u32>(0u - (top >> 31u)) & vec2<u32>(params.sign_low, params.sign_high);
}

fn to_ordered(bits: vec2<u32>) -> vec2<u32> {
    return bits ^ sign_of(bits) ^ vec2<u32>(params.flip_low, params.flip_high);
}

fn from_ordered(ordered: vec2<u32>) -> vec2<u32> {
    let bits = ordered ^ vec2<u32>(params.flip_low, params.flip_high);
    return bits ^ sign_of(bits);
}
