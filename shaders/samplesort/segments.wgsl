// The segments that a level splits: at the first level all records, at others the children of the
// level before. `segments`: the number of tiles of all segments, then for each segment its first
// record, its number of records, and its first tile.
//
// Clamped: a table may hold anything, if other work that shares the memory ran meanwhile. A segment
// is within the records in any case.

@group(0) @binding(5) var<storage, read> segments: array<u32>;

struct Segment {
    start: u32,
    count: u32,
    first_tile: u32,
}

// One `return`: FXC treats a value returned from within a branch as uninitialised, and barriers
// after it as divergent.
fn segment_at(number: u32) -> Segment {
    var segment = Segment(0u, params.len, 0u);
    if params.whole == 0u {
        let at = 1u + 3u * number;
        let start = min(segments[at], params.len);
        let count = min(segments[at + 1u], params.len - start);
        segment = Segment(start, count, segments[at + 2u]);
    }
    return segment;
}

// The tiles of a segment. They begin at multiples of 32 records, as rows of memory do.
fn tiles_between(start: u32, count: u32) -> u32 {
    return select((count + start % 32u + params.tile - 1u) / params.tile, 0u, count == 0u);
}
