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
