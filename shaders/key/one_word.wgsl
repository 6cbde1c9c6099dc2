// One-word keys: u32, i32, f32. The words' unsigned order is the order of the sort.
//
// KEY_SIGN_MASK and KEY_FLIP come from `KeyMap` in src/key.rs and say how the caller's bits map to
// such a word. They are constants, so that a u32 key costs nothing.

alias Key = u32;

// Before every key, and after every key: what pads a page in front and behind. A real key may
// equal them; with keys alone the two are the same bits, so it does not matter which is written.
const FIRST: Key = 0u;
const LAST: Key = 0xffffffffu;

struct Ordered {
    low: Key,
    high: Key,
}

fn precedes(a: Key, b: Key) -> bool {
    return a < b;
}

fn equals(a: Key, b: Key) -> bool {
    return a == b;
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    return Ordered(min(a, b), max(a, b));
}

fn encode(bits: Key) -> Key {
    return bits ^ ((0u - (bits >> 31u)) & KEY_SIGN_MASK) ^ KEY_FLIP;
}

fn decode(key: Key) -> Key {
    let bits = key ^ KEY_FLIP;
    return bits ^ ((0u - (bits >> 31u)) & KEY_SIGN_MASK);
}
