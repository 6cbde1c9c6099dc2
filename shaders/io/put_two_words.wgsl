// Keys of two words are written back by one workgroup.
fn store_tile(lane: u32, base: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            let bits = to_memory(decode(tile_load(place_cell(lane, j))));
            let word = 2u * (params.key_first + base + place(lane, j));
            keys[word] = bits.x;
            keys[word + 1u] = bits.y;
        }
    }
}
