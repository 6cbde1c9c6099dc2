// SAMPLE SORT, records of several words: adds up each bucket's ranks, and packs its children into groups that
// fit a tile, each as full as can be.
//
// There are more splitters than tiles will be needed, so that a group leaves only a part of a child free. Which
// groups there are is known when every record has been counted, so that samples, which here are those of unsorted
// records, need not be good.
//
// `splitters`: see splitters.wgsl. `prefixes`: a row a splitter, its ranks in each tile before, and those in this and all tiles before it afterwards.
// `bucket_table`: see bucket_table.wgsl. `child_table`: see child.wgsl; its first word counts, and must be 0.
// `overflows`: begins with a 0, for sorted_buckets.wgsl.
//
// A workgroup of LANES lanes a bucket; a lane adds up every LANES-th row, and looks where its child's group would
// end. Then one lane goes from group to group, some sixty steps.
//
// Looking for that is an exception by name: its probes meet in banks.

struct Params {
    // Records.
    len: u32,
    // Buckets, and children of the only one.
    buckets: u32,
    children: u32,
    // Records of a tile, and those that a group may have.
    tile: u32,
    capacity: u32,
    // The most children of a bucket.
    most_children: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(2) var<storage, read_write> prefixes: array<u32>;
@group(0) @binding(3) var<storage, read_write> child_table: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> overflows: array<u32>;
@group(0) @binding(5) var<storage, read> splitters: array<Key>;

// Where each child begins, and the bucket ends; and where a group from there on ends.
var<workgroup> starts: array<u32, CHILDREN + 1>;
var<workgroup> group_ends: array<u32, CHILDREN>;
// The groups' first children.
var<workgroup> group_starts: array<u32, CHILDREN>;
var<workgroup> groups_found: u32;
var<workgroup> first_group: u32;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups);
    if number == 0u && lane == 0u {
        overflows[0] = 0u;
    }
    if number >= params.buckets {
        return;
    }
    let bucket = bucket_of(number);
    if bucket.len == 0u {
        return;
    }
    let tiles = (bucket.len - 1u) / params.tile + 1u;
    let rows = (params.most_children - 1u) * bucket.first_tile;
    for (var child = lane; child < bucket.children; child += LANES) {
        var sum = 0u;
        if child > 0u {
            let row = rows + (child - 1u) * tiles;
            for (var tile = 0u; tile < tiles; tile++) {
                sum += prefixes[row + tile];
                prefixes[row + tile] = sum;
            }
        }
        starts[child] = sum;
    }
    if lane == 0u {
        starts[bucket.children] = bucket.len;
    }
    workgroupBarrier();
    for (var child = lane; child < bucket.children; child += LANES) {
        // The last child that begins no later than a tile after this one, but one behind it at least.
        var end = child + 1u;
        for (var step = CHILDREN / 2u; step > 0u; step /= 2u) {
            let next = min(end + step, bucket.children);
            if end + step <= bucket.children && starts[next] - starts[child] <= params.capacity {
                end += step;
            }
        }
        group_ends[child] = end;
    }
    workgroupBarrier();
    if lane == 0u {
        var found = 0u;
        for (var child = 0u; child < bucket.children; child = group_ends[child]) {
            group_starts[found] = child;
            found++;
        }
        groups_found = found;
        first_group = atomicAdd(&child_table[0], found);
    }
    workgroupBarrier();
    for (var i = lane; i < groups_found; i += LANES) {
        let child = group_starts[i];
        let end = group_ends[child];
        let at = 1u + 2u * (first_group + i);
        let inner = child > 0u && end < bucket.children;
        let alike = inner && equals(splitters[bucket.first_child + child], splitters[bucket.first_child + end]);
        atomicStore(&child_table[at], number | select(0u, ALIKE, alike));
        atomicStore(&child_table[at + 1u], child | (end << 16u));
    }
}
