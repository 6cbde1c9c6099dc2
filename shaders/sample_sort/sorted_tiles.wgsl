// SAMPLE SORT, first phase where keys are distributed once, or tiles merged: sorts each tile of TILE records. A sort
// of up to a tile is this dispatch and no other.
//
// A workgroup of LANES = TILE / 32 lanes a tile.
//
// No bank conflict: see sort_tile.wgsl.

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number * TILE >= params.len {
        return;
    }
    let base = number * TILE;
    let count = min(params.len - base, TILE);
    var r: array<Record, 32>;
    load_tile(&r, lane, base, count);
    sort_tile(&r, lane, count);
    store_tile(lane, base, count);
}
