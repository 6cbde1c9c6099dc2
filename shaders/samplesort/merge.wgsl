// SAMPLE SORT, merge: merges few sorted tiles, all at once. What a record's position is, is how
// many records are before it: in its own tile, which its position there tells, and in each other,
// which a binary search finds. Equal records come in the order of their tiles.
//
// A workgroup of LANES lanes takes as many consecutive records, of one tile. A lane's searches in
// all other tiles are made level by level: a level's probes are all made before any is looked at.
//
// No workgroup memory. (n tiles log2(tile) probes, so not for many tiles.)

// Where the i-th of the tiles that are not a record's own begins, were there as many.
fn other_tile(i: u32, own: u32) -> u32 {
    return (i + select(0u, 1u, i >= own)) * params.tile;
}

// A record of a tile. Behind the last of all it is that one: so a search in the last tile, or in
// one that there is not, may end behind its records, but not at another of these.
fn probe(position: u32) -> Record {
    return load_source(min(position, params.len - 1u));
}

// Whether a record of another tile comes before one, as an equal one does if its tile is before.
fn precedes(other: Record, r: Record, is_before: bool) -> bool {
    return is_greater(r, other) | (is_equal(r, other) & is_before);
}

// Records there are from the start of a tile to the end of a search.
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
