// SAMPLE SORT: ranks each splitter in all sorted tiles of its bucket, and adds the ranks up.
//
// `splitters`, `ties`, `bucket_table`: see splitters.wgsl. `prefixes`: for each splitter a row of a word a
// tile: how many records of this and all tiles before are left of it. The rows of a bucket lie behind those of
// the buckets before, which are at most most_children - 1 for each of their tiles.
//
// `child_table`: the children, see child.wgsl. `overflows`: begins with a 0, for sorted_buckets.wgsl.
//
// A workgroup of LANES lanes takes a child after the other; the first of a bucket has no splitter. A lane searches a
// tile.
//
// No bank conflict: keys are searched where they lie, and sums are added as in scan.wgsl.

struct Params {
    // Records.
    len: u32,
    // Buckets, and children of the only one.
    buckets: u32,
    children: u32,
    // Records of a tile, a power of two.
    tile: u32,
    // The most children of a bucket.
    most_children: u32,
    // The places that are to be in order: see selected.wgsl.
    rank_begin: u32,
    rank_end: u32,
    // Arrays, and the power of two that is this or less: see rows/segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> prefixes: array<u32>;
@group(0) @binding(8) var<storage, read_write> overflows: array<u32>;
@group(0) @binding(4) var<storage, read_write> child_table: array<u32>;
@group(0) @binding(5) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(6) var<storage, read> splitters: array<Key>;
@group(0) @binding(7) var<storage, read> ties: array<u32>;

fn probe(base: u32, i: u32) -> Record {
    return encode_record(array_of(base + i), load_record(base + i));
}

fn rank_child(number: u32, lane: u32) {
    let bucket_number = bucket_of_child(number);
    let bucket = bucket_of(bucket_number);
    let child = number - bucket.first_child;
    let splitter = splitters[number];
    if lane == 0u {
        // (Of a bucket outside of what is wanted, this compares what is left there: nothing depends on it.)
        let inner = child > 0u && child + 1u < bucket.children;
        let alike = inner && equals(splitter, splitters[number + 1u]);
        child_table[1u + 2u * number] = bucket_number | select(0u, ALIKE, alike);
        child_table[2u + 2u * number] = child | ((child + 1u) << 16u);
    }
    if child == 0u {
        return;
    }
    let tiles = (bucket.len - 1u) / params.tile + 1u;
    let row = (params.most_children - 1u) * bucket.first_tile + (child - 1u) * tiles;
    let tie = ties[number];
    let selected = params.buckets == 1u || is_selected(bucket.start, bucket.len);
    var before = 0u;
    for (var chunk = 0u; chunk < tiles; chunk += LANES) {
        let tile = chunk + lane;
        var rank = 0u;
        if tile < tiles {
            let base = tile * params.tile;
            let count = min(bucket.len - base, params.tile);
            rank = before_part(child, bucket.children, bucket.len, base, count);
            if selected {
                rank = rank_of(bucket.start + base, count, params.tile, splitter, tie);
            }
        }
        let sum = inclusive_sum(lane, rank);
        if tile < tiles {
            prefixes[row + tile] = before + sum;
        }
        before += lane_sums[LANES - 1u];
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let end = all_children();
    let first = workgroup_number(group, groups);
    if first == 0u && lane == 0u {
        child_table[0] = end;
        overflows[0] = 0u;
    }
    for (var number = first; number < end; number += groups.x * groups.y) {
        rank_child(number, lane);
    }
}
