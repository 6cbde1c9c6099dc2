// Uses base_case/matrix, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// SHEARSORT-LONG, transposing form (paper, section 3.1, "Bank-conflict free computation on
// non-square matrices" in the appendix, and Algorithms 3 to 5).
//
// Sorts each 1024 H consecutive keys: a bank matrix of 32 rows and 32 H columns, H warps per tile,
// TILES tiles per workgroup. A warp has a square matrix of 32 x 32. ShearSort alternates between
// sorting the long rows and the columns. A lane sorts a column. For the rows, each square matrix is
// first filled with 32 / H of them, as H lines of 32 keys each; Segmented ShearSort sorts them.
//
//   repeat log2(W) times:
//       change to row-major order; sort the rows (segmented), odd ones descending
//       change to column-major order; sort the columns
//   change to row-major order; sort the rows
//
//   segmented: repeat log2(H) times: sort the lines, odd ones descending; sort across the lines
//              sort the lines
//
// Row-major: the key at position p of line l of a square matrix is in row p, column l; row number q
// of the warp's rows is lines qH to qH + H-1. Column-major: the part of row q in square matrix k is
// column q of that matrix. Both layouts are transposed before lanes sort their columns.
//
// Departures from Algorithms 3 to 5 and their text:
//  1. sorting H lines takes log2(H) rounds and a last sort of the lines. The text's log2(W/H) are
//     too few from H = 8 on;
//  2. the segments are groups of H lines, W/H of them; the text says groups of W/H;
//  3. a descending row is reversed at its next read, by address, not at the end of Segmented
//     ShearSort: reversing overwrites other lanes' keys, and the change to column-major order
//     already has a barrier between its loads and its stores;
//  4. two consecutive transpositions cancel and are left out: the one at the end of
//     CHANGE-TO-COLUMNMAJOR and the one after it; those before and in CHANGE-TO-ROWMAJOR;
//  5. barriers replace lock-step, which WGSL does not guarantee. Another one is between the loads
//     and the stores of a change of order, where warps exchange keys;
//  6. the transposition, and a lane's position in its warp, are those of the base case of 1024 keys
//     (the printed column pass uses the lane's number in the workgroup).
//
// No bank conflict: in a sort or a change of order a lane accesses only row t or row W-1-t; in a
// transposition the lanes of a warp are in different rows.
// Accesses of workgroup memory per lane, at most: 32 to fill, 6 changes to row-major order and 5 to
// column-major of 64 each, 6 (2 log2(H) + 1) + 5 sorts of 64, 6 (2 log2(H) + 2) transpositions of
// 64, 32 to read out: 2240 for H = 1, 6848 for H = 8.

// Part k of row q of this warp's rows, in column-major order: a column of the square matrix k.
fn part(q: u32, k: u32, warp: u32) -> u32 {
    return k * W + (warp % H) * (W / H) + q;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = lane % W;
    let warp = lane / W;
    let tile_start = (warp / H) * H * W * W;
    let square = warp * W * W;
    let number = params.first + workgroup_number(group, groups) * TILES + warp / H;
    let base = (number * H + warp % H) * W * W;
    let keys_end = select(0u, params.len, number < params.end);

    var r: array<Key, 32>;
    fill_matrix(&r, square, t, base, keys_end);
    workgroupBarrier();

    // One loop has all passes, so that each network is in the program once.
    const ROUND = 2u * LOG2_H + 2u;
    for (var sweep = 0u; sweep <= ROUND * LOG2_W + 2u * LOG2_H; sweep++) {
        let pass_number = sweep % ROUND;
        if pass_number == 0u {
            // CHANGE-TO-ROWMAJOR.
            for (var j = 0u; j < W; j++) {
                r[j] = tile_load(tile_start + cell(t, part(j / H, j % H, warp)));
            }
            workgroupBarrier();
            for (var j = 0u; j < W; j++) {
                tile_store(square + cell(t, j), r[j]);
            }
            workgroupBarrier();
        }
        transpose(square, t);
        workgroupBarrier();
        if pass_number == ROUND - 1u {
            // CHANGE-TO-COLUMNMAJOR. Odd rows of the long matrix are read backwards: their lines
            // from the last to the first, and each line from its end. 32 / H is even, so a row that
            // is odd in its warp is odd in the long matrix.
            for (var j = 0u; j < W; j++) {
                let backwards = (j / H) % 2u == 1u;
                let line = select(j, j - j % H + (H - 1u - j % H), backwards);
                let position = select(t, W - 1u - t, backwards);
                r[j] = tile_load(square + cell(position, line));
            }
            workgroupBarrier();
            for (var j = 0u; j < W; j++) {
                tile_store(tile_start + cell(t, part(j / H, j % H, warp)), r[j]);
            }
            workgroupBarrier();
        }

        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(square + cell(t, j));
        }
        // Sorts lines, columns of the long matrix, or across the lines: H keys of each row.
        let lines = pass_number % 2u == 0u;
        if lines || pass_number == ROUND - 1u {
            sort_registers(&r);
        } else {
            sort_segments(&r);
        }
        // Snake order: odd lines of a row descend, in every sort of lines except the row's last.
        let descending = lines && pass_number < 2u * LOG2_H && t % 2u == 1u;
        for (var j = 0u; j < W; j++) {
            tile_store(square + cell(t, select(j, W - 1u - j, descending)), r[j]);
        }
        workgroupBarrier();
    }

    transpose(square, t);
    workgroupBarrier();
    for (var j = 0u; j < W; j++) {
        if base + cell(t, j) < keys_end {
            store_key(base + cell(t, j), tile_load(square + cell(t, j)));
        }
    }
}
