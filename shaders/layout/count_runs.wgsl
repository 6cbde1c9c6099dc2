// Uses layout/load, layout/params, layout/runs, lib/key_map, lib/workgroup.
//
// RUNS, first phase: the heads of each tile, and the last of them.
//
// `source`: see load.wgsl. `tiles`: see runs.wgsl.
//
// A lane reads every LANES-th record of a tile.
//
// No bank conflict: consecutive lanes access consecutive cells.

@group(0) @binding(2) var<storage, read_write> tiles: array<u32>;

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
    let heads = heads_of_lane(tile, lane);
    let last = tile * RUN_TILE + firstLeadingBit(max(heads, 1u)) * LANES + lane;
    let all = sum_of_lanes(lane, countOneBits(heads), select(0u, last + 1u, heads > 0u));
    if lane == 0u {
        tiles[2u * tile] = all.x;
        tiles[2u * tile + 1u] = all.y;
    }
}
