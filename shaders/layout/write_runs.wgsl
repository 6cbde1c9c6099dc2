// Uses layout/load, layout/params, layout/run_outputs, lib/key_map, lib/scan,
// lib/workgroup.
//
// RUNS, third phase: writes them.
//
// `tiles`: as SCAN_RUNS leaves them. `heads`: see count_runs.wgsl.
//
// A lane writes every LANES-th run of each part of a tile.

@group(0) @binding(2) var<storage, read> tiles: array<u32>;
@group(0) @binding(3) var<storage, read> heads: array<u32>;

// The heads among 8 LANES records in workgroup memory: their places among these, in order.
//
// Of each part a lane has read 8 records, LANES apart, and then has 8 consecutive ones. One unused
// word follows every 32 cells, so that lanes access 8 cells each without conflict. The places of
// heads are stored without conflict if all records are heads; if not, the keys determine it.

const PART: u32 = 8u * LANES;

var<workgroup> head_cells: array<u32, PART + PART / 32u>;
var<workgroup> heads_of_part: u32;

fn scan_load(i: u32) -> u32 {
    return head_cells[i];
}

fn scan_store(i: u32, value: u32) {
    head_cells[i] = value;
}

fn head_cell(i: u32) -> u32 {
    return i + i / 32u;
}

// `heads_read`: among the records that the lane has read. All lanes must call it.
fn find_heads(heads_read: u32, lane: u32) {
    workgroupBarrier();
    for (var j = 0u; j < 8u; j++) {
        head_cells[head_cell(j * LANES + lane)] = (heads_read >> j) & 1u;
    }
    workgroupBarrier();
    var own = 0u;
    for (var j = 0u; j < 8u; j++) {
        own |= head_cells[head_cell(lane * 8u + j)] << j;
    }
    var slot = exclusive_sum(lane, countOneBits(own));
    if lane == LANES - 1u {
        heads_of_part = slot + countOneBits(own);
    }
    workgroupBarrier();
    for (var j = 0u; j < 8u; j++) {
        if ((own >> j) & 1u) != 0u {
            head_cells[head_cell(slot)] = lane * 8u + j;
            slot++;
        }
    }
    workgroupBarrier();
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
    var own = heads[tile * LANES + lane];
    var runs = tiles[2u * tile];
    // The head of the last run before a part. The first part has none, and does not use it.
    var last = tiles[2u * tile + 1u] - 1u;
    for (var first = tile * RUN_TILE; first < (tile + 1u) * RUN_TILE; first += PART) {
        find_heads(own, lane);
        own >>= 8u;
        for (var slot = lane; slot < heads_of_part; slot += LANES) {
            let before = head_cells[head_cell(max(slot, 1u) - 1u)];
            // There is room for all, unless the keys are not in order or change between two
            // submissions.
            if runs + slot < params.room {
                let start = first + head_cells[head_cell(slot)];
                store_run(runs + slot, start, select(last, first + before, slot > 0u));
            }
        }
        runs += heads_of_part;
        if heads_of_part > 0u {
            last = first + head_cells[head_cell(heads_of_part - 1u)];
        }
    }
    // The tile of the last record.
    let is_last = params.len > tile * RUN_TILE && params.len - tile * RUN_TILE <= RUN_TILE;
    if lane == 0u && is_last && runs - 1u < params.room {
        store_last(runs, last);
    }
}
