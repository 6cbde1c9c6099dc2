// Uses base_case/matrix, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// SHEARSORT-DIAGONAL: no transposition (paper, section 3.3 and Algorithm 2).
//
// Sorts each 1024 consecutive keys: one bank matrix of 32 x 32 and 32 lanes per matrix, TILES
// matrices per workgroup. The rows of the sort are the diagonals of the matrix; the columns of the
// sort are the columns of the matrix, rotated. Both load directly into registers.
//
//   repeat log2(W) times: sort diagonals (t+j, j), odd ones descending; sort columns (t+j, t)
//   sort the diagonals; read them out column-wise
//
// Departures from Algorithm 2, which as printed does not sort:
//  1. an odd diagonal is reversed in registers, not by address: (W-j) is the wrong cell, and W-1-j,
//     the right one, accesses every second bank twice;
//  2. the printed last step, diagonals to columns, has a two-way conflict. Lane t reads (t+j, t)
//     instead, the key of rank 32 j + t, and its writes are coalesced;
//  3. barriers replace lock-step, which WGSL does not guarantee.
//
// No bank conflict: every access is in bank (t + j) % 32 or t, for constant j.
// 768 accesses of workgroup memory per lane: 32 to fill, 64 in each of 11 passes, 32 to read out.

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = lane % W;
    let matrix = (lane / W) * W * W;
    let number = params.first + workgroup_number(group, groups) * TILES + lane / W;
    let base = number * W * W;
    let keys_end = select(0u, params.len, number < params.end);

    var r: array<Key, 32>;
    fill_matrix(&r, matrix, t, base, keys_end);
    workgroupBarrier();

    for (var sweep = 0u; sweep <= 2u * LOG2_W; sweep++) {
        // One loop has both types of pass, so that the network is in the program once.
        let diagonal = sweep % 2u == 0u;
        let column = matrix + select(cell(0u, t), 0u, diagonal);
        let step = select(0u, W, diagonal);
        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(column + j * step + (t + j) % W);
        }
        sort_registers(&r);
        // Snake order: odd diagonals descend, in every diagonal pass but the last.
        let descending = diagonal && sweep < 2u * LOG2_W && t % 2u == 1u;
        for (var j = 0u; j < W / 2u; j++) {
            let low = r[j];
            let high = r[W - 1u - j];
            r[j] = select(low, high, descending);
            r[W - 1u - j] = select(high, low, descending);
        }
        for (var j = 0u; j < W; j++) {
            tile_store(column + j * step + (t + j) % W, r[j]);
        }
        workgroupBarrier();
    }

    for (var j = 0u; j < W; j++) {
        if base + cell(t, j) < keys_end {
            store_key(base + cell(t, j), tile_load(matrix + cell((t + j) % W, t)));
        }
    }
}
