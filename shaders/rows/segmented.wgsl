// Codes of many arrays: each is sorted by its array's number first, which is its upper word.
fn store_code(i: u32, key: Key) {
    destination[2u * i] = encode(key);
    destination[2u * i + 1u] = segment_of(i);
}
