// Values of type u32. Sums of i32 have the same bits, since both types wrap.

alias Value = u32;

const ZERO: Value = 0u;

fn to_word(value: Value) -> u32 {
    return value;
}

fn from_word(word: u32) -> Value {
    return word;
}
