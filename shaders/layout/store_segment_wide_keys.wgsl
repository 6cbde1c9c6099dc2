// COMPOSED RECORDS: (segment, high word of a key), with its low word as value.

fn store(i: u32, key: vec2<u32>) {
    destination[2u * i] = key.y;
    destination[2u * i + 1u] = segment_of(i);
    store_value(i, key.x);
}
