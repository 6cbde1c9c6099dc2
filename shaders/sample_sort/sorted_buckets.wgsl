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

struct Params {
    // Records.
    len: u32,
    // The first child of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Buckets, and children of the only one.
    buckets: u32,
    children: u32,
    // Records of a sorted tile.
    tile: u32,
    // The most children of a bucket.
    most_children: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> prefixes: array<u32>;
@group(0) @binding(6) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(7) var<storage, read> child_table: array<u32>;
@group(0) @binding(8) var<storage, read_write> overflows: array<atomic<u32>>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number >= all_children() {
        return;
    }
    let bucket = bucket_of(child_table[number]);
    let tiles = (bucket.len - 1u) / params.tile + 1u;
    let child = number - bucket.first_child;
    let rows = (params.most_children - 1u) * bucket.first_tile + child * tiles;
    let row = select(rows - tiles, NOTHING, child == 0u);
    let next_row = select(rows, EVERYTHING, child + 1u == bucket.children);
    let before = left_of(row, tiles, bucket.len);
    let count = left_of(next_row, tiles, bucket.len) - before;
    if count == 0u {
        return;
    }
    if count > TILE {
        if lane == 0u {
            let at = atomicAdd(&overflows[0], 1u);
            atomicStore(&overflows[at + 1u], number);
        }
        return;
    }
    let start = bucket.start + before;
    var r: array<Record, 32>;
    gather(&r, lane, Part(bucket.start, bucket.len, row, next_row, 0u, tiles, 0u, count));
    sort_tile(&r, lane, count);
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            store_record(start + place(lane, j), record_load(place_cell(lane, j)));
        }
    }
}
