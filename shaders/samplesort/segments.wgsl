// The segments of a level, and the tree of a segment's splitters.

// ---- segments

// The segments that a level splits: at the first level all records, at others the children of the
// level before. `segments`: the number of tiles of all segments, then for each segment its first
// record, its number of records, its first tile, and its first record's position in the target.
// Source and target differ where the source has room between its segments.
//
// Clamped: a table may hold anything, if other work that shares the memory ran meanwhile. A segment
// is within the source in any case.

@group(0) @binding(5) var<storage, read> segments: array<u32>;

struct Segment {
    start: u32,
    count: u32,
    first_tile: u32,
    target_start: u32,
}

// Records that are counted or moved at the first level.
fn records() -> u32 {
    let part = (1u << params.interval_log2) - 1u;
    return (params.len >> params.interval_log2) + select(0u, 1u, (params.len & part) > 0u);
}

// One `return`: FXC treats a value returned from within a branch as uninitialised, and barriers
// after it as divergent.
fn segment_at(number: u32) -> Segment {
    var segment = Segment(0u, records(), 0u, 0u);
    if params.whole == 0u {
        let at = 1u + 4u * number;
        let room = max(params.len, params.source_room);
        let start = min(segments[at], room);
        let count = min(segments[at + 1u], room - start);
        segment = Segment(start, count, segments[at + 2u], segments[at + 3u]);
    }
    return segment;
}

// The tiles of a segment. They begin at multiples of 32 records, as rows of memory do.
fn tiles_between(start: u32, count: u32) -> u32 {
    return select((count + start % 32u + params.tile - 1u) / params.tile, 0u, count == 0u);
}

fn hash(x: u32) -> u32 {
    var z = x * 0x9e3779b9u;
    z = (z ^ (z >> 15u)) * 0x85ebca6bu;
    z = (z ^ (z >> 13u)) * 0xc2b2ae35u;
    return z ^ (z >> 16u);
}

// ---- tree

// A segment's splitters as a binary search tree in breadth-first order: node 1 is the root, the
// children of node k are 2k and 2k + 1.

// The node of splitter number `c` in ascending order, counted from 1, in a tree of `nodes` nodes.
fn node_of(c: u32, nodes: u32) -> u32 {
    let level = countTrailingZeros(c);
    return (nodes >> (level + 1u)) + (c >> (level + 1u));
}
