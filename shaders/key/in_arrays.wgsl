// One-word keys of many arrays: u32, i32, f32, compared as two words, of which the upper one is the number of the array.
//
// In memory they are the keys alone, for their places say which array they are of: arrays lie one behind the other, before the sort
// and behind it. And in between, wherever a kernel reads keys to compare them: tiles are consecutive records, and what is gathered of
// a bucket or a child keeps the order of the input, and so that of the arrays. `array_of` and `arrays_of`: see rows/segments.wgsl.

// What a key is in memory.
alias Stored = u32;

fn of_memory(stored: Stored) -> Key {
    return vec2<u32>(stored, 0u);
}

fn to_memory(bits: Key) -> Stored {
    return bits.x;
}

// Key number `at` of those that lie 2^shift to a word: of fewer than 32 bits, the upper bits of a word.
fn unpack(word: Stored, at: u32, shift: u32) -> Key {
    let bits = 32u >> shift;
    return vec2<u32>((word >> ((at & ((1u << shift) - 1u)) * bits)) << (32u - bits), 0u);
}

// A key of some array.
fn encode_in(of_array: u32, bits: Key) -> Key {
    let word = bits.x ^ ((0u - (bits.x >> 31u)) & KEY_SIGN_MASK) ^ KEY_FLIP;
    return vec2<u32>(word, of_array);
}

fn decode(key: Key) -> Key {
    let bits = key.x ^ KEY_FLIP;
    return vec2<u32>(bits ^ ((0u - (bits >> 31u)) & KEY_SIGN_MASK), 0u);
}
