// SAMPLE SORT, first distribution: gathers the tiles of each bucket from the sorted tiles of the input,
// and sorts them. The tiles of a bucket lie behind each other, those of the next bucket behind these.
//
// `prefixes`, `bucket_table`, `tile_table`: see bucket_table.wgsl.
//
// A workgroup of LANES = TILE / 32 lanes a tile.
//
// No bank conflict in the sort (see sort_tile.wgsl); marking the segments has some (see gather.wgsl).

struct Params {
    // Records.
    len: u32,
    // The first tile of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Buckets.
    buckets: u32,
    // Sorted tiles, and records of each.
    tiles: u32,
    tile: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> prefixes: array<u32>;
@group(0) @binding(6) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(7) var<storage, read> tile_table: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number >= bucket_table[3u * params.buckets + 1u] {
        return;
    }
    let bucket = tile_table[4u * number];
    let first = tile_table[4u * number + 1u];
    let start = bucket_table[3u * bucket];
    let count = min(bucket_table[3u * bucket + 3u] - start - first, TILE);
    let part = Part(
        0u,
        params.len,
        select((bucket - 1u) * params.tiles, NOTHING, bucket == 0u),
        select(bucket * params.tiles, EVERYTHING, bucket + 1u == params.buckets),
        tile_table[4u * number + 2u],
        tile_table[4u * number + 3u] + 1u,
        first,
        count,
    );
    var r: array<Record, 32>;
    gather(&r, lane, part);
    sort_tile(&r, lane, count);
    store_tile(lane, start + first, count);
}
