// A child of a bucket, or a group of them: what is between two of its splitters. Its records lie in the
// bucket's tiles.
//
// `child_table`: how many there are, and two words of each: its bucket, and ALIKE if its splitters are equal; and the
// first of its children, and, in the upper half, one past the last.

struct Params {
    // Records.
    len: u32,
    // For sorted_buckets.wgsl: the first child of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // Buckets, and children of the only one.
    buckets: u32,
    children: u32,
    // Records of a sorted tile.
    tile: u32,
    // The most children of a bucket.
    most_children: u32,
    // The first child that sorted_buckets.wgsl is not given.
    rest: u32,
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
@group(0) @binding(7) var<storage, read> child_table: array<u32>;

struct Child {
    bucket: Bucket,
    // The bucket's tiles.
    tiles: u32,
    // The rows of its splitters in `prefixes`.
    row: u32,
    next_row: u32,
    // Where it belongs, and its records.
    start: u32,
    count: u32,
    // Whether what is gathered is not sorted any more: all keys are one, whose order is that of the input; or these
    // places need no order.
    done: bool,
}

fn child_of(number: u32) -> Child {
    let alike_bucket = child_table[1u + 2u * number];
    let bucket = bucket_of(alike_bucket & ~ALIKE);
    let first = child_table[2u + 2u * number] & 0xffffu;
    let end = child_table[2u + 2u * number] >> 16u;
    let tiles = (bucket.len - 1u) / params.tile + 1u;
    let rows = (params.most_children - 1u) * bucket.first_tile;
    let row = select(rows + (first - 1u) * tiles, NOTHING, first == 0u);
    let next_row = select(rows + (end - 1u) * tiles, EVERYTHING, end == bucket.children);
    let before = left_of(row, tiles, bucket.len);
    let count = left_of(next_row, tiles, bucket.len) - before;
    let start = bucket.start + before;
    let done = alike_bucket >= ALIKE || !is_selected(start, count);
    return Child(bucket, tiles, row, next_row, start, count, done);
}

// Gathers `count` of a child's records, from `first` on.
fn gather_child(r: ptr<function, array<Record, 32>>, lane: u32, child: Child, first: u32, count: u32) {
    let bucket = child.bucket;
    gather(r, lane, Part(bucket.start, bucket.len, child.row, child.next_row, 0u, child.tiles, first, count, child.start + first));
}
