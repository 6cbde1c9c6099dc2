// Where the records of a tile lie, in it and in workgroup memory: see sort_tile.wgsl.

// Where record j of a lane is loaded to and stored from: 1024 consecutive ones a warp.
fn place(lane: u32, j: u32) -> u32 {
    return (lane / 32u) * 1024u + j * 32u + lane % 32u;
}

// The cell of that place.
fn place_cell(lane: u32, j: u32) -> u32 {
    return ((lane / 32u) * 32u + j) * 33u + lane % 32u;
}

// The arrays of a tile's `count` records, and of some in the places that are past them.
fn arrays_of_tile(arrays: ptr<function, array<u32, 32>>, lane: u32, base: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        (*arrays)[j] = base + min(place(lane, j), count - 1u);
    }
    arrays_of(arrays, base, base + count - 1u);
}
