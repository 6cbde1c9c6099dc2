// ODD-EVEN TRANSPOSITION SORT in workgroup memory: what the paper compares its base case with
// (appendix "Register optimization"). It has bank conflicts, which is the point.
//
// Sorts each 1024 consecutive keys: 32 lanes and 1024 cells a tile, in the keys' order, TILES tiles
// a workgroup.
//
//   repeat 1024 times: compare and exchange neighbours 2i, 2i + 1 in even rounds, 2i + 1, 2i + 2 in
//   odd ones
//
// The paper gives no text of it. Two choices are made here:
//  1. the network is written as one does without a thought for banks: keys lie where they are in
//     the buffer, neighbouring lanes take neighbouring pairs, and a comparator loads two keys and
//     stores two;
//  2. it runs on one warp, as ShearSort does, so that a key costs both the same lanes and the same
//     workgroup memory. A lane has 16 of the 512 pairs, t, t + 32, and so on. (On 512 lanes, one
//     a pair, banks are met no otherwise; and devices need offer no more than 256.)
//
// Bank conflicts: lane t of a warp touches cell 2t + c, so two lanes meet in each bank: degree 2 in
// every access of the sort, whatever the keys, and twice the cycles.
// Accesses of workgroup memory a lane: 32 to fill, 1024 rounds of 16 comparators with 4 each (in an
// odd round the last lane has one less), 32 to read out: 65,600.

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = lane % W;
    let keys_here = (lane / W) * W * W;
    let number = params.first + workgroup_number(group, groups) * TILES + lane / W;
    let base = number * W * W;
    let keys_end = select(0u, params.len, number < params.end);

    // The way of the keys into workgroup memory, and nothing else.
    var r: array<Key, 32>;
    fill_matrix(&r, keys_here, t, base, keys_end);
    workgroupBarrier();

    for (var round = 0u; round < W * W; round++) {
        for (var i = 0u; i < W / 2u; i++) {
            let first = 2u * (t + W * i) + round % 2u;
            if first + 1u < W * W {
                let low = keys_here + first;
                let ordered = compare_exchange(tile_load(low), tile_load(low + 1u));
                tile_store(low, ordered.low);
                tile_store(low + 1u, ordered.high);
            }
        }
        workgroupBarrier();
    }

    for (var j = 0u; j < W; j++) {
        if base + cell(t, j) < keys_end {
            store_key(base + cell(t, j), tile_load(keys_here + cell(t, j)));
        }
    }
}
