// What is partitioned are the tiles of the input, which are all of one bucket.

fn all_tiles() -> u32 {
    return (params.len + TILE - 1u) / TILE;
}

fn bucket_of_tile(number: u32) -> Bucket {
    return only_bucket();
}

fn is_left_out(bucket: Bucket) -> bool {
    return false;
}
