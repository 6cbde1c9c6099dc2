// The tiles that are sorted first: TILE consecutive records of the input each.

struct Params {
    // Records.
    len: u32,
    // The first tile of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Children: where tiles are ranked.
    children: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Loads the tile from `base` on, and pads what is past `count`. All are loaded before any is encoded.
fn load_tile(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    if count == TILE {
        // A load in a branch of its own waits for the one before: twice the time.
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = load_record(base + place(lane, j));
        }
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = encode_record((*r)[j]);
        }
    } else {
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = LAST_RECORD;
            if place(lane, j) < count {
                (*r)[j] = encode_record(load_record(base + place(lane, j)));
            }
        }
    }
}
