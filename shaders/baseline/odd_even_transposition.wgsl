// Uses base_case/matrix, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// ODD-EVEN TRANSPOSITION SORT in workgroup memory: the paper's baseline for its base case (appendix
// "Register optimization"). It has bank conflicts on purpose.
//
// Sorts each 1024 consecutive keys: 32 lanes and 1024 cells per tile, in the order of the keys,
// TILES tiles per workgroup.
//
//   repeat 1024 times: compare and exchange neighbours 2i, 2i + 1 in even rounds, 2i + 1, 2i + 2 in
//   odd ones
//
// The paper gives no pseudocode. Two choices are made here:
//  1. the network ignores banks: keys stay in the order of the buffer, neighbouring lanes have
//     neighbouring pairs, and a comparator loads two keys and stores two;
//  2. it runs on one warp, as ShearSort does, so that both use the same lanes and the same
//     workgroup memory per key. A lane has 16 of the 512 pairs: t, t + 32, and so on. 512 lanes,
//     one per pair, would have the same conflicts, and devices need not offer more than 256 lanes.
//
// Bank conflicts: lane t of a warp accesses cell 2t + c, so two lanes are in each bank: degree 2 in
// every access of the sort, whatever the keys, and twice the cycles.
// Accesses of workgroup memory per lane: 32 to fill, 1024 rounds of 16 comparators with 4 each (in
// an odd round the last lane has one comparator less), 32 to read out: 65,600.

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

    // Registers are used only to load keys into workgroup memory.
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
