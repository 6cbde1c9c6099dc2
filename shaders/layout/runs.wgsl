// Uses layout/heads, layout/load, layout/params, lib/key_map, lib/scan, lib/workgroup.
//
// RUNS: ranges of records, of which each begins at its head, see heads.wgsl. A kernel takes the
// section of its name; `write_runs` also takes one for what it writes of each run.

// ---- count_runs

// RUNS, first phase: the heads of each tile, and the last of them.
//
// `source`: see load.wgsl. `tiles`: two words for each tile of RUN_TILE records, its heads, and the
// position of the last one plus 1, or 0 if it has none. `heads`: a word for each lane of each tile,
// with a bit for each of the lane's records.
//
// A lane reads every LANES-th record of a tile.
//
// No bank conflict: consecutive lanes access consecutive cells.

@group(0) @binding(2) var<storage, read_write> tiles: array<u32>;
@group(0) @binding(3) var<storage, read_write> heads: array<u32>;

// The heads among every LANES-th record of a tile, from number `lane` on: a bit for each.
fn heads_of_lane(tile: u32, lane: u32) -> u32 {
    var found = 0u;
    for (var j = 0u; j < RUN_TILE / LANES; j += 8u) {
        found |= heads_from(tile * RUN_TILE + j * LANES + lane) << j;
    }
    return found;
}

// The sum of all lanes' `heads`, and the maximum of their `latest`. All lanes must call it, and the
// first one gets the result.

var<workgroup> sums: array<u32, LANES>;
var<workgroup> maxima: array<u32, LANES>;

fn sum_of_lanes(lane: u32, heads: u32, latest: u32) -> vec2<u32> {
    sums[lane] = heads;
    maxima[lane] = latest;
    workgroupBarrier();
    var all = vec2<u32>();
    if lane < 32u {
        for (var i = lane; i < LANES; i += 32u) {
            all = vec2<u32>(all.x + sums[i], max(all.y, maxima[i]));
        }
        sums[lane] = all.x;
        maxima[lane] = all.y;
    }
    workgroupBarrier();
    if lane == 0u {
        for (var i = 1u; i < 32u; i++) {
            all = vec2<u32>(all.x + sums[i], max(all.y, maxima[i]));
        }
    }
    return all;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    if tile >= params.end {
        return;
    }
    let own = heads_of_lane(tile, lane);
    heads[tile * LANES + lane] = own;
    let last = tile * RUN_TILE + firstLeadingBit(max(own, 1u)) * LANES + lane;
    let all = sum_of_lanes(lane, countOneBits(own), select(0u, last + 1u, own > 0u));
    if lane == 0u {
        tiles[2u * tile] = all.x;
        tiles[2u * tile + 1u] = all.y;
    }
}

// ---- scan_runs

// RUNS, second phase: the heads before each tile, the last of them, and the number of all runs.
//
// `tiles`: see `count_runs`. There are params.tiles, and each gets the same of all tiles before
// it. `count`: its word destination_first becomes the number of runs.
//
// One workgroup, which goes through the tiles 8 LANES at a time, 8 consecutive ones per lane.
//
// No bank conflict: see scan.wgsl; and consecutive lanes access consecutive cells.

@group(0) @binding(1) var<storage, read_write> tiles: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: array<u32>;

var<workgroup> heads_of_lanes: u32;

// The maximum of `latest` among the lanes before this one. All lanes must call it. Until the next
// call, the last of `latest_cells` is the maximum of all.

var<workgroup> latest_cells: array<u32, LANES>;

fn latest_before(lane: u32, latest: u32) -> u32 {
    workgroupBarrier();
    latest_cells[lane] = latest;
    workgroupBarrier();
    for (var step = 1u; step < LANES; step *= 2u) {
        // The first lanes have no other: they read their own.
        let both = max(latest_cells[lane], latest_cells[select(lane, lane - step, lane >= step)]);
        workgroupBarrier();
        latest_cells[lane] = both;
        workgroupBarrier();
    }
    return select(0u, latest_cells[max(lane, 1u) - 1u], lane > 0u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var heads_so_far = 0u;
    var latest_so_far = 0u;
    for (var first = 0u; first < params.tiles; first += 8u * LANES) {
        let own = first + 8u * lane;
        var found: array<vec2<u32>, 8>;
        var all = vec2<u32>();
        for (var j = 0u; j < 8u; j++) {
            found[j] = vec2<u32>();
            if own + j < params.tiles {
                found[j] = vec2<u32>(tiles[2u * (own + j)], tiles[2u * (own + j) + 1u]);
            }
            all = vec2<u32>(all.x + found[j].x, max(all.y, found[j].y));
        }
        let heads_before = exclusive_sum(lane, all.x);
        if lane == LANES - 1u {
            heads_of_lanes = heads_before + all.x;
        }
        let latest = latest_before(lane, all.y);
        var before = vec2<u32>(heads_so_far + heads_before, max(latest_so_far, latest));
        for (var j = 0u; j < 8u; j++) {
            if own + j < params.tiles {
                tiles[2u * (own + j)] = before.x;
                tiles[2u * (own + j) + 1u] = before.y;
            }
            before = vec2<u32>(before.x + found[j].x, max(before.y, found[j].y));
        }
        heads_so_far += heads_of_lanes;
        latest_so_far = max(latest_so_far, latest_cells[LANES - 1u]);
    }
    if lane == 0u {
        count[params.destination_first] = heads_so_far;
    }
}

// ---- starts

// `starts`: from word destination_first on, the first record of each run.

@group(0) @binding(4) var<storage, read_write> starts: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return vec2<u32>();
}

fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    starts[params.destination_first + rank] = start;
}

fn store_last(runs: u32, before: u32) {}

// ---- starts_and_lengths

// `starts`: from word destination_first on, the first record of each run. `lengths`: from word
// source_first on, its records.

@group(0) @binding(4) var<storage, read_write> starts: array<u32>;
@group(0) @binding(5) var<storage, read_write> lengths: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return vec2<u32>();
}

// The run before ends where this one starts.
fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    starts[params.destination_first + rank] = start;
    if rank > 0u {
        lengths[params.source_first + rank - 1u] = start - before;
    }
}

// The last run ends with the last record.
fn store_last(runs: u32, before: u32) {
    lengths[params.source_first + runs - 1u] = params.len - before;
}

// ---- keys

// `source`: see load.wgsl. `unique`: from key number destination_first on, the key of each run.

@group(0) @binding(4) var<storage, read_write> unique: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return vec2<u32>(decode_key(load_key(start).x, user_sign(), user_flip()), 0u);
}

fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    unique[params.destination_first + rank] = key.x;
}

fn store_last(runs: u32, before: u32) {}

// ---- wide_keys

// `source`: see load.wgsl. `unique`: from key number destination_first on, the key of each run.

@group(0) @binding(4) var<storage, read_write> unique: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return decode_key(load_key(start), user_sign(), user_flip());
}

fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    unique[2u * (params.destination_first + rank)] = key.x;
    unique[2u * (params.destination_first + rank) + 1u] = key.y;
}

fn store_last(runs: u32, before: u32) {}

// ---- write_runs

// RUNS, third phase: writes them.
//
// `tiles`: as SCAN_RUNS leaves them. `heads`: see `count_runs`.
//
// A tile is four parts of 8 LANES records. Of each part a lane numbers the heads among 8
// consecutive records. Their places are then in workgroup memory, in order, and a lane writes every
// LANES-th.
//
// Bank conflicts where places are stored, unless all records are heads: the keys determine it. All
// other accesses have none: one unused word follows every 32 cells.

@group(0) @binding(2) var<storage, read> tiles: array<u32>;
@group(0) @binding(3) var<storage, read> heads: array<u32>;

const PART: u32 = 8u * LANES;

var<workgroup> words: array<u32, LANES + LANES / 32u>;
// A scan of the numbers of heads, and then the places of a part's heads.
var<workgroup> cells: array<u32, PART + PART / 32u>;
var<workgroup> totals: array<u32, 2>;

fn scan_load(i: u32) -> u32 {
    return cells[i];
}

fn scan_store(i: u32, value: u32) {
    cells[i] = value;
}

fn cell(i: u32) -> u32 {
    return i + i / 32u;
}

// The heads among the lane's records: 8 bits for each part. All lanes must call it.
fn own_heads(tile: u32, lane: u32) -> u32 {
    words[cell(lane)] = heads[tile * LANES + lane];
    workgroupBarrier();
    // Record i of a tile has bit i / LANES of word i % LANES.
    var own = 0u;
    for (var j = 0u; j < 8u; j++) {
        let bits = words[cell((lane * 8u + j) % LANES)] >> (lane / 32u);
        for (var part = 0u; part < 4u; part++) {
            own |= ((bits >> (8u * part)) & 1u) << (8u * part + j);
        }
    }
    return own;
}

fn count_of(own: u32, part: u32) -> u32 {
    return countOneBits((own >> (8u * part)) & 0xffu);
}

// The half of a pair that belongs to a part.
fn half_of(pair: u32, part: u32) -> u32 {
    return (pair >> (16u * (part % 2u))) & 0xffffu;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    if tile >= params.end {
        return;
    }
    let own = own_heads(tile, lane);
    // The lane's first head in each part: of two parts in one scan.
    var slots: array<u32, 2>;
    for (var pair = 0u; pair < 2u; pair++) {
        let counts = count_of(own, 2u * pair) | (count_of(own, 2u * pair + 1u) << 16u);
        slots[pair] = exclusive_sum(lane, counts);
        if lane == LANES - 1u {
            totals[pair] = slots[pair] + counts;
        }
    }
    var runs = tiles[2u * tile];
    // The head of the last run before a part. The first part of all has none, and does not use it.
    var last = tiles[2u * tile + 1u] - 1u;
    for (var part = 0u; part < 4u; part++) {
        workgroupBarrier();
        var slot = half_of(slots[part / 2u], part);
        for (var j = 0u; j < 8u; j++) {
            if ((own >> (8u * part + j)) & 1u) != 0u {
                cells[cell(slot)] = lane * 8u + j;
                slot++;
            }
        }
        workgroupBarrier();
        let count = half_of(totals[part / 2u], part);
        let first = tile * RUN_TILE + part * PART;
        if count > 0u {
            // All keys are read first, so that their loads are under way together.
            var keys: array<vec2<u32>, 8>;
            for (var j = 0u; j < 8u; j++) {
                let start = first + cells[cell(min(j * LANES + lane, count - 1u))];
                keys[j] = key_of_run(min(start, max(params.len, 1u) - 1u));
            }
            for (var j = 0u; j < 8u; j++) {
                let i = j * LANES + lane;
                // There is room for all, unless the keys are not in order or change between two
                // submissions.
                if i < count && runs + i < params.room {
                    let start = first + cells[cell(i)];
                    let before = first + cells[cell(max(i, 1u) - 1u)];
                    store_run(runs + i, start, select(last, before, i > 0u), keys[j]);
                }
            }
            last = first + cells[cell(count - 1u)];
            runs += count;
        }
    }
    // The tile of the last record.
    let is_last = params.len > tile * RUN_TILE && params.len - tile * RUN_TILE <= RUN_TILE;
    if lane == 0u && is_last && runs - 1u < params.room {
        store_last(runs, last);
    }
}
