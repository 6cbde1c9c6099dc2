// SAMPLE SORT, merge: merges few sorted tiles, all at once. What a record's place is, is how many
// records are before it: in its own tile, which its place there tells, and in each other, which a
// binary search finds. Equal records come in the order of their tiles.
//
// A workgroup of LANES lanes takes as many consecutive records. A lane's searches in all other
// tiles are made level by level: a level's probes are all made before any is looked at.
//
// No workgroup memory. (n tiles log2(tile) probes, so not for many tiles.)

// The i-th of the tiles that are not a record's own.
fn other_tile(i: u32, own: u32) -> u32 {
    return i + select(0u, 1u, i >= own);
}

// The record that tells whether a search goes on by `step`. Some record, where there is none: a
// load in a branch of its own waits for the one before.
fn probe(i: u32, own: u32, next: u32) -> Record {
    return load_source(min(other_tile(i, own) * params.tile + next, params.len) - 1u);
}

// Where the search is then.
fn further(i: u32, own: u32, r: Record, rank: u32, next: u32, probed: Record) -> u32 {
    let other = other_tile(i, own);
    let there = (next <= params.tile) & (other * params.tile + next <= params.len);
    let before = select(is_greater(r, probed), !is_greater(probed, r), other < own);
    return select(rank, next, there & before);
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
