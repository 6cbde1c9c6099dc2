// A tile that is sorted first: TILE consecutive records of the input.

// Loads the tile from `base` on, and pads what is past `count`. All are loaded before any is encoded.
fn load_tile(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    var arrays: array<u32, 32>;
    arrays_of_tile(&arrays, lane, base, count);
    if count == TILE {
        // A load in a branch of its own waits for the one before: twice the time.
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = load_record(base + place(lane, j));
        }
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = encode_record(arrays[j], (*r)[j]);
        }
    } else {
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = LAST_RECORD;
            if place(lane, j) < count {
                (*r)[j] = encode_record(arrays[j], load_record(base + place(lane, j)));
            }
        }
    }
}
