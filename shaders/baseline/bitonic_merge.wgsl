// Shared by warpsort's two networks: a compare-exchange in workgroup memory, and Batcher's bitonic
// merge of 128 keys by a warp of 32 lanes.

// Stores the smaller of two cells' keys to `low`. With `low` above `high` the order is descending.
fn exchange(low: u32, high: u32) {
    let x = compare_exchange(tile_load(low), tile_load(high));
    tile_store(low, x.low);
    tile_store(high, x.high);
}

// One stage: each lane does two of 64 comparators; consecutive lanes have consecutive comparators.
fn merge_stage(first: u32, t: u32, distance: u32) {
    for (var half = 0u; half < 2u; half++) {
        // Blocks of `distance` comparators are `distance` cells apart.
        let number = half * W + t;
        let low = first + number + (number & ~(distance - 1u));
        exchange(low, low + distance);
    }
    workgroupBarrier();
}

// Sorts the 4 * W cells from `first` on: an ascending and a descending half, in either order. All
// cells must be written before a barrier. Ends with a barrier.
//
// The stages are unrolled. As a loop they would add 7 iterations per page, and llvmpipe ends all
// loops of a shader, even unfinished ones, after 65,535 iterations in total.
fn merge_bitonic(first: u32, t: u32) {
    merge_stage(first, t, 64u);
    merge_stage(first, t, 32u);
    merge_stage(first, t, 16u);
    merge_stage(first, t, 8u);
    merge_stage(first, t, 4u);
    merge_stage(first, t, 2u);
    merge_stage(first, t, 1u);
}
