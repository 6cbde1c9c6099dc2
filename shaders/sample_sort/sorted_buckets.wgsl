// SAMPLE SORT, last distribution: gathers each child of a bucket from the sorted tiles of the bucket, sorts
// it, and writes it where it belongs.
//
// `prefixes`, `child_table`: see splitter_ranks.wgsl. `bucket_table`: see splitters.wgsl.
//
// `overflows`: children that have more than TILE records, which is very unlikely, on any input: their number and
// they, left to large_buckets.wgsl.
//
// A workgroup of LANES = TILE / 32 lanes a child.
//
// No bank conflict in the sort (see sort_tile.wgsl); marking the segments has some (see gather.wgsl).

@group(0) @binding(8) var<storage, read_write> overflows: array<atomic<u32>>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number >= child_table[0] {
        return;
    }
    let child = child_of(number);
    if child.count == 0u {
        return;
    }
    if child.count > TILE {
        if lane == 0u {
            let at = atomicAdd(&overflows[0], 1u);
            atomicStore(&overflows[at + 1u], number);
        }
        return;
    }
    var r: array<Record, 32>;
    gather_child(&r, lane, child, 0u, child.count);
    if child.done {
        store_gathered(&r, lane, child.start, child.count);
    } else {
        sort_tile(&r, lane, child.count);
        store_tile(lane, child.start, child.count);
    }
}
