// BITONIC SORT of a matrix in passes over registers: what the paper's model gives for less work.
//
// Sorts each 1024 consecutive keys: a matrix of 32 lines of 32 keys and 32 lanes a matrix, TILES
// matrices a workgroup. It is Batcher's bitonic sort, seen as the paper sees ShearSort (sections
// 2.1 and 3.1): a lane takes 32 keys into its registers, does all that can be done with these, and
// puts them back.
//
//   sort the lines
//   for k = 1 .. log2(W), with blocks of 2^k lines, each of two sorted halves:
//       cross pass: lane t merges what stands at position t of the lines of a block
//       line pass:  lane t merges line t
//
// A cross pass needs the second half of each block backwards: its lines from the last to the first,
// which the network sees to, and each line from its end. So the line pass before leaves those lines
// turned round, in registers. The line pass behind need not care: what it finds is bitonic in
// either direction. All comparators put the lesser key first, everywhere.
//
// The paper has no such base case: its own is ShearSort, with 65.7 comparators a key. This one has
// 26.0 (191 + 240 + 400 a lane), and is as oblivious of the keys.
//
// No bank conflict, in the padded layout: position p of line l is in bank (l + p) % 32. In a cross
// pass all lanes stand in one line, at different positions; in a line pass at one position, in
// different lines. (Lines turned round by their address would meet others: t + j and t + 31 - j.)
// 704 accesses of workgroup memory a lane: 32 to store the sorted lines, 64 in each of 10 passes,
// 32 to read out.

// Stores line t, turned round where it is in the second half of a block in cross pass k + 1.
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
    // In which order keys enter does not matter: these become line t.
    load_keys(&r, t, base, keys_end);
    sort_registers(&r);
    store_line(&r, matrix, t, 0u);
    workgroupBarrier();

    // A loop, so that the merger stands in the program once; k changes no address.
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
        // None is turned round by the last pass: no line's number has a bit log2(W).
        store_line(&r, matrix, t, k);
        workgroupBarrier();
    }

    for (var j = 0u; j < W; j++) {
        if base + cell(t, j) < keys_end {
            store_key(base + cell(t, j), tile_load(matrix + padded(j, t)));
        }
    }
}
