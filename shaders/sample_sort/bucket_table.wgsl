// SAMPLE SORT: where the buckets of the first distribution begin, into how many children each is to be
// distributed, and from which of the sorted tiles the tiles of each bucket are gathered.
//
// `prefixes`: what row_sums.wgsl left. `bucket_table`: three words a bucket, and three behind the last: its
// first record, the tiles before it, the children before it. `tile_table`: four words a tile of a bucket:
// the bucket, the tile's first record in it, and the first and last of the sorted tiles that it has
// records of.
//
// A workgroup of LANES lanes, and one lane a bucket: all workgroups compute the buckets' numbers. Then a
// lane has one tile.
//
// The lanes' search for their tiles' buckets meets in banks: an exception by name.

struct Params {
    // Records.
    len: u32,
    // Buckets.
    buckets: u32,
    // Records of a sorted tile, and the least power of two from the number of tiles on that there can be.
    tile: u32,
    tiles_power: u32,
    // Samples that a bucket's children are chosen from, records that a child may have, and children of a
    // bucket at the most.
    samples: u32,
    capacity: u32,
    most_children: u32,
    // Children of every bucket with more records than that, or 0 if the samples decide.
    fine: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> prefixes: array<u32>;
@group(0) @binding(2) var<storage, read_write> bucket_table: array<u32>;
@group(0) @binding(3) var<storage, read_write> tile_table: array<u32>;
@group(0) @binding(4) var<storage, read_write> child_table: array<u32>;

var<workgroup> first_tiles: array<u32, LANES>;

// Sorted tiles.
fn sorted_tiles() -> u32 {
    return (params.len + params.tile - 1u) / params.tile;
}

// Records of all tiles before `tile` that are left of a bucket.
fn left_of(bucket: u32, tile: u32) -> u32 {
    if bucket == 0u || tile == 0u {
        return 0u;
    }
    if bucket == params.buckets {
        return min(tile * params.tile, params.len);
    }
    return prefixes[(bucket - 1u) * sorted_tiles() + tile - 1u];
}

// The least number whose square is `square` or more.
fn root(square: u32) -> u32 {
    var found = 0u;
    for (var bit = 1u << 15u; bit > 0u; bit /= 2u) {
        let next = found + bit;
        if next * next < square {
            found = next;
        }
    }
    return found + 1u;
}

// `plan::sample_sort::children`.
fn children_of(records: u32) -> u32 {
    if records <= params.capacity {
        return min(records, 1u);
    }
    if params.fine > 0u {
        return min(params.fine, records);
    }
    let interval = (records - 1u) / params.samples + 1u;
    let tiles = (records - 1u) / params.tile + 1u;
    let margin = min(min(interval, 8192u) * root(tiles) * 5u / 2u, params.capacity / 2u);
    return min((records - 1u) / (params.capacity - margin) + 1u, params.most_children);
}

// The last of the sorted tiles that begins, in this bucket, at `record` or before.
fn tile_of(bucket: u32, record: u32) -> u32 {
    var found = 0u;
    for (var step = params.tiles_power; step > 0u; step /= 2u) {
        let next = found + step;
        if next < sorted_tiles() && left_of(bucket + 1u, next) - left_of(bucket, next) <= record {
            found = next;
        }
    }
    return found;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var start = params.len;
    var records = 0u;
    if lane < params.buckets {
        start = left_of(lane, sorted_tiles());
        records = left_of(lane + 1u, sorted_tiles()) - start;
    }
    let tiles = (records + params.tile - 1u) / params.tile;
    let tiles_before = inclusive_sum(lane, tiles) - tiles;
    first_tiles[lane] = tiles_before;
    let all_tiles = lane_sums[LANES - 1u];
    let children = children_of(records);
    let children_before = inclusive_sum(lane, children) - children;
    let number = workgroup_number(group, groups);
    if number == 0u && lane <= params.buckets {
        bucket_table[3u * lane] = start;
        bucket_table[3u * lane + 1u] = tiles_before;
        bucket_table[3u * lane + 2u] = children_before;
    }

    if number == 0u && lane == 0u {
        // There are none yet.
        child_table[0] = 0u;
    }

    let tile = number * LANES + lane;
    if tile >= all_tiles {
        return;
    }
    var bucket = 0u;
    for (var step = LANES / 2u; step > 0u; step /= 2u) {
        if first_tiles[bucket + step] <= tile {
            bucket += step;
        }
    }
    // (Buckets behind the last one have no tiles.)
    bucket = min(bucket, params.buckets - 1u);
    let first = (tile - first_tiles[bucket]) * params.tile;
    let size = left_of(bucket + 1u, sorted_tiles()) - left_of(bucket, sorted_tiles());
    tile_table[4u * tile] = bucket;
    tile_table[4u * tile + 1u] = first;
    tile_table[4u * tile + 2u] = tile_of(bucket, first);
    tile_table[4u * tile + 3u] = tile_of(bucket, min(first + params.tile, size) - 1u);
}
