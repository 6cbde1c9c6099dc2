// One array: codes are sorted by themselves.
fn store_code(i: u32, code: Key) {
    destination[i] = code;
}
