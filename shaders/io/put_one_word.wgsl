// Keys of a word or less are written back by one workgroup; those of less as store_packed.wgsl does it.

fn store_tile(lane: u32, base: u32, count: u32) {
    if params.key_shift > 0u {
        store_packed(lane, base, count);
        return;
    }
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            let bits = to_memory(decode(tile_load(place_cell(lane, j))));
            keys[params.key_first + base + place(lane, j)] = bits;
        }
    }
}

fn store_word(word: u32, bits: u32) {
    keys[word] = bits;
}

// Writes those bits of a word that are `own`. (No other lane writes the others.)
fn store_part(word: u32, bits: u32, own: u32) {
    keys[word] = (keys[word] & ~own) | bits;
}
