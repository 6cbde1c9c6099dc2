// Uses baseline/bitonic_merge, lib/bank_matrix, lib/io, lib/key, lib/workgroup, merge/pairs.
//
// warpsort, steps 2 and 4: a warp merges a pair of sorted runs page by page (Ye, Fan, Lin, Yuan and
// Ienne, IPDPS 2010, section III and Algorithm 2).
//
// One pair of runs A, B per workgroup of 32 lanes. Two pages of PAGE = 64 keys are held, 4 keys per
// lane. Each step merges them by Batcher's bitonic network in workgroup memory, writes the lower
// page out, and loads the next page of the run whose loaded keys end first. A pair takes pages(A) +
// pages(B) - 1 merges, of 7 stages and 7 comparators for each key written.
//
//   cells 0..63: the page just loaded, descending; cells 64..127: the page held, ascending
//   repeat: merge; write cells 0..63; load the next page there
//   write cells 64..127
//
// Departures from Algorithm 2:
//  1. both keys of a comparator are stored whether or not they are exchanged, so that no access
//     depends on the keys;
//  2. a barrier after each stage replaces lock-step, which WGSL does not guarantee;
//  3. the next page is chosen, and its loads are issued, before the merge, so that they overlap.
//     The last keys of both pages suffice for the choice;
//  4. runs may have any start and any length, or be empty, and a long pair is cut into several
//     dispatches, as in merge/page_merge.wgsl. Pages are on a grid of 32 keys, with padding outside
//     of the run.
//
// Bank conflicts, kept on purpose: keys are in workgroup memory in their order. The lanes of a
// comparator at distance d access the cells with a 0 in the bit of d. Where that is one of the 5
// bits of a bank, in 5 of the 7 stages, two lanes are in each of half of the banks. Filling and
// reading out have no conflicts: consecutive lanes, consecutive cells.
// 60 accesses of workgroup memory per lane and merge: 2 to fill, 8 in each of 7 stages, 2 to read
// out; and a store by one lane and two loads by all for the last keys.

const PAGE: u32 = 2u * W;
const KEYS_A_PAGE: u32 = PAGE / W;

// Issues the loads of page `number` of a run.
fn load_page(page: ptr<function, array<Key, KEYS_A_PAGE>>, run: Run, number: u32, t: u32) {
    let base = run.grid + number * PAGE + t;
    for (var j = 0u; j < KEYS_A_PAGE; j++) {
        (*page)[j] = load_padded(run, base + j * W);
    }
}

// Stores the loaded page to the lower cells, descending, and its last key to LAST_KEY.
fn fill_lower(page: ptr<function, array<Key, KEYS_A_PAGE>>, t: u32) {
    for (var j = 0u; j < KEYS_A_PAGE; j++) {
        tile_store(PAGE - 1u - j * W - t, (*page)[j]);
    }
    if t == W - 1u {
        tile_store(LAST_KEY, (*page)[KEYS_A_PAGE - 1u]);
    }
}

// Writes the cells from `first` on as page `page` of the pair's output. The output is misaligned to
// the cells by the misalignment of B. Lane t writes the indices that are t modulo 32, so its cells
// are in up to three groups of 32.
fn store_page(first: u32, pair: Pair, page: u32, t: u32) {
    let base = pair.a.grid + page * PAGE + t;
    // The cell plus W.
    let cell = t + pair.b.start % W;
    for (var j = 0u; j <= KEYS_A_PAGE; j++) {
        if cell + j * W >= W && cell + j * W < W + PAGE {
            let key = tile_load(first + cell + j * W - W);
            let index = base + j * W - W;
            if index >= pair.a.start && index < pair.b.end {
                store_key(index, key);
            }
        }
    }
}

// Reads the page that the previous dispatch held at its end, and stored as page `page`.
fn fill_held(pair: Pair, page: u32, t: u32) {
    let base = pair.a.grid + page * PAGE + t;
    let cell = t + pair.b.start % W;
    for (var j = 0u; j <= KEYS_A_PAGE; j++) {
        if cell + j * W >= W && cell + j * W < W + PAGE {
            let index = base + j * W - W;
            var key = LAST;
            if index < pair.b.end {
                key = destination[index];
            }
            tile_store(PAGE + cell + j * W - W, key);
        }
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

    var page: array<Key, KEYS_A_PAGE>;
    var at = resume(number);
    if params.done == 0u {
        load_page(&page, pair.a, 0u, t);
        for (var j = 0u; j < KEYS_A_PAGE; j++) {
            tile_store(PAGE + j * W + t, page[j]);
        }
    } else {
        // The page held is in the output, after the pages written; the newest page is read again.
        fill_held(pair, params.done, t);
    }
    load_page(&page, run_of(pair, at.from_b), newest(at), t);
    fill_lower(&page, t);
    workgroupBarrier();
    // All lanes load the largest key of the page held.
    var held_last = tile_load(2u * PAGE - 1u);
    workgroupBarrier();

    for (var step = 0u; step < steps; step++) {
        // In the very last step no page is left, and this loads padding only.
        at = advance(pair, at, precedes(held_last, tile_load(LAST_KEY)));
        load_page(&page, run_of(pair, at.from_b), newest(at), t);

        merge_bitonic(0u, t);
        store_page(0u, pair, params.done + step, t);
        held_last = tile_load(2u * PAGE - 1u);
        workgroupBarrier();
        fill_lower(&page, t);
        workgroupBarrier();
    }
    // The last page of the pair, or the page held for the next dispatch.
    store_page(PAGE, pair, params.done + steps, t);
    if t == 0u && params.done + steps < merges {
        suspend(number, at);
    }
}
