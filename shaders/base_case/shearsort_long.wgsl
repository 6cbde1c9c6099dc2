// SHEARSORT-LONG, transposing form (paper, section 3.1, "Bank-conflict free computation on
// non-square matrices" in the appendix, and Algorithms 3 to 5).
//
// Sorts each 1024 H consecutive keys: a bank matrix of 32 rows and 32 H columns, H warps a tile,
// TILES tiles a workgroup. A warp has a square matrix of 32 x 32. ShearSort sorts the long rows and
// the columns in turns. A column is sorted by a lane; the rows are packed first, 32 / H of them
// into each square matrix, where Segmented ShearSort sorts them: as H lines of 32 keys each.
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
// of the warp's rows is lines qH to qH + H-1. Column-major: the part of row q that is in the square
// matrix k is its column q. Each of both is transposed where a lane is to sort what is a column.
//
// Departures from Algorithms 3 to 5 and their text:
//  1. sorting H lines takes log2(H) rounds and a last sort of the lines. The text's log2(W/H) are
//     too few from H = 8 on;
//  2. the segments are groups of H lines, W/H of them; the text says groups of W/H;
//  3. a row that is to descend is turned round where it is next read, by its address, and not where
//     Segmented ShearSort ends: other lanes' keys are overwritten by that, and between the loads
//     and the stores of the change to column-major order there is a barrier already;
//  4. two transpositions in a row undo each other and are left out: those at the end of
//     CHANGE-TO-COLUMNMAJOR and behind it, and those before and in CHANGE-TO-ROWMAJOR;
//  5. a barrier stands wherever the paper relies on lock-step, which WGSL does not promise, and
//     between the loads and the stores of a change of order, where warps exchange keys;
//  6. the transposition is as in the base case of 1024 keys, and so is how a lane finds its
//     position in its warp (the printed column pass takes its number in the workgroup).
//
// No bank conflict: all that a lane touches in a sort or a change of order is in row t, or in row
// W-1-t; in a transposition the lanes of a warp are in different rows.
// Accesses of workgroup memory a lane, at most: 32 to fill, 6 changes to row-major order and 5 to
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

    // All passes in one loop, so that each network stands in the program once.
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
            // from the last to the first, and each line from its end. (32 / H is even, so a row is
            // odd that is so in its warp.)
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
        // Lines, columns, or what stands across the lines: H keys of each row.
        let lines = pass_number % 2u == 0u;
        if lines || pass_number == ROUND - 1u {
            sort_registers(&r);
        } else {
            sort_segments(&r);
        }
        // Snake order: odd lines of a row descend, in every sort of the lines but the row's last.
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
