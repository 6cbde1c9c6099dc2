// The values that prefix sums add up. A kernel takes the section for its type.

// ---- integers

// Values of type u32. Sums of i32 have the same bits, since both types wrap.

alias Value = u32;

const ZERO: Value = 0u;

fn to_word(value: Value) -> u32 {
    return value;
}

fn from_word(word: u32) -> Value {
    return word;
}

// ---- floats

// Values of type f32. They are only added, two at a time, in an order that does not depend on
// timing. So every device that rounds as IEEE 754 specifies gets the same bits.

alias Value = f32;

const ZERO: Value = 0.0;

fn to_word(value: Value) -> u32 {
    return bitcast<u32>(value);
}

fn from_word(word: u32) -> Value {
    return bitcast<f32>(word);
}
