// What sort_tile.wgsl does, for records that are dear to compare: Batcher's bitonic sort with one comparator in the text,
// in loops over its stages, instead of some 600 in networks that are written out. Each compares by the caller's function,
// which compilers put in its place.
//
// A stage compares records `distance` apart, or, the first ones of a block, those at mirrored places. All comparators
// put the lesser record first.
//
// Where workgroup memory has room for them, rows are in it, beside their numbers, and move with them: what a comparison reads is
// in different banks then, as numbers are, and a row is read from its buffer once a sort instead of once a stage, by lanes
// each of which reads from elsewhere.
//
// No bank conflict: a line of 32 records takes 33 cells, as in sort_tile.wgsl. Records 32 apart or more are in lines of
// their own, and a warp compares two whole lines, one perhaps backwards. Where they are nearer, half a line's records are
// compared with the other half, and a warp compares two lines: those `distance` apart, so that the first halves of both are in
// different banks, as the second halves are.

// A cell for each record, or none but one that is not used.
var<workgroup> tile_rows: array<user_row, ROW_CELLS>;

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
        let x = low + low / 32u;
        let y = high + high / 32u;
        let a = tile[x];
        let b = tile[y];
        var swap = false;
        if ROWS_BESIDE {
            let first = tile_rows[x];
            let second = tile_rows[y];
            swap = precedes_by_rows(b, second, a, first);
            var low_row = first;
            var high_row = second;
            if swap {
                low_row = second;
                high_row = first;
            }
            tile_rows[x] = low_row;
            tile_rows[y] = high_row;
        } else {
            swap = precedes(b, a);
        }
        tile[x] = select(a, b, swap);
        tile[y] = select(b, a, swap);
    }
    workgroupBarrier();
}

// Sorts the records that the lanes hold into workgroup memory, where `place_cell` finds them. Workgroup memory must not
// be in use any more.
fn sort_tile(r: ptr<function, array<Record, 32>>, lane: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        let number = (*r)[j];
        record_store(place_cell(lane, j), number);
        if ROWS_BESIDE {
            // (What is no row's number has some row, which is not looked at.)
            tile_rows[place_cell(lane, j)] = compared_rows[select(number, 0u, number == LAST)];
        }
    }
    workgroupBarrier();
    for (var block = 2u; block <= TILE; block *= 2u) {
        stage(lane, block / 2u, true);
        for (var distance = block / 4u; distance > 0u; distance /= 2u) {
            stage(lane, distance, false);
        }
    }
}
