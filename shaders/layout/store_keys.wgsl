// COMPOSED RECORDS: a key of one word, with the index as value.

fn store(i: u32, key: vec2<u32>) {
    destination[i] = key.x;
    store_value(i, i);
}
