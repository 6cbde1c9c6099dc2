// A record is a key of one word and a value; equal keys are ordered by value.

fn record_of(key: Key, value: u32) -> Record {
    return vec2<u32>(value, key);
}

fn key_of(r: Record) -> Key {
    return r.y;
}

fn value_of(r: Record) -> u32 {
    return r.x;
}
