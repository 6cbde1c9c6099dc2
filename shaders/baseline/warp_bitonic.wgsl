// Uses baseline/bitonic_merge, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// warpsort, step 1: a warp sorts 128 keys by Batcher's bitonic network in workgroup memory (Ye,
// Fan, Lin, Yuan and Ienne, "High Performance Comparison-Based Sorting Algorithm on Many-Core
// GPUs", IPDPS 2010, section III and Algorithm 1).
//
// Sorts each 128 consecutive keys: 32 lanes per tile, TILES tiles per workgroup, 4 keys per lane.
//
//   for blocks of 2, 4, .. 64 keys: merge each block, every second one descending
//   merge all 128
//
// Each block that is merged is bitonic: it has an ascending and a descending half. Of the 64
// comparators of a stage 32 ascend and 32 descend. Each lane does one of each, so lanes do not
// diverge. In the last merge all comparators ascend. 28 stages, 14 comparators per key.
//
// Departures from Algorithm 1:
//  1. both keys of a comparator are stored whether or not they are exchanged, so that no access
//     depends on the keys;
//  2. a barrier after each stage replaces lock-step, which WGSL does not guarantee.
//
// Bank conflicts, kept on purpose: keys are in workgroup memory in their order. The lanes of an
// ascending comparator at distance d in blocks of b access the cells with a 0 in the bits of d and
// of b. Each of these two bits that is one of the 5 bits of a bank halves the number of banks: 4
// lanes share a bank while b < 32 (10 stages), 2 in the other stages with d < 32 (15), and none in
// the 3 with d >= 32. 232 accesses of workgroup memory per lane: 4 to fill, 8 in each of 28 stages,
// 4 to read out.

struct Params {
    // Keys in the buffer.
    len: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

const TILE_KEYS: u32 = 4u * W;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = lane % W;
    let first = (lane / W) * TILE_KEYS;
    let number = params.first + workgroup_number(group, groups) * TILES + lane / W;
    let base = number * TILE_KEYS;
    let keys_end = select(0u, params.len, number < params.end);

    // All loads come before any store, so that they overlap.
    var keys: array<Key, 4>;
    for (var j = 0u; j < 4u; j++) {
        keys[j] = LAST;
        if base + j * W + t < keys_end {
            keys[j] = load_key(base + j * W + t);
        }
    }
    for (var j = 0u; j < 4u; j++) {
        tile_store(first + j * W + t, keys[j]);
    }
    workgroupBarrier();

    for (var block = 2u; block < TILE_KEYS; block *= 2u) {
        for (var distance = block / 2u; distance > 0u; distance /= 2u) {
            // Lane t has the ascending comparator number t. A block of keys has block / 2
            // comparators, and every second block ascends.
            let within = t & (block / 2u - 1u);
            let low = within + (within & ~(distance - 1u));
            let ascending = first + 4u * (t - within) + low;
            exchange(ascending, ascending + distance);
            let descending = ascending + block;
            exchange(descending + distance, descending);
            workgroupBarrier();
        }
    }
    merge_bitonic(first, t);

    for (var j = 0u; j < 4u; j++) {
        if base + j * W + t < keys_end {
            store_key(base + j * W + t, tile_load(first + j * W + t));
        }
    }
}
