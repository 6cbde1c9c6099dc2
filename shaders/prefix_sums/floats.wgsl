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
