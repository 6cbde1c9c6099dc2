// Uses lib/bank_matrix, lib/io, lib/key, lib/workgroup, merge/pairs.
//
// BINARY-MERGE: page-wise merge of pairs of sorted runs (paper, section 3.2 and Algorithm 5).
//
// One pair of runs A, B per workgroup of 32 lanes. Two pages of PAGE = 512 keys are held. Each step
// merges them by one round of ShearSort (SHEARSORT-MERGE), writes the lower page out, and loads
// the next page of the run whose loaded keys end first. A pair takes
// pages(A) + pages(B) - 1 merges.
//
//   hold A[0], B[0]
//   repeat: merge; write the lower page; load the next page of the run that was exhausted first
//   write the upper page
//
// merge/pairs.wgsl finds the runs and chooses the next page.
//
// The merge (corrected: with both pages ascending, one round does not merge): positions 0..511 hold
// one page ascending, 512..1023 the other descending. Lane t loads positions j*32+t, merges these
// 32 (a bitonic merger of 80 comparators), then loads and merges positions t*32+j: the bitonic
// merge of 1024 keys in two register passes, 5 comparators per key.
//
// Departures from Algorithm 5:
//  1. pages go from memory to registers in the layout of the first pass; workgroup memory is used
//     only to transpose the matrix twice, in the padded layout;
//  2. the next page is chosen, and its loads are issued, before the second pass;
//  3. a run need not start at a multiple of 32 keys, but its pages do: padding before the start
//     orders before every key, padding after the end orders after every key, and neither is written
//     out. So every load, and every store except at the ends, covers aligned groups of 32 keys;
//  4. if one run is empty the other is copied;
//  5. a long pair is cut: a dispatch does `steps` merges and leaves the upper page at its position
//     in the output, where the next dispatch continues.
//
// No bank conflict: every access is in bank (t + constant) % 32, or all lanes read the same word.

const HALF: u32 = W / 2u;
const PAGE: u32 = W * HALF;

// Reads page `number` of a run, for a lane in row `row`, so that page[j] belongs to position
// (W-1-j)*32 + row of the two pages held: descending.
fn load_page(page: ptr<function, array<Key, 16>>, run: Run, number: u32, row: u32) {
    let base = run.grid + number * PAGE + W - 1u - row;
    for (var j = 0u; j < HALF; j++) {
        (*page)[j] = load_padded(run, base + j * W);
    }
}

// Writes page `page` of the pair's output, held in r[0..16) with position j*32 + row in lane t. The
// row is rotated by the misalignment of B, so that lane t always writes indices that are t modulo
// 32. Lanes whose row wrapped are one group behind.
fn store_page(r: ptr<function, array<Key, 32>>, pair: Pair, page: u32, t: u32, wrapped: bool) {
    let base = pair.a.grid + page * PAGE + t;
    let start = pair.a.start;
    let end = pair.b.end;
    if wrapped && base - W >= start && base - W < end {
        store_key(base - W, (*r)[0]);
    }
    for (var j = 0u; j < HALF - 1u; j++) {
        let index = base + j * W;
        if index >= start && index < end {
            store_key(index, select((*r)[j], (*r)[j + 1u], wrapped));
        }
    }
    let index = base + (HALF - 1u) * W;
    if !wrapped && index >= start && index < end {
        store_key(index, (*r)[HALF - 1u]);
    }
}

// Reads the page that the previous dispatch held at its end, and stored as page `page`.
fn load_held(r: ptr<function, array<Key, 32>>, pair: Pair, page: u32, t: u32, wrapped: bool) {
    let base = pair.a.grid + page * PAGE + t;
    for (var j = 0u; j < HALF; j++) {
        (*r)[j] = LAST;
    }
    if wrapped && base - W < pair.b.end {
        (*r)[0] = destination[base - W];
    }
    for (var j = 0u; j < HALF - 1u; j++) {
        var key = LAST;
        if base + j * W < pair.b.end {
            key = destination[base + j * W];
        }
        (*r)[j] = select(key, (*r)[j], wrapped);
        (*r)[j + 1u] = select((*r)[j + 1u], key, wrapped);
    }
    if !wrapped && base + (HALF - 1u) * W < pair.b.end {
        (*r)[HALF - 1u] = destination[base + (HALF - 1u) * W];
    }
}

@compute @workgroup_size(32)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let pair = find_pair(number);
    if pair.a.pages == 0u || pair.b.pages == 0u {
        copy_run(pair, t);
        return;
    }
    let merges = pair.a.pages + pair.b.pages - 1u;
    if params.done >= merges {
        return;
    }
    let steps = min(params.steps, merges - params.done);

    // Lane t is in row (t + misalignment of B) of the first pass's layout.
    let shift = pair.b.start % W;
    let row = (t + shift) % W;
    let wrapped = t + shift >= W;

    // r[0..16): the page held, ascending. r[16..32): the page just loaded, descending.
    var r: array<Key, 32>;
    var next_page: array<Key, 16>;
    var at = resume(number);
    if params.done == 0u {
        for (var j = 0u; j < HALF; j++) {
            r[j] = load_padded(pair.a, pair.a.grid + j * W + row);
        }
    } else {
        // The page held is in the output, after the pages written; the newest page is read again.
        load_held(&r, pair, params.done, t, wrapped);
    }
    load_page(&next_page, run_of(pair, at.from_b), newest(at), row);
    for (var j = 0u; j < HALF; j++) {
        r[W - 1u - j] = next_page[j];
    }

    for (var step = 0u; step < steps; step++) {
        // The largest key of each page, for all lanes.
        if row == W - 1u {
            tile_store(LASTS, r[HALF - 1u]);
        }
        if row == 0u {
            tile_store(LASTS + 1u, r[HALF]);
        }
        merge_registers(&r);
        for (var j = 0u; j < W; j++) {
            tile_store(padded(j, row), r[j]);
        }
        workgroupBarrier();

        // In the very last step no page is left, and this loads padding only.
        at = advance(pair, at, precedes(tile_load(LASTS), tile_load(LASTS + 1u)));
        load_page(&next_page, run_of(pair, at.from_b), newest(at), row);

        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(padded(t, j));
        }
        merge_registers(&r);
        for (var j = 0u; j < W; j++) {
            tile_store(padded(t, j), r[j]);
        }
        workgroupBarrier();

        for (var j = 0u; j < W; j++) {
            r[j] = tile_load(padded(j, row));
        }
        store_page(&r, pair, params.done + step, t, wrapped);
        for (var j = 0u; j < HALF; j++) {
            r[j] = r[HALF + j];
        }
        for (var j = 0u; j < HALF; j++) {
            r[W - 1u - j] = next_page[j];
        }
    }
    // The last page of the pair, or the page held for the next dispatch.
    store_page(&r, pair, params.done + steps, t, wrapped);
    if t == 0u && params.done + steps < merges {
        suspend(number, at);
    }
}
