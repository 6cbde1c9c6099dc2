// bcfsort.merge.page_merge.1w

const W: u32 = 32u;
const TILE_CELLS: u32 = 1058u;
const LASTS: u32 = 1056u;

// Keys of one word. Their unsigned order is the order of the sort.

alias Key = u32;

// Padding before and after the keys of a page. A key may equal the padding: without values both are
// the same bits, so it does not matter which one is written.
const FIRST: Key = 0u;
const LAST: Key = 0xffffffffu;

struct Ordered {
    low: Key,
    high: Key,
}

fn precedes(a: Key, b: Key) -> bool {
    return a < b;
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    return Ordered(min(a, b), max(a, b));
}

// The bank matrix (paper, section 2.1): workgroup memory as W = 32 rows, one per bank, filled by
// columns. Lanes in different rows have no bank conflict.

// The cell in row `bank` and column `column`.
fn cell(bank: u32, column: u32) -> u32 {
    return column * W + bank;
}

// The cell of element `position` of line `line`, with one cell of padding per line. Lanes that each
// walk their own line (line = lane), and lanes that walk one line together (position = lane), are
// all in different banks. Both addresses are a base plus a constant.
fn padded(line: u32, position: u32) -> u32 {
    return line * (W + 1u) + position;
}

// The number of a workgroup.
//
// A dispatch of more than 65,535 workgroups is two-dimensional. A long sort is dispatched in parts:
// the first workgroup of a part is a parameter, `first`, which a kernel adds.

fn workgroup_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Workgroup memory for one-word keys: TILE_CELLS cells of a word. Cell i is in bank i % 32.

var<workgroup> tile: array<u32, TILE_CELLS>;

fn tile_load(cell: u32) -> Key {
    return tile[cell];
}

fn tile_store(cell: u32, key: Key) {
    tile[cell] = key;
}

// Keys are read from a buffer that is not written.

@group(0) @binding(1) var<storage, read> source: array<Key>;

fn load_key(index: u32) -> Key {
    return source[index];
}

// Keys are written to `destination`, not to the buffer that they are loaded from.

@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

fn store_key(index: u32, key: Key) {
    destination[index] = key;
}

// 80 comparators, written by src/shader/network.rs.
fn merge_registers(r: ptr<function, array<Key, 32>>) {
    var x: Ordered;
    x = compare_exchange((*r)[0], (*r)[16]); (*r)[0] = x.low; (*r)[16] = x.high;
    x = compare_exchange((*r)[1], (*r)[17]); (*r)[1] = x.low; (*r)[17] = x.high;
    x = compare_exchange((*r)[2], (*r)[18]); (*r)[2] = x.low; (*r)[18] = x.high;
    x = compare_exchange((*r)[3], (*r)[19]); (*r)[3] = x.low; (*r)[19] = x.high;
    x = compare_exchange((*r)[4], (*r)[20]); (*r)[4] = x.low; (*r)[20] = x.high;
    x = compare_exchange((*r)[5], (*r)[21]); (*r)[5] = x.low; (*r)[21] = x.high;
    x = compare_exchange((*r)[6], (*r)[22]); (*r)[6] = x.low; (*r)[22] = x.high;
    x = compare_exchange((*r)[7], (*r)[23]); (*r)[7] = x.low; (*r)[23] = x.high;
    x = compare_exchange((*r)[8], (*r)[24]); (*r)[8] = x.low; (*r)[24] = x.high;
    x = compare_exchange((*r)[9], (*r)[25]); (*r)[9] = x.low; (*r)[25] = x.high;
    x = compare_exchange((*r)[10], (*r)[26]); (*r)[10] = x.low; (*r)[26] = x.high;
    x = compare_exchange((*r)[11], (*r)[27]); (*r)[11] = x.low; (*r)[27] = x.high;
    x = compare_exchange((*r)[12], (*r)[28]); (*r)[12] = x.low; (*r)[28] = x.high;
    x = compare_exchange((*r)[13], (*r)[29]); (*r)[13] = x.low; (*r)[29] = x.high;
    x = compare_exchange((*r)[14], (*r)[30]); (*r)[14] = x.low; (*r)[30] = x.high;
    x = compare_exchange((*r)[15], (*r)[31]); (*r)[15] = x.low; (*r)[31] = x.high;
    x = compare_exchange((*r)[0], (*r)[8]); (*r)[0] = x.low; (*r)[8] = x.high;
    x = compare_exchange((*r)[1], (*r)[9]); (*r)[1] = x.low; (*r)[9] = x.high;
    x = compare_exchange((*r)[2], (*r)[10]); (*r)[2] = x.low; (*r)[10] = x.high;
    x = compare_exchange((*r)[3], (*r)[11]); (*r)[3] = x.low; (*r)[11] = x.high;
    x = compare_exchange((*r)[4], (*r)[12]); (*r)[4] = x.low; (*r)[12] = x.high;
    x = compare_exchange((*r)[5], (*r)[13]); (*r)[5] = x.low; (*r)[13] = x.high;
    x = compare_exchange((*r)[6], (*r)[14]); (*r)[6] = x.low; (*r)[14] = x.high;
    x = compare_exchange((*r)[7], (*r)[15]); (*r)[7] = x.low; (*r)[15] = x.high;
    x = compare_exchange((*r)[16], (*r)[24]); (*r)[16] = x.low; (*r)[24] = x.high;
    x = compare_exchange((*r)[17], (*r)[25]); (*r)[17] = x.low; (*r)[25] = x.high;
    x = compare_exchange((*r)[18], (*r)[26]); (*r)[18] = x.low; (*r)[26] = x.high;
    x = compare_exchange((*r)[19], (*r)[27]); (*r)[19] = x.low; (*r)[27] = x.high;
    x = compare_exchange((*r)[20], (*r)[28]); (*r)[20] = x.low; (*r)[28] = x.high;
    x = compare_exchange((*r)[21], (*r)[29]); (*r)[21] = x.low; (*r)[29] = x.high;
    x = compare_exchange((*r)[22], (*r)[30]); (*r)[22] = x.low; (*r)[30] = x.high;
    x = compare_exchange((*r)[23], (*r)[31]); (*r)[23] = x.low; (*r)[31] = x.high;
    x = compare_exchange((*r)[0], (*r)[4]); (*r)[0] = x.low; (*r)[4] = x.high;
    x = compare_exchange((*r)[1], (*r)[5]); (*r)[1] = x.low; (*r)[5] = x.high;
    x = compare_exchange((*r)[2], (*r)[6]); (*r)[2] = x.low; (*r)[6] = x.high;
    x = compare_exchange((*r)[3], (*r)[7]); (*r)[3] = x.low; (*r)[7] = x.high;
    x = compare_exchange((*r)[8], (*r)[12]); (*r)[8] = x.low; (*r)[12] = x.high;
    x = compare_exchange((*r)[9], (*r)[13]); (*r)[9] = x.low; (*r)[13] = x.high;
    x = compare_exchange((*r)[10], (*r)[14]); (*r)[10] = x.low; (*r)[14] = x.high;
    x = compare_exchange((*r)[11], (*r)[15]); (*r)[11] = x.low; (*r)[15] = x.high;
    x = compare_exchange((*r)[16], (*r)[20]); (*r)[16] = x.low; (*r)[20] = x.high;
    x = compare_exchange((*r)[17], (*r)[21]); (*r)[17] = x.low; (*r)[21] = x.high;
    x = compare_exchange((*r)[18], (*r)[22]); (*r)[18] = x.low; (*r)[22] = x.high;
    x = compare_exchange((*r)[19], (*r)[23]); (*r)[19] = x.low; (*r)[23] = x.high;
    x = compare_exchange((*r)[24], (*r)[28]); (*r)[24] = x.low; (*r)[28] = x.high;
    x = compare_exchange((*r)[25], (*r)[29]); (*r)[25] = x.low; (*r)[29] = x.high;
    x = compare_exchange((*r)[26], (*r)[30]); (*r)[26] = x.low; (*r)[30] = x.high;
    x = compare_exchange((*r)[27], (*r)[31]); (*r)[27] = x.low; (*r)[31] = x.high;
    x = compare_exchange((*r)[0], (*r)[2]); (*r)[0] = x.low; (*r)[2] = x.high;
    x = compare_exchange((*r)[1], (*r)[3]); (*r)[1] = x.low; (*r)[3] = x.high;
    x = compare_exchange((*r)[4], (*r)[6]); (*r)[4] = x.low; (*r)[6] = x.high;
    x = compare_exchange((*r)[5], (*r)[7]); (*r)[5] = x.low; (*r)[7] = x.high;
    x = compare_exchange((*r)[8], (*r)[10]); (*r)[8] = x.low; (*r)[10] = x.high;
    x = compare_exchange((*r)[9], (*r)[11]); (*r)[9] = x.low; (*r)[11] = x.high;
    x = compare_exchange((*r)[12], (*r)[14]); (*r)[12] = x.low; (*r)[14] = x.high;
    x = compare_exchange((*r)[13], (*r)[15]); (*r)[13] = x.low; (*r)[15] = x.high;
    x = compare_exchange((*r)[16], (*r)[18]); (*r)[16] = x.low; (*r)[18] = x.high;
    x = compare_exchange((*r)[17], (*r)[19]); (*r)[17] = x.low; (*r)[19] = x.high;
    x = compare_exchange((*r)[20], (*r)[22]); (*r)[20] = x.low; (*r)[22] = x.high;
    x = compare_exchange((*r)[21], (*r)[23]); (*r)[21] = x.low; (*r)[23] = x.high;
    x = compare_exchange((*r)[24], (*r)[26]); (*r)[24] = x.low; (*r)[26] = x.high;
    x = compare_exchange((*r)[25], (*r)[27]); (*r)[25] = x.low; (*r)[27] = x.high;
    x = compare_exchange((*r)[28], (*r)[30]); (*r)[28] = x.low; (*r)[30] = x.high;
    x = compare_exchange((*r)[29], (*r)[31]); (*r)[29] = x.low; (*r)[31] = x.high;
    x = compare_exchange((*r)[0], (*r)[1]); (*r)[0] = x.low; (*r)[1] = x.high;
    x = compare_exchange((*r)[2], (*r)[3]); (*r)[2] = x.low; (*r)[3] = x.high;
    x = compare_exchange((*r)[4], (*r)[5]); (*r)[4] = x.low; (*r)[5] = x.high;
    x = compare_exchange((*r)[6], (*r)[7]); (*r)[6] = x.low; (*r)[7] = x.high;
    x = compare_exchange((*r)[8], (*r)[9]); (*r)[8] = x.low; (*r)[9] = x.high;
    x = compare_exchange((*r)[10], (*r)[11]); (*r)[10] = x.low; (*r)[11] = x.high;
    x = compare_exchange((*r)[12], (*r)[13]); (*r)[12] = x.low; (*r)[13] = x.high;
    x = compare_exchange((*r)[14], (*r)[15]); (*r)[14] = x.low; (*r)[15] = x.high;
    x = compare_exchange((*r)[16], (*r)[17]); (*r)[16] = x.low; (*r)[17] = x.high;
    x = compare_exchange((*r)[18], (*r)[19]); (*r)[18] = x.low; (*r)[19] = x.high;
    x = compare_exchange((*r)[20], (*r)[21]); (*r)[20] = x.low; (*r)[21] = x.high;
    x = compare_exchange((*r)[22], (*r)[23]); (*r)[22] = x.low; (*r)[23] = x.high;
    x = compare_exchange((*r)[24], (*r)[25]); (*r)[24] = x.low; (*r)[25] = x.high;
    x = compare_exchange((*r)[26], (*r)[27]); (*r)[26] = x.low; (*r)[27] = x.high;
    x = compare_exchange((*r)[28], (*r)[29]); (*r)[28] = x.low; (*r)[29] = x.high;
    x = compare_exchange((*r)[30], (*r)[31]); (*r)[30] = x.low; (*r)[31] = x.high;
}

// Shared by both page-wise merges: the pairs of runs, their pages on a grid of 32 keys, and the
// choice of the next page. The kernel defines PAGE, the keys of a page.

struct Params {
    // Pairs of this dispatch: from `first` up to `end`.
    first: u32,
    end: u32,
    // For each pair: merges done by earlier dispatches, and merges to do in this one.
    done: u32,
    steps: u32,
    // Equal runs of `run` keys in `len` keys (the first merge phase) ...
    len: u32,
    run: u32,
    // ... or, if `substreams` is not 0, `pairs` pairs per bucket, each of two runs of `span`
    // substreams, between separators[bucket * bucket_step][0 ..= substreams] (the final merge
    // phase).
    substreams: u32,
    span: u32,
    pairs: u32,
    bucket_step: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<storage, read> separators: array<u32>;
// For each pair, between two dispatches: pages loaded of A and of B.
@group(0) @binding(4) var<storage, read_write> progress: array<vec2<u32>>;

// A sorted run, as pages on a grid of 32 keys.
struct Run {
    start: u32,
    end: u32,
    grid: u32,
    pages: u32,
}

fn make_run(start: u32, end: u32) -> Run {
    let grid = start - start % W;
    let pages = select(0u, (end - grid + PAGE - 1u) / PAGE, start < end);
    return Run(start, end, grid, pages);
}

struct Pair {
    a: Run,
    b: Run,
}

fn find_pair(number: u32) -> Pair {
    var start: u32;
    var middle: u32;
    var end: u32;
    if params.substreams == 0u {
        start = 2u * number * params.run;
        middle = start + min(params.run, params.len - start);
        end = middle + min(params.run, params.len - middle);
    } else {
        let row = (number / params.pairs) * params.bucket_step * (params.substreams + 1u);
        let first = 2u * (number % params.pairs) * params.span;
        // Clamped: the table may hold anything, if other work that shares the memory ran meanwhile.
        end = min(separators[row + min(first + 2u * params.span, params.substreams)], params.len);
        middle = min(separators[row + min(first + params.span, params.substreams)], end);
        start = min(separators[row + first], middle);
    }
    return Pair(make_run(start, middle), make_run(middle, end));
}

fn run_of(pair: Pair, from_b: bool) -> Run {
    var run = pair.a;
    if from_b {
        run = pair.b;
    }
    return run;
}

// The key at an index of a run, or padding outside of it.
fn load_padded(run: Run, index: u32) -> Key {
    var key = select(LAST, FIRST, index < run.start);
    if index >= run.start && index < run.end {
        key = load_key(index);
    }
    return key;
}

// The progress of a pair: the pages loaded of A and of B, and true if the newest page is from B.
struct Position {
    loaded: vec2<u32>,
    from_b: bool,
}

// The pair's progress after the previous dispatch. At first, a page of A and then one of B is
// loaded.
fn resume(number: u32) -> Position {
    var at = Position(vec2<u32>(1u, 1u), true);
    if params.done > 0u {
        at.loaded = progress[number];
        // All lanes read it before one of them writes it; workgroupBarrier() orders workgroup
        // memory only.
        storageBarrier();
        at.from_b = (at.loaded.y >> 31u) == 1u;
        at.loaded.y &= 0x7fffffffu;
    }
    return at;
}

fn suspend(number: u32, at: Position) {
    progress[number] = vec2<u32>(at.loaded.x, at.loaded.y | select(0u, 0x80000000u, at.from_b));
}

// The number of the newest page in its run.
fn newest(at: Position) -> u32 {
    return select(at.loaded.x, at.loaded.y, at.from_b) - 1u;
}

// Chooses the next page to load: from the run whose loaded keys end first, unless it has no page
// left. The page held ends with the last loaded key of one run, the newest page with that of the
// other run. `held_ends_first` is true if the former key precedes the latter.
fn advance(pair: Pair, at: Position, held_ends_first: bool) -> Position {
    var from_b = at.from_b != held_ends_first;
    if from_b && at.loaded.y == pair.b.pages {
        from_b = false;
    } else if !from_b && at.loaded.x == pair.a.pages {
        from_b = true;
    }
    return Position(at.loaded + select(vec2<u32>(1u, 0u), vec2<u32>(0u, 1u), from_b), from_b);
}

const KEYS_A_LANE: u32 = 2u * PAGE / W;

// Copies a pair with an empty run, `steps` pages per dispatch: two pages at a time, in whole groups
// of 32 keys. All loads of two pages come before any store, so that they overlap.
fn copy_run(pair: Pair, t: u32) {
    let grid = pair.a.grid;
    if params.done * PAGE >= pair.b.end - grid {
        return;
    }
    let end = grid + min(pair.b.end - grid, (params.done + params.steps) * PAGE);
    for (var base = grid + params.done * PAGE; base < end; base += 2u * PAGE) {
        var keys: array<Key, KEYS_A_LANE>;
        for (var j = 0u; j < KEYS_A_LANE; j++) {
            let index = base + j * W + t;
            if index >= pair.a.start && index < end {
                keys[j] = source[index];
            }
        }
        for (var j = 0u; j < KEYS_A_LANE; j++) {
            let index = base + j * W + t;
            if index >= pair.a.start && index < end {
                destination[index] = keys[j];
            }
        }
    }
}

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
