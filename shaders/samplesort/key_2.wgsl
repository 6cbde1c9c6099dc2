// Keys of two words, the less significant word first, as in memory.

alias Key = vec2<u32>;

// The order-preserving map of src/key.rs.
fn encode_key(key: Key, sign: vec2<u32>, flip: vec2<u32>) -> Key {
    return key ^ (vec2<u32>(0u - (key.y >> 31u)) & sign) ^ flip;
}

fn decode_key(key: Key, sign: vec2<u32>, flip: vec2<u32>) -> Key {
    let bits = key ^ flip;
    return bits ^ (vec2<u32>(0u - (bits.y >> 31u)) & sign);
}
