// What both of warpsort's networks are made of: a compare-exchange in workgroup memory, and
// Batcher's bitonic merge of 128 keys by a warp of 32 lanes.

// The keys of two cells; the lesser goes to `low`. With `low` above `high` it is a descending one.
fn exchange(low: u32, high: u32) {
    let x = compare_exchange(tile_load(low), tile_load(high));
    tile_store(low, x.low);
    tile_store(high, x.high);
}

// One stage: a lane does two of 64 comparators, and the lanes' comparators follow one another.
fn merge_stage(first: u32, t: u32, distance: u32) {
    for (var half = 0u; half < 2u; half++) {
        // They stand in blocks of `distance`, which are as far apart.
        let number = half * W + t;
        let low = first + number + (number & ~(distance - 1u));
        exchange(low, low + distance);
    }
    workgroupBarrier();
}

// Sorts the 4 * W cells from `first` on, which hold an ascending and a descending half, in either
// order. Begins with all cells written before a barrier, and ends with a barrier.
//
// The stages are no loop: a loop in the merge's loop would go round 7 times for each page, and
// llvmpipe ends all loops of a shader, whatever is left to do, when together they have gone round
// 65,535 times.
fn merge_bitonic(first: u32, t: u32) {
    merge_stage(first, t, 64u);
    merge_stage(first, t, 32u);
    merge_stage(first, t, 16u);
    merge_stage(first, t, 8u);
    merge_stage(first, t, 4u);
    merge_stage(first, t, 2u);
    merge_stage(first, t, 1u);
}
