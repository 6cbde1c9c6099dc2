// Keys of one word.

alias Key = u32;

// The order-preserving map of src/key.rs.
fn encode_key(key: Key, sign: vec2<u32>, flip: vec2<u32>) -> Key {
    return key ^ ((0u - (key >> 31u)) & sign.x) ^ flip.x;
}

fn decode_key(key: Key, sign: vec2<u32>, flip: vec2<u32>) -> Key {
    let bits = key ^ flip.x;
    return bits ^ ((0u - (bits >> 31u)) & sign.x);
}
