// A bucket of the distribution before, or, where there was none, all records.

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

fn bucket_of(number: u32) -> Bucket {
    if params.buckets == 1u {
        return Bucket(0u, params.len, 0u, 0u, params.children);
    }
    let at = number * 3u;
    let start = bucket_table[at];
    let first_child = bucket_table[at + 2u];
    return Bucket(
        start,
        bucket_table[at + 3u] - start,
        bucket_table[at + 1u],
        first_child,
        bucket_table[at + 5u] - first_child,
    );
}

// The children of all buckets.
fn all_children() -> u32 {
    if params.buckets == 1u {
        return params.children;
    }
    return bucket_table[params.buckets * 3u + 2u];
}

// The bucket of a child: the last whose first child is this or one before.
fn bucket_of_child(child: u32) -> u32 {
    var bucket = 0u;
    if params.buckets == 1u {
        return bucket;
    }
    for (var step = MOST_BUCKETS / 2u; step > 0u; step /= 2u) {
        let next = bucket + step;
        if next < params.buckets && bucket_table[next * 3u + 2u] <= child {
            bucket = next;
        }
    }
    return bucket;
}
