// What sort_tile.wgsl does, for records that are dear to compare: Batcher's bitonic sort with one comparator in the text,
// in loops over its stages, instead of some 600 in networks that are written out. Each compares by the caller's function,
// which compilers put in its place.
//
// A stage compares records `distance` apart, or, the first ones of a block, those at mirrored places. All comparators
// put the lesser record first.
//
// What is compared is in cells_of_keys.wgsl, or in cells_of_rows.wgsl.
//
// No bank conflict: a line of 32 records takes 33 cells, as in sort_tile.wgsl. Records 32 apart or more are in lines of
// their own, and a warp compares two whole lines, one perhaps backwards. Where they are nearer, half a line's records are
// compared with the other half, and a warp compares two lines: those `distance` apart, so that the first halves of both are in
// different banks, as the second halves are.

// The first of the two records that comparator t of a stage compares.
fn first_of(t: u32, distance: u32) -> u32 {
    if distance >= 32u {
        return (t / distance) * 2u * distance + t % distance;
    }
    let warp = t / 32u;
    let line = (warp / distance) * 2u * distance + warp % distance + (t / 16u) % 2u * distance;
    let half = t % 16u;
    return line * 32u + (half / distance) * 2u * distance + half % distance;
}

fn stage(lane: u32, distance: u32, mirrored: bool) {
    for (var j = 0u; j < 16u; j++) {
        let low = first_of(j * LANES + lane, distance);
        let high = select(low + distance, low ^ (2u * distance - 1u), mirrored);
        order_cells(low + low / 32u, high + high / 32u);
    }
    workgroupBarrier();
}

// Sorts the records that the lanes hold into workgroup memory, where `place_cell` finds them. Workgroup memory must not
// be in use any more.
fn sort_tile(r: ptr<function, array<Record, 32>>, lane: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        fill_cell(place_cell(lane, j), (*r)[j]);
    }
    workgroupBarrier();
    for (var block = 2u; block <= TILE; block *= 2u) {
        stage(lane, block / 2u, true);
        for (var distance = block / 4u; distance > 0u; distance /= 2u) {
            stage(lane, distance, false);
        }
    }
}
