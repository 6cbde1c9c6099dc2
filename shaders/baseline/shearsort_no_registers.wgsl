// Uses base_case/matrix, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// SHEARSORT with every comparator in workgroup memory: the paper's baseline "without register
// optimization" (appendix "Register optimization").
//
// Sorts each 1024 consecutive keys like base_case/shearsort_transpose.wgsl: one bank matrix of 32 x
// 32 and 32 lanes per matrix, TILES matrices per workgroup; rows are sorted, and the matrix is
// transposed between two passes. But rows stay in workgroup memory: each comparator of Batcher's
// odd-even mergesort loads two keys and stores two.
//
//   repeat log2(W) times: sort the rows, odd ones descending; transpose; sort the rows; transpose
//   sort the rows; transpose
//
// Departures from Algorithm 1 are those of the transposing base case, with one difference: an odd
// row is sorted in descending order by numbering the network's lines from the row's end. There are
// no registers to write back in reverse.
//
// No bank conflict: a lane stays in row t, its bank; in a transposition all lanes are in different
// rows. Accesses of workgroup memory per lane, at most: 32 to fill, 11 passes of 191 comparators
// with 4 each, 11 transpositions of 64, 32 to read out: 9172. The form with registers has 1472.

// The cell of line `line` of the network, in row t.
fn position(t: u32, line: u32, descending: bool) -> u32 {
    return cell(t, select(line, W - 1u - line, descending));
}

// Batcher's odd-even mergesort of row t, as loops: the comparators that `src/shader/network.rs`
// unrolls.
fn sort_row(matrix: u32, t: u32, descending: bool) {
    for (var block = 1u; block < W; block *= 2u) {
        for (var distance = block; distance >= 1u; distance /= 2u) {
            let skipped = select(distance, 0u, distance == block);
            for (var start = 0u; start < W; start += 2u * block) {
                let end = start + 2u * block;
                for (var group = start + skipped; group + distance < end; group += 2u * distance) {
                    for (var i = group; i < group + distance; i++) {
                        let low = matrix + position(t, i, descending);
                        let high = matrix + position(t, i + distance, descending);
                        let ordered = compare_exchange(tile_load(low), tile_load(high));
                        tile_store(low, ordered.low);
                        tile_store(high, ordered.high);
                    }
                }
            }
        }
    }
}

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

    // Registers are used only to load keys into the matrix.
    var r: array<Key, 32>;
    fill_matrix(&r, matrix, t, base, keys_end);
    workgroupBarrier();

    for (var sweep = 0u; sweep <= 2u * LOG2_W; sweep++) {
        // Snake order: odd rows descend, in every row pass except the last.
        sort_row(matrix, t, sweep % 2u == 0u && sweep < 2u * LOG2_W && t % 2u == 1u);
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
