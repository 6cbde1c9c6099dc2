// Uses samplesort/io, samplesort/maps, samplesort/params, samplesort/shape.
//
// SAMPLE SORT, merge: merges a few sorted tiles at once, by rank. A record's rank is the sum of the
// numbers of records before it: in its own tile, its position; in every other tile, found by binary
// search. Equal records are in the order of their tiles.
//
// A workgroup has LANES consecutive records of one tile. The searches of a lane in all other tiles
// advance together: all probes of a level are issued before any of them is used.
//
// No workgroup memory. It takes n tiles log2(tile) probes, so it suits few tiles only.

// The start of the i-th tile, leaving out a record's own tile. It may be past the last record.
fn other_tile(i: u32, own: u32) -> u32 {
    return (i + select(0u, 1u, i >= own)) * params.tile;
}

// A record of a tile. Past the end the last record repeats. So a search in the last tile, or past
// it, ends at the right record or past the end, where `records_from` clamps it.
fn probe(position: u32) -> Record {
    return load_source(min(position, params.len - 1u));
}

// True if a record of another tile comes before `r`. An equal one does if its tile `is_before`.
fn precedes(other: Record, r: Record, is_before: bool) -> bool {
    return is_greater(r, other) | (is_equal(r, other) & is_before);
}

// The number of records from the start of a tile to the end of a search.
fn records_from(start: u32, end: u32) -> u32 {
    return min(end, params.len) - min(start, params.len);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = workgroup_number(group, groups) * LANES;
    let own = first / params.tile;
    let index = first + lane;
    if index >= params.len {
        return;
    }
    let r = load_source(index);
    store_target(index % params.tile + rank_in_others(own, r), decode_target(r));
}
