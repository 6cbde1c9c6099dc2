// SHEARSORT-LONG over diagonals: no transposition (paper, section 3.1, "Bank-conflict free
// computation on non-square matrices" in the appendix, and Algorithms 2 to 5).
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
// What is a column in the transposing form is a diagonal here: position p of diagonal d of a square
// matrix is in row (d + p) % 32, column p. Row-major: line l of a square matrix is its diagonal l;
// row number q of the warp's rows is lines qH to qH + H-1. Column-major: the part of row q that is
// in the square matrix k is its diagonal q. What stands across all lines, or across all rows, is a
// column, shifted by its number.
//
// The paper says in one sentence that the changes of order are reduced to gathering and scattering
// the diagonals. This is how: lane t gathers position t of 32 parts of rows, which are diagonals of
// H square matrices, and has position t of the 32 lines of its own matrix in its registers then;
// these it scatters to its column. The way back is the reverse.
//
// Departures, beside those of the base case of 1024 keys over diagonals (an odd line is reversed in
// registers; the result is read column-wise):
//  1. sorting H lines takes log2(H) rounds and a last sort of the lines. The text's log2(W/H) are
//     too few from H = 8 on;
//  2. the segments are groups of H lines, W/H of them; the text says groups of W/H;
//  3. a row that is to descend is turned round where it is next read, by its address, and not where
//     Segmented ShearSort ends: other lanes' keys are overwritten by that, and between the loads
//     and the stores of the change to column-major order there is a barrier already;
//  4. a barrier stands wherever the paper relies on lock-step, which WGSL does not promise, and
//     between the loads and the stores of a change of order, where warps exchange keys.
//
// No bank conflict: every access has its bank at t + c, or at c - t, modulo 32, for a c that is the
// same for all lanes of the warp.
// Accesses of workgroup memory a lane: 32 to fill, 6 changes to row-major order and 5 to
// column-major of 64 each, 6 (2 log2(H) + 1) + 5 sorts of 64, 32 to read out: 1472 for H = 1, 3776
// for H = 8.

// The cell of position `position` of a diagonal of the square matrix at cell `square`.
fn on_diagonal(square: u32, diagonal: u32, position: u32) -> u32 {
    return square + cell((diagonal + position) % W, position);
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
    // This warp's first row, of its W / H.
    let row = (warp % H) * (W / H);

    var r: array<Key, 32>;
    fill_matrix(&r, square, t, base, keys_end);
    workgroupBarrier();

    // All passes in one loop, so that each network stands in the program once.
    const ROUND = 2u * LOG2_H + 2u;
    for (var sweep = 0u; sweep <= ROUND * LOG2_W + 2u * LOG2_H; sweep++) {
        let pass_number = sweep % ROUND;
        if pass_number == 0u {
            // CHANGE-TO-ROWMAJOR: part j % H of row j / H.
            for (var j = 0u; j < W; j++) {
                r[j] = tile_load(on_diagonal(tile_start + (j % H) * W * W, row + j / H, t));
            }
            workgroupBarrier();
            for (var j = 0u; j < W; j++) {
                tile_store(on_diagonal(square, j, t), r[j]);
            }
            workgroupBarrier();
        }
        if pass_number == ROUND - 1u {
            // CHANGE-TO-COLUMNMAJOR. Odd rows of the long matrix are read backwards: their lines
            // from the last to the first, and each line from its end. (32 / H is even, so a row is
            // odd that is so in its warp.)
            for (var j = 0u; j < W; j++) {
                let backwards = (j / H) % 2u == 1u;
                let line = select(j, j - j % H + (H - 1u - j % H), backwards);
                let position = select(t, W - 1u - t, backwards);
                r[j] = tile_load(on_diagonal(square, line, position));
            }
            workgroupBarrier();
            for (var j = 0u; j < W; j++) {
                tile_store(on_diagonal(tile_start + (j % H) * W * W, row + j / H, t), r[j]);
            }
            workgroupBarrier();
        }

        // Lines, columns of the long matrix, or what stands across the lines: H keys of each row.
        let lines = pass_number % 2u == 0u;
        let column = square + select(cell(0u, t), 0u, lines);
        let step = select(0u, W, lines);
        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(column + j * step + (t + j) % W);
        }
        if lines || pass_number == ROUND - 1u {
            sort_registers(&r);
        } else {
            sort_segments(&r);
        }
        // Snake order: odd lines of a row descend, in every sort of the lines but the row's last.
        let descending = lines && pass_number < 2u * LOG2_H && t % 2u == 1u;
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
            store_key(base + cell(t, j), tile_load(on_diagonal(square, j, t)));
        }
    }
}
