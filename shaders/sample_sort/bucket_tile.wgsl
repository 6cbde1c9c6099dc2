// A tile of a bucket, to be gathered from the tiles of the input.

struct Params {
    // Records.
    len: u32,
    // The first tile of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Buckets.
    buckets: u32,
    // Records of a tile of the input.
    tile: u32,
    // The places that are to be in order: see selected.wgsl.
    rank_begin: u32,
    rank_end: u32,
    // The first key's place, the distance of the others, and how many share a word, where the caller has them: see
    // io/source_in_rows.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // Arrays, and the power of two that is this or less: see rows/segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> prefixes: array<u32>;
@group(0) @binding(6) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(7) var<storage, read> tile_table: array<u32>;

struct BucketTile {
    // Where it belongs, and its records.
    base: u32,
    count: u32,
    part: Part,
    // Whether its bucket is one that is wanted in order.
    selected: bool,
}

fn is_bucket_tile(number: u32) -> bool {
    return number < min(params.end, bucket_table[3u * params.buckets + 1u]);
}

fn bucket_tile(number: u32) -> BucketTile {
    let bucket = tile_table[4u * number];
    let first = tile_table[4u * number + 1u];
    let start = bucket_table[3u * bucket];
    let len = bucket_table[3u * bucket + 3u] - start;
    let count = min(len - first, TILE);
    let tiles = (params.len - 1u) / params.tile + 1u;
    let part = Part(
        0u,
        params.len,
        select((bucket - 1u) * tiles, NOTHING, bucket == 0u),
        select(bucket * tiles, EVERYTHING, bucket + 1u == params.buckets),
        tile_table[4u * number + 2u],
        tile_table[4u * number + 3u] + 1u,
        first,
        count,
        start + first,
    );
    return BucketTile(start + first, count, part, is_selected(start, len));
}
