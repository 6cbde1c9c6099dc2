// One array: keys are sorted by themselves.
fn store_code(i: u32, key: Key) {
    destination[i] = key;
}
