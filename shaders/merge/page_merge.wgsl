// BINARY-MERGE: page-wise merge of pairs of sorted runs (paper, section 3.2 and Algorithm 5).
//
// One pair of runs A, B a workgroup of 32 lanes. Two pages of PAGE = 512 keys are held; each step
// merges them by one round of ShearSort (SHEARSORT-MERGE), writes the lower page out, and loads
// the next page of the run whose loaded keys end first. A pair takes
// pages(A) + pages(B) - 1 merges.
//
//   hold A[0], B[0]
//   repeat: merge; write the lower page; load the next page of the run that was exhausted first
//   write the upper page
//
// The merge (corrected: with both pages ascending, one round does not merge): positions 0..511 hold
// one page ascending, 512..1023 the other descending. Lane t takes positions j*32+t, merges these 32
// (a bitonic merger of 80 comparators), then positions t*32+j, and merges those: the bitonic merge
// of 1024 keys in two register passes, 5 comparators a key.
//
// Departures from Algorithm 5:
//  1. pages go from memory to registers in the layout of the first pass; workgroup memory is used
//     for the two turns of the matrix only, in the padded layout;
//  2. the next page is chosen, and its loads are issued, before the second pass;
//  3. a run need not start at a multiple of 32 keys. Its pages do: the keys before the start are
//     padding that comes before every key, as those after the end come after every key. Neither is
//     written out. So every load and all stores but the ends' cover aligned groups of 32 keys;
//  4. when one run is empty the other is copied;
//  5. a long pair is cut: a dispatch does `steps` merges, leaves the upper page at its place
//     in the output, and the next dispatch goes on from there.
//
// No bank conflict: a store or load has its bank at (t + constant) % 32 in every access, or all
// lanes read the same word.

struct Params {
    // Pairs of this dispatch: from `first` up to `end`.
    first: u32,
    end: u32,
    // Merges done for each pair by earlier dispatches, and merges to do in this one.
    done: u32,
    steps: u32,
    // Equal runs of `run` keys in `len` keys (the first merge phase) ...
    len: u32,
    run: u32,
    // ... or, where `substreams` is not 0, `pairs` pairs a bucket of `span` substreams each, between
    // separators[bucket * bucket_step][0 ..= substreams] (the final merge phase).
    substreams: u32,
    span: u32,
    pairs: u32,
    bucket_step: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<storage, read> separators: array<u32>;
// Per pair, between two dispatches: pages loaded of A, pages loaded of B.
@group(0) @binding(4) var<storage, read_write> progress: array<vec2<u32>>;

const HALF: u32 = W / 2u;
const PAGE: u32 = W * HALF;

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
        start = separators[row + first];
        middle = separators[row + min(first + params.span, params.substreams)];
        end = separators[row + min(first + 2u * params.span, params.substreams)];
    }
    return Pair(make_run(start, middle), make_run(middle, end));
}

// The bits of a run's key, or of padding.
fn load_padded(run: Run, index: u32) -> Key {
    var bits = select(decode(LAST), decode(FIRST), index < run.start);
    if index >= run.start && index < run.end {
        bits = load_bits(index);
    }
    return bits;
}

// Reads page `number` of a run, for a lane in row `row`, so that page[j] belongs to position
// (W-1-j)*32 + row of the two pages held: descending.
fn load_page(page: ptr<function, array<Key, 16>>, run: Run, number: u32, row: u32) {
    let base = run.grid + number * PAGE + W - 1u - row;
    for (var j = 0u; j < HALF; j++) {
        (*page)[j] = load_padded(run, base + j * W);
    }
}

fn run_of(pair: Pair, from_b: bool) -> Run {
    var run = pair.a;
    if from_b {
        run = pair.b;
    }
    return run;
}

// Writes page `page` of the pair's output, held in r[0..16) with position j*32 + row in lane t. The
// row is rotated by the misalignment of B, so that lane t always writes an index of its own residue
// modulo 32: lanes whose row wrapped round are one group behind.
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

// Reads the page that a dispatch before this one held when it ended, and stored as page `page`.
fn load_held(r: ptr<function, array<Key, 32>>, pair: Pair, page: u32, t: u32, wrapped: bool) {
    let base = pair.a.grid + page * PAGE + t;
    for (var j = 0u; j < HALF; j++) {
        (*r)[j] = decode(LAST);
    }
    if wrapped && base - W < pair.b.end {
        (*r)[0] = destination[base - W];
    }
    for (var j = 0u; j < HALF - 1u; j++) {
        var bits = decode(LAST);
        if base + j * W < pair.b.end {
            bits = destination[base + j * W];
        }
        (*r)[j] = select(bits, (*r)[j], wrapped);
        (*r)[j + 1u] = select((*r)[j + 1u], bits, wrapped);
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
        // Two pages at a time, whole groups of 32 keys. All of them are read before any is written:
        // one key after the other would wait for memory each time.
        let grid = pair.a.grid;
        if params.done * PAGE >= pair.b.end - grid {
            return;
        }
        let end = grid + min(pair.b.end - grid, (params.done + params.steps) * PAGE);
        for (var base = grid + params.done * PAGE; base < end; base += 2u * PAGE) {
            var keys: array<Key, 32>;
            for (var j = 0u; j < W; j++) {
                let index = base + j * W + t;
                if index >= pair.a.start && index < end {
                    keys[j] = source[index];
                }
            }
            for (var j = 0u; j < W; j++) {
                let index = base + j * W + t;
                if index >= pair.a.start && index < end {
                    destination[index] = keys[j];
                }
            }
        }
        return;
    }
    let merges = pair.a.pages + pair.b.pages - 1u;
    if params.done >= merges {
        return;
    }
    let steps = min(params.steps, merges - params.done);

    // Lane t stands in row (t + b's misalignment) of the first pass's layout.
    let shift = pair.b.start % W;
    let row = (t + shift) % W;
    let wrapped = t + shift >= W;

    // r[0..16): the page held, ascending. r[16..32): the page just loaded, descending.
    var r: array<Key, 32>;
    var next_page: array<Key, 16>;
    var loaded = vec2<u32>(1u, 1u);
    // Which run the newest page came from: B is the second of the first two.
    var from_b = true;
    if params.done == 0u {
        for (var j = 0u; j < HALF; j++) {
            r[j] = load_padded(pair.a, pair.a.grid + j * W + row);
        }
    } else {
        // The page held lies in the output, past the pages written; the newest page is read again.
        loaded = progress[number];
        // All lanes read it before one of them writes it: a workgroup's barrier orders workgroup
        // memory only.
        storageBarrier();
        from_b = (loaded.y >> 31u) == 1u;
        loaded.y &= 0x7fffffffu;
        load_held(&r, pair, params.done, t, wrapped);
    }
    load_page(&next_page, run_of(pair, from_b), select(loaded.x, loaded.y, from_b) - 1u, row);
    for (var j = 0u; j < HALF; j++) {
        r[j] = encode(r[j]);
        r[W - 1u - j] = encode(next_page[j]);
    }

    for (var step = 0u; step < steps; step++) {
        // The greatest key of each page, for everyone.
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

        // The page held ends with the last key loaded of the run that is not `from_b`. The run
        // whose loaded keys end first is next, unless it has no page left.
        if precedes(tile_load(LASTS), tile_load(LASTS + 1u)) {
            from_b = !from_b;
        }
        if from_b && loaded.y == pair.b.pages {
            from_b = false;
        } else if !from_b && loaded.x == pair.a.pages {
            from_b = true;
        }
        // In the last step of all no page is left, and this reads none.
        load_page(&next_page, run_of(pair, from_b), select(loaded.x, loaded.y, from_b), row);
        loaded += select(vec2<u32>(1u, 0u), vec2<u32>(0u, 1u), from_b);

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
            r[W - 1u - j] = encode(next_page[j]);
        }
    }
    // The last page of the pair, or a page left for the next dispatch to take up.
    store_page(&r, pair, params.done + steps, t, wrapped);
    if t == 0u && params.done + steps < merges {
        progress[number] = vec2<u32>(loaded.x, loaded.y | select(0u, 0x80000000u, from_b));
    }
}
