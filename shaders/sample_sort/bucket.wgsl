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

// The children of the only bucket. (Of no record there are none.)
fn only_children() -> u32 {
    return select(params.children, 0u, params.len == 0u);
}

// All records, where there was no distribution before.
fn only_bucket() -> Bucket {
    return Bucket(0u, params.len, 0u, 0u, only_children());
}
