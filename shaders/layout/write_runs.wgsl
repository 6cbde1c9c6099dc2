// Uses layout/load, layout/params, layout/run_outputs, lib/key_map, lib/scan, lib/workgroup.
//
// RUNS, third phase: writes them.
//
// `tiles`: as SCAN_RUNS leaves them. `heads`: see count_runs.wgsl.
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
