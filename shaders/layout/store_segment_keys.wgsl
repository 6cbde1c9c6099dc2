// COMPOSED RECORDS: (segment, key of one word), with the index as value.

fn store(i: u32, key: vec2<u32>) {
    destination[2u * i] = key.x;
    destination[2u * i + 1u] = segment_of(i);
    store_value(i, i);
}
