// Two-word keys: u64, i64, f64, low word first as in memory. The words' unsigned 64-bit order is
// the order of the sort.
//
// KEY_SIGN_MASK and KEY_FLIP come from `KeyMap` in src/key.rs and say how the caller's bits map to
// such words. 64-bit integers are optional in WGSL, two 32-bit words are not.

// What a key is in memory.
alias Stored = Key;

fn of_memory(stored: Stored) -> Key {
    return stored;
}

fn to_memory(bits: Key) -> Stored {
    return bits;
}

// (There are none of fewer bits.)
fn unpack(word: Stored, at: u32, shift: u32) -> Key {
    return word;
}

fn encode(bits: Key) -> Key {
    return bits ^ (vec2<u32>(0u - (bits.y >> 31u)) & KEY_SIGN_MASK) ^ KEY_FLIP;
}

fn decode(key: Key) -> Key {
    let bits = key ^ KEY_FLIP;
    return bits ^ (vec2<u32>(0u - (bits.y >> 31u)) & KEY_SIGN_MASK);
}
