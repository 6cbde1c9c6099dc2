// Uses base_case/matrix, lib/bank_matrix, lib/io, lib/key, lib/workgroup.
//
// BITONIC SORT of a matrix in passes over registers: the paper's model with fewer comparators.
//
// Sorts each 1024 consecutive keys: a matrix of 32 lines of 32 keys, 32 lanes per matrix, TILES
// matrices per workgroup. This is Batcher's bitonic sort in the paper's model (sections 2.1 and
// 3.1): a lane loads 32 keys into registers, compares them there, and stores them.
//
//   sort the lines
//   for k = 1 .. log2(W), with blocks of 2^k lines, each of two sorted halves:
//       cross pass: lane t merges the keys at position t of the lines of each block
//       line pass:  lane t merges line t
//
// A cross pass needs the second half of each block reversed: the order of the lines, which the
// network reverses, and the order within each line. So the preceding line pass reverses those lines
// in registers. The line pass that follows works either way: its lines are bitonic in both
// directions. Every comparator puts the smaller key first.
//
// The paper has no such base case: its own is ShearSort, with 65.7 comparators per key. This one
// has 26.0 (191 + 240 + 400 per lane), and is oblivious, too.
//
// No bank conflict, in the padded layout: position p of line l is in bank (l + p) % 32. In a cross
// pass all lanes are in one line, at different positions; in a line pass, at one position of
// different lines. Lines reversed by address would conflict with others: t + j and t + 31 - j.
// 704 accesses of workgroup memory per lane: 32 to store the sorted lines, 64 in each of 10 passes,
// 32 to read out.

// Stores line t, reversed if it is in the second half of a block in cross pass k + 1.
fn store_line(r: ptr<function, array<Key, 32>>, matrix: u32, t: u32, k: u32) {
    let backwards = (t >> k) % 2u == 1u;
    for (var j = 0u; j < W / 2u; j++) {
        let front = (*r)[j];
        let back = (*r)[W - 1u - j];
        tile_store(matrix + padded(t, j), select(front, back, backwards));
        tile_store(matrix + padded(t, W - 1u - j), select(back, front, backwards));
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = lane % W;
    let matrix = (lane / W) * W * (W + 1u);
    let number = params.first + workgroup_number(group, groups) * TILES + lane / W;
    let base = number * W * W;
    let keys_end = select(0u, params.len, number < params.end);

    var r: array<Key, 32>;
    // The order of the input keys does not matter: these become line t.
    load_keys(&r, t, base, keys_end);
    sort_registers(&r);
    store_line(&r, matrix, t, 0u);
    workgroupBarrier();

    // A loop, so that the merger is in the program once; k changes no address.
    for (var k = 1u; k <= LOG2_W; k++) {
        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(matrix + padded(j, t));
        }
        switch k {
            case 1u: {
                cross_1(&r);
            }
            case 2u: {
                cross_2(&r);
            }
            case 3u: {
                cross_3(&r);
            }
            case 4u: {
                cross_4(&r);
            }
            default: {
                cross_5(&r);
            }
        }
        for (var j = 0u; j < W; j++) {
            tile_store(matrix + padded(j, t), r[j]);
        }
        workgroupBarrier();

        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(matrix + padded(t, j));
        }
        merge_registers(&r);
        // The last pass reverses no line: no line's number has a bit log2(W).
        store_line(&r, matrix, t, k);
        workgroupBarrier();
    }

    for (var j = 0u; j < W; j++) {
        if base + cell(t, j) < keys_end {
            store_key(base + cell(t, j), tile_load(matrix + padded(j, t)));
        }
    }
}
