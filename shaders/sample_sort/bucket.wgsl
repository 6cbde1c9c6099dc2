// A bucket of the distribution before, or, where there was none, all records.

// With a bucket's number, of a child of it: its two splitters are equal, and so are all of its keys. (They may
// not be in the first child of a bucket, nor in the last.)
const ALIKE: u32 = 0x80000000u;

struct Bucket {
    // Its first record, and records.
    start: u32,
    len: u32,
    // The tiles before it.
    first_tile: u32,
    // The children of the buckets before it, and its own.
    first_child: u32,
    children: u32,
}

// The children of the only bucket. (Of no record there are none.)
fn only_children() -> u32 {
    return select(params.children, 0u, params.len == 0u);
}

// (One return: behind several, FXC takes the bucket for uninitialised, and no barrier for met by all lanes.)
fn bucket_of(number: u32) -> Bucket {
    var bucket = Bucket(0u, params.len, 0u, 0u, only_children());
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
