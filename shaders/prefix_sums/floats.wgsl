// Values to be added up: f32. Nothing but plain additions is done with them, each of two numbers
// and in an order that no lane's speed decides, so that every device that rounds them as IEEE 754
// says gets the same bits.

alias Value = f32;

const ZERO: Value = 0.0;

fn to_word(value: Value) -> u32 {
    return bitcast<u32>(value);
}

fn from_word(word: u32) -> Value {
    return bitcast<f32>(word);
}
