// Uses base_case/matrix, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// SHEARSORT, transposing form (paper, section 3.1 and Algorithm 1).
//
// Sorts each 1024 consecutive keys: one bank matrix of 32 x 32 and 32 lanes per matrix, TILES
// matrices per workgroup. Rows are sorted in registers; between two passes the matrix is transposed
// in workgroup memory by exchanging cells.
//
//   repeat log2(W) times: sort the rows, odd ones descending; transpose; sort the rows; transpose
//   sort the rows; transpose
//
// Departures from Algorithm 1, which as printed does not sort:
//  1. odd rows are written to column W-1-j (W-j leaves the matrix);
//  2. the transposition takes W/2 rounds. In the last round only half of the lanes exchange cells,
//     since both lanes of a pair would exchange the same two cells;
//  3. barriers replace lock-step, which WGSL does not guarantee.
//
// No bank conflict: in a row pass lane t stays in row t, its bank. A transposition round accesses
// (t, t+i) and (t+i, t): all lanes are in different rows in both accesses.

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
        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(matrix + cell(t, j));
        }
        sort_registers(&r);
        // Snake order: odd rows descend, in every row pass except the last.
        let descending = sweep % 2u == 0u && sweep < 2u * LOG2_W && t % 2u == 1u;
        for (var j = 0u; j < W; j++) {
            tile_store(matrix + cell(t, select(j, W - 1u - j, descending)), r[j]);
        }
        workgroupBarrier();
        transpose(matrix, t);
        workgroupBarrier();
    }

    for (var j = 0u; j < W; j++) {
        if base + cell(t, j) < keys_end {
            store_key(base + cell(t, j), tile_load(matrix + cell(t, j)));
        }
    }
}
