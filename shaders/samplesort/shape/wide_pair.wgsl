// A record is a key of two words, the less significant word first, and a value; equal keys are
// ordered by value.

fn record_of(key: Key, value: u32) -> Record {
    return vec3<u32>(value, key);
}

fn key_of(r: Record) -> Key {
    return r.yz;
}

fn value_of(r: Record) -> u32 {
    return r.x;
}
