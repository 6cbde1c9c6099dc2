// COMPOSED RECORDS: a key of two words, low word first, with the index as value.

fn store(i: u32, key: vec2<u32>) {
    destination[2u * i] = key.x;
    destination[2u * i + 1u] = key.y;
    store_value(i, i);
}
