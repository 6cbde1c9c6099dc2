// Two-word keys of many arrays: u64, i64, f64, compared as three words, of which the upper one is the number of the array. In memory they
// are the keys alone: see in_arrays.wgsl.

// What a key is in memory.
alias Stored = vec2<u32>;

fn of_memory(stored: Stored) -> Key {
    return vec3<u32>(stored, 0u);
}

fn to_memory(bits: Key) -> Stored {
    return bits.xy;
}

// (There are none of fewer bits.)
fn unpack(word: Stored, at: u32, shift: u32) -> Key {
    return of_memory(word);
}

// A key of some array.
fn encode_in(of_array: u32, bits: Key) -> Key {
    let words = bits.xy ^ (vec2<u32>(0u - (bits.y >> 31u)) & KEY_SIGN_MASK) ^ KEY_FLIP;
    return vec3<u32>(words, of_array);
}

fn decode(key: Key) -> Key {
    let bits = key.xy ^ KEY_FLIP;
    return vec3<u32>(bits ^ (vec2<u32>(0u - (bits.y >> 31u)) & KEY_SIGN_MASK), 0u);
}
