// SAMPLE SORT, merge: merges few sorted tiles, all at once. What a record's place is, is how many
// records are before it: in its own tile, which its place there tells, and in each other, which a
// binary search finds. Equal records come in the order of their tiles.
//
// A workgroup of LANES lanes takes as many consecutive records. A lane's searches in all other
// tiles are made level by level: a level's probes are all made before any is looked at.
//
// No workgroup memory. (n tiles log2(tile) probes, so not for many tiles.)

struct Other {
    // Its first record, its records, and the last of these that there is to look at.
    start: u32,
    count: u32,
    last: u32,
    // Whether its records come before those that they equal.
    is_before: bool,
}

// The i-th of the tiles that are not a record's own. Of tiles that there are not nothing is before.
fn other_tile(i: u32, own: u32) -> Other {
    let number = i + select(0u, 1u, i >= own);
    let start = min(number * params.tile, params.len);
    let count = min(params.len - start, params.tile);
    return Other(select(0u, start, count > 0u), count, max(count, 1u) - 1u, number < own);
}

// The record that tells whether a search goes on. Some record, where there is none: a load in a
// branch of its own waits for the one before.
fn probe(other: Other, i: u32) -> Record {
    return load_source(other.start + min(i, other.last));
}

// Where the search is then.
fn further(other: Other, r: Record, rank: u32, step: u32, probed: Record) -> u32 {
    let equal = is_equal(probed, r) & other.is_before;
    let before = is_greater(r, probed) | equal;
    return select(rank, rank + step, (rank + step <= other.count) & before);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = workgroup_number(group, groups) * LANES + lane;
    if index >= params.len {
        return;
    }
    let own = index / params.tile;
    let r = load_source(index);
    store_target(index % params.tile + rank_in_others(own, r), decode_target(r));
}
