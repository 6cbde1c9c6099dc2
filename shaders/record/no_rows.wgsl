// No rows go with keys.
fn store_sorted(lane: u32, count: u32) {
    store_tile(lane, 0u, count);
}
