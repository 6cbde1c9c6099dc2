// What sort_tile.wgsl does, for records that are dear to compare: Batcher's bitonic sort with one comparator in the text,
// in loops over its stages, instead of some 600 in networks that are written out. Each compares by the caller's function,
// which compilers put in its place.
//
// A stage compares records that are a power of two apart, or, the first ones of a block, those at mirrored places. All
// comparators put the lesser record first. (Powers are given by their logarithms: a division by what a compiler does not know
// to be a power costs as much as all else.)
//
// What is compared is in cells_of_keys.wgsl, or in cells_of_rows.wgsl.
//
// No bank conflict: a line of 32 records takes 33 cells, as in sort_tile.wgsl. Records 32 apart or more are in lines of
// their own, and a warp compares two whole lines, one perhaps backwards. Where they are nearer, half a line's records are
// compared with the other half, and a warp compares two lines: those as far apart as the records, so that the first halves of
// both are in different banks, as the second halves are.

// Comparators of a lane that are loaded before any is stored: none waits for another.
const GROUP: u32 = 4;

// The first of the two records that comparator t of a stage compares, 2^log apart.
fn first_of(t: u32, log: u32) -> u32 {
    let rest = (1u << log) - 1u;
    if log >= 5u {
        return ((t >> log) << (log + 1u)) + (t & rest);
    }
    let warp = t / 32u;
    let line = ((warp >> log) << (log + 1u)) + (warp & rest) + ((t / 16u % 2u) << log);
    let half = t % 16u;
    return line * 32u + ((half >> log) << (log + 1u)) + (half & rest);
}

fn stage(lane: u32, log: u32, mirrored: bool) {
    let distance = 1u << log;
    for (var j = 0u; j < 16u; j += GROUP) {
        var low: array<u32, GROUP>;
        var high: array<u32, GROUP>;
        var pairs: array<Pair, GROUP>;
        var swaps: array<bool, GROUP>;
        for (var i = 0u; i < GROUP; i++) {
            let first = first_of((j + i) * LANES + lane, log);
            let second = select(first + distance, first ^ (2u * distance - 1u), mirrored);
            low[i] = first + first / 32u;
            high[i] = second + second / 32u;
        }
        for (var i = 0u; i < GROUP; i++) {
            pairs[i] = load_pair(low[i], high[i]);
        }
        for (var i = 0u; i < GROUP; i++) {
            swaps[i] = is_swapped(pairs[i]);
        }
        for (var i = 0u; i < GROUP; i++) {
            store_pair(low[i], high[i], pairs[i], swaps[i]);
        }
    }
    workgroupBarrier();
}

// Sorts the records that the lanes hold into workgroup memory, where `place_cell` finds them. Workgroup memory must not
// be in use any more.
fn sort_tile(r: ptr<function, array<Record, 32>>, lane: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        fill_cell(place_cell(lane, j), (*r)[j]);
    }
    workgroupBarrier();
    for (var block = 0u; (1u << block) < TILE; block++) {
        for (var log = block + 1u; log > 0u; log--) {
            stage(lane, log - 1u, log > block);
        }
    }
}
