// SAMPLE SORT, first distribution: gathers the tiles of each bucket from the sorted tiles of the input,
// and sorts those of buckets that are wanted in order. The tiles of a bucket lie behind each other, those of the next bucket behind these.
//
// `prefixes`, `bucket_table`, `tile_table`: see bucket_table.wgsl.
//
// A workgroup of LANES = TILE / 32 lanes a tile.
//
// No bank conflict in the sort (see sort_tile.wgsl); marking the segments has some (see gather.wgsl).

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if !is_bucket_tile(number) {
        return;
    }
    let own = bucket_tile(number);
    var r: array<Record, 32>;
    gather(&r, lane, own.part);
    if own.selected {
        sort_tile(&r, lane, own.count);
        store_tile(lane, own.base, own.count);
    } else {
        store_gathered(&r, lane, own.base, own.count);
    }
}
