// Uses layout/load, layout/params, layout/run_outputs, layout/runs, lib/key_map, lib/scan,
// lib/workgroup.
//
// RUNS, third phase: writes them.
//
// `source`: see load.wgsl. `tiles`: see runs.wgsl.
//
// A lane reads every LANES-th record of a tile, and then writes every LANES-th run of each part.

@group(0) @binding(2) var<storage, read> tiles: array<u32>;

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
    // All keys of the tile are read first, so that their loads are under way together.
    var heads = heads_of_lane(tile, lane);
    var runs = tiles[2u * tile];
    // The head of the last run before a part. The first part has none, and does not use it.
    var last = tiles[2u * tile + 1u] - 1u;
    for (var first = tile * RUN_TILE; first < (tile + 1u) * RUN_TILE; first += PART) {
        find_heads(heads, lane);
        heads >>= 8u;
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
