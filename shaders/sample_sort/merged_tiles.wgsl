// SAMPLE SORT, few tiles: merges all sorted tiles at once. What a record's place is, is how many records are before it: in
// its own tile, which its index tells, and in each other, which a binary search finds.
//
// Equal keys come in the order of their tiles, and so, if those were sorted stably, of the input.
//
// A workgroup of LANES lanes takes as many consecutive records. A lane's searches in all other tiles are made level by
// level, so that each probe waits for those of its own search only. Neighbours probe neighbouring records.
//
// No workgroup memory. (n tiles log2(tile) probes, so not for many tiles.)

struct Params {
    // Records.
    len: u32,
    // Records of a tile, a power of two.
    tile: u32,
    // The first workgroup's records of this dispatch, and one past the last's, in workgroups.
    first: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    let index = number * LANES + lane;
    if number >= params.end || index >= params.len {
        return;
    }
    let own = index / params.tile;
    let key = encode(load_bits(index));
    var ranks: array<u32, OTHERS>;
    for (var step = params.tile; step > 0u; step /= 2u) {
        for (var i = 0u; i < OTHERS; i++) {
            let other = i + select(0u, 1u, i >= own);
            let next = ranks[i] + step;
            let end = other * params.tile + next;
            // Some record, where there is none: a load in a branch of its own waits for the one before.
            let probe = encode(load_bits(min(end, params.len) - 1u));
            let before = precedes(probe, key) | ((other < own) & !precedes(key, probe));
            let there = (next <= params.tile) & (end <= params.len);
            ranks[i] = select(ranks[i], next, before & there);
        }
    }
    var place = index % params.tile;
    for (var i = 0u; i < OTHERS; i++) {
        place += ranks[i];
    }
    store_key(place, key);
    carry(index, place);
}
