// One array: codes are sorted by themselves.
fn store_code(i: u32, code: Key) {
    destination[i] = code;
}

fn store_padding(i: u32) {
    destination[i] = LAST;
}
