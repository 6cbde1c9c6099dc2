// A tile that is sorted first: TILE consecutive records of the input.

// Loads the tile from `base` on, and pads what is past `count`. All are loaded before any is encoded.
fn load_tile(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    var arrays: array<u32, 32>;
    arrays_of_tile(&arrays, lane, base, count);
    // A load in a branch of its own waits for the one before: twice the time.
    if count == TILE {
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = load_record(base + place(lane, j));
        }
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = encode_record(arrays[j], (*r)[j]);
        }
    } else {
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = load_record(base + min(place(lane, j), count - 1u));
        }
        // The last one is read by other lanes than that which may write it.
        storageBarrier();
        for (var j = 0u; j < 32u; j++) {
            if place(lane, j) < count {
                (*r)[j] = encode_record(arrays[j], (*r)[j]);
            } else {
                (*r)[j] = LAST_RECORD;
            }
        }
    }
}
