// Writes gathered records to where they belong, from `base` on.
fn store_gathered(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            store_record(base + place(lane, j), (*r)[j]);
        }
    }
}
