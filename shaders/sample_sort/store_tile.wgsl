// Writes a sorted tile to where its records belong, from `base` on.
fn store_tile(lane: u32, base: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            store_record(base + place(lane, j), record_load(place_cell(lane, j)));
        }
    }
}
