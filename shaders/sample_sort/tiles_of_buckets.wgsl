// What is partitioned are the tiles of buckets, of which there are several.
//
// `bucket_table`: see splitters.wgsl. `tile_table`: see bucket_table.wgsl.

@group(0) @binding(6) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(7) var<storage, read> tile_table: array<u32>;

fn all_tiles() -> u32 {
    return bucket_table[3u * params.buckets + 1u];
}

fn bucket_of_tile(number: u32) -> Bucket {
    return bucket_of(tile_table[4u * number]);
}

// Whether no place of the bucket is to be in order.
fn is_left_out(bucket: Bucket) -> bool {
    return !is_selected(bucket.start, bucket.len);
}
