// SAMPLE SORT, few tiles: merges all sorted tiles at once. What a record's place is, is how many records are before it: in
// its own tile, which its index tells, and in each other, which a binary search finds.
//
// Equal keys come in the order of their tiles, and so, if those were sorted stably, of the input.
//
// A workgroup of LANES lanes takes as many consecutive records. A lane's searches in all other tiles are made level by
// level: a level's probes are all made before any is looked at. Neighbours probe neighbouring records.
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
    // Arrays, and the power of two that is this or less: see rows/segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// The i-th of the tiles that are not a record's own.
fn other_tile(i: u32, own: u32) -> u32 {
    return i + select(0u, 1u, i >= own);
}

// The key that tells whether a search goes on by `step`, still to be encoded. Some key, where there is none: a load in a
// branch of its own waits for the one before.
fn probe(i: u32, own: u32, next: u32) -> Key {
    return load_bits(min(other_tile(i, own) * params.tile + next, params.len) - 1u);
}

// Where the search is then.
fn further(i: u32, own: u32, span: Span, key: Key, rank: u32, next: u32, probed: Key) -> u32 {
    let other = other_tile(i, own);
    let there = (next <= params.tile) & (other * params.tile + next <= params.len);
    let encoded = encode_in(array_beside(span, min(other * params.tile + next, params.len) - 1u), probed);
    let before = precedes(encoded, key) | ((other < own) & !precedes(key, encoded));
    return select(rank, next, there & before);
}

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
    let span = span_of(index);
    let key = encode_in(array_beside(span, index), load_bits(index));
    var r: array<u32, 15>;
    // Written out: a loop over fifteen searches is none that NVIDIA's compiler unrolls, and then each probe waits for
    // the one before (2^14 keys 0.041 ms instead of 0.029).
    for (var step = params.tile; step > 0u; step /= 2u) {
        let k0 = probe(0u, own, r[0] + step);
        r[0] = further(0u, own, span, key, r[0], r[0] + step, k0);
        if OTHERS > 1u {
            let k1 = probe(1u, own, r[1] + step);
            let k2 = probe(2u, own, r[2] + step);
            r[1] = further(1u, own, span, key, r[1], r[1] + step, k1);
            r[2] = further(2u, own, span, key, r[2], r[2] + step, k2);
        }
        if OTHERS > 3u {
            let k3 = probe(3u, own, r[3] + step);
            let k4 = probe(4u, own, r[4] + step);
            let k5 = probe(5u, own, r[5] + step);
            let k6 = probe(6u, own, r[6] + step);
            r[3] = further(3u, own, span, key, r[3], r[3] + step, k3);
            r[4] = further(4u, own, span, key, r[4], r[4] + step, k4);
            r[5] = further(5u, own, span, key, r[5], r[5] + step, k5);
            r[6] = further(6u, own, span, key, r[6], r[6] + step, k6);
        }
        if OTHERS > 7u {
            let k7 = probe(7u, own, r[7] + step);
            let k8 = probe(8u, own, r[8] + step);
            let k9 = probe(9u, own, r[9] + step);
            let k10 = probe(10u, own, r[10] + step);
            let k11 = probe(11u, own, r[11] + step);
            let k12 = probe(12u, own, r[12] + step);
            let k13 = probe(13u, own, r[13] + step);
            let k14 = probe(14u, own, r[14] + step);
            r[7] = further(7u, own, span, key, r[7], r[7] + step, k7);
            r[8] = further(8u, own, span, key, r[8], r[8] + step, k8);
            r[9] = further(9u, own, span, key, r[9], r[9] + step, k9);
            r[10] = further(10u, own, span, key, r[10], r[10] + step, k10);
            r[11] = further(11u, own, span, key, r[11], r[11] + step, k11);
            r[12] = further(12u, own, span, key, r[12], r[12] + step, k12);
            r[13] = further(13u, own, span, key, r[13], r[13] + step, k13);
            r[14] = further(14u, own, span, key, r[14], r[14] + step, k14);
        }
    }
    var place = index % params.tile;
    for (var i = 0u; i < OTHERS; i++) {
        place += r[i];
    }
    store_key(place, key);
    carry(index, place);
}
