// The buckets of the distribution before, of which there may be but one: `bucket_table` says where they are.

// With a bucket's number, of a child of it: its two splitters are equal, and so are all of its keys. (They may
// not be in the first child of a bucket, nor in the last.)
const ALIKE: u32 = 0x80000000u;

// (One return: behind several, FXC takes the bucket for uninitialised, and no barrier for met by all lanes.)
fn bucket_of(number: u32) -> Bucket {
    var bucket = only_bucket();
    if params.buckets != 1u {
        let at = number * 3u;
        bucket.start = bucket_table[at];
        bucket.len = bucket_table[at + 3u] - bucket.start;
        bucket.first_tile = bucket_table[at + 1u];
        bucket.first_child = bucket_table[at + 2u];
        bucket.children = bucket_table[at + 5u] - bucket.first_child;
    }
    return bucket;
}

// The children of all buckets.
fn all_children() -> u32 {
    var children = only_children();
    if params.buckets != 1u {
        children = bucket_table[params.buckets * 3u + 2u];
    }
    return children;
}

// The bucket of a child: the last whose first child is this or one before.
fn bucket_of_child(child: u32) -> u32 {
    var bucket = 0u;
    // (Of one bucket, no `next` is less.)
    for (var step = MOST_BUCKETS / 2u; step > 0u; step /= 2u) {
        let next = bucket + step;
        if next < params.buckets && bucket_table[next * 3u + 2u] <= child {
            bucket = next;
        }
    }
    return bucket;
}
