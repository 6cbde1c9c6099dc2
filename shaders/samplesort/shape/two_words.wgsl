// A record is a key of two words, the less significant word first.

fn record_of(key: Key, value: u32) -> Record {
    return key;
}

fn key_of(r: Record) -> Key {
    return r;
}

fn value_of(r: Record) -> u32 {
    return 0u;
}
