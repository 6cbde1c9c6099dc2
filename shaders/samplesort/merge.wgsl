// Uses lib/key_map, lib/workgroup, samplesort/io, samplesort/params, samplesort/shape.
//
// SAMPLE SORT, merge: merges a few sorted tiles at once, by rank. A record's rank is the sum of the
// numbers of records before it: in its own tile, its position; in every other tile, found by binary
// search. Equal records are in the order of their tiles.
//
// A workgroup has LANES consecutive records of one tile. The searches of a lane in all other tiles
// advance together: all probes of a level are issued before any of them is used.
//
// No workgroup memory. It takes 15 n (log2(tile) + 1) probes, so it suits few tiles only.

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

// The number of records in the other sorted tiles that precede a record, by 15 binary searches side
// by side: in a loop over the tiles each would wait for the one before.
//
// A rank is 0 to params.tile, so the step of 1 comes twice. The second time is written out: as a
// last round of the loop it made a sort of 2^14 `u32` keys 4 % slower on an H200.
fn rank_in_others(own: u32, r: Record) -> u32 {
    let start0 = other_tile(0u, own);
    let start1 = other_tile(1u, own);
    let start2 = other_tile(2u, own);
    let start3 = other_tile(3u, own);
    let start4 = other_tile(4u, own);
    let start5 = other_tile(5u, own);
    let start6 = other_tile(6u, own);
    let start7 = other_tile(7u, own);
    let start8 = other_tile(8u, own);
    let start9 = other_tile(9u, own);
    let start10 = other_tile(10u, own);
    let start11 = other_tile(11u, own);
    let start12 = other_tile(12u, own);
    let start13 = other_tile(13u, own);
    let start14 = other_tile(14u, own);
    var at0 = start0;
    var at1 = start1;
    var at2 = start2;
    var at3 = start3;
    var at4 = start4;
    var at5 = start5;
    var at6 = start6;
    var at7 = start7;
    var at8 = start8;
    var at9 = start9;
    var at10 = start10;
    var at11 = start11;
    var at12 = start12;
    var at13 = start13;
    var at14 = start14;
    for (var step = params.tile / 2u; step > 0u; step /= 2u) {
        let p0 = probe(at0 + step - 1u);
        let p1 = probe(at1 + step - 1u);
        let p2 = probe(at2 + step - 1u);
        let p3 = probe(at3 + step - 1u);
        let p4 = probe(at4 + step - 1u);
        let p5 = probe(at5 + step - 1u);
        let p6 = probe(at6 + step - 1u);
        let p7 = probe(at7 + step - 1u);
        let p8 = probe(at8 + step - 1u);
        let p9 = probe(at9 + step - 1u);
        let p10 = probe(at10 + step - 1u);
        let p11 = probe(at11 + step - 1u);
        let p12 = probe(at12 + step - 1u);
        let p13 = probe(at13 + step - 1u);
        let p14 = probe(at14 + step - 1u);
        at0 += select(0u, step, precedes(p0, r, 0u < own));
        at1 += select(0u, step, precedes(p1, r, 1u < own));
        at2 += select(0u, step, precedes(p2, r, 2u < own));
        at3 += select(0u, step, precedes(p3, r, 3u < own));
        at4 += select(0u, step, precedes(p4, r, 4u < own));
        at5 += select(0u, step, precedes(p5, r, 5u < own));
        at6 += select(0u, step, precedes(p6, r, 6u < own));
        at7 += select(0u, step, precedes(p7, r, 7u < own));
        at8 += select(0u, step, precedes(p8, r, 8u < own));
        at9 += select(0u, step, precedes(p9, r, 9u < own));
        at10 += select(0u, step, precedes(p10, r, 10u < own));
        at11 += select(0u, step, precedes(p11, r, 11u < own));
        at12 += select(0u, step, precedes(p12, r, 12u < own));
        at13 += select(0u, step, precedes(p13, r, 13u < own));
        at14 += select(0u, step, precedes(p14, r, 14u < own));
    }
    {
        let p0 = probe(at0 + 1u - 1u);
        let p1 = probe(at1 + 1u - 1u);
        let p2 = probe(at2 + 1u - 1u);
        let p3 = probe(at3 + 1u - 1u);
        let p4 = probe(at4 + 1u - 1u);
        let p5 = probe(at5 + 1u - 1u);
        let p6 = probe(at6 + 1u - 1u);
        let p7 = probe(at7 + 1u - 1u);
        let p8 = probe(at8 + 1u - 1u);
        let p9 = probe(at9 + 1u - 1u);
        let p10 = probe(at10 + 1u - 1u);
        let p11 = probe(at11 + 1u - 1u);
        let p12 = probe(at12 + 1u - 1u);
        let p13 = probe(at13 + 1u - 1u);
        let p14 = probe(at14 + 1u - 1u);
        at0 += select(0u, 1u, precedes(p0, r, 0u < own));
        at1 += select(0u, 1u, precedes(p1, r, 1u < own));
        at2 += select(0u, 1u, precedes(p2, r, 2u < own));
        at3 += select(0u, 1u, precedes(p3, r, 3u < own));
        at4 += select(0u, 1u, precedes(p4, r, 4u < own));
        at5 += select(0u, 1u, precedes(p5, r, 5u < own));
        at6 += select(0u, 1u, precedes(p6, r, 6u < own));
        at7 += select(0u, 1u, precedes(p7, r, 7u < own));
        at8 += select(0u, 1u, precedes(p8, r, 8u < own));
        at9 += select(0u, 1u, precedes(p9, r, 9u < own));
        at10 += select(0u, 1u, precedes(p10, r, 10u < own));
        at11 += select(0u, 1u, precedes(p11, r, 11u < own));
        at12 += select(0u, 1u, precedes(p12, r, 12u < own));
        at13 += select(0u, 1u, precedes(p13, r, 13u < own));
        at14 += select(0u, 1u, precedes(p14, r, 14u < own));
    }
    return records_from(start0, at0)
        + records_from(start1, at1)
        + records_from(start2, at2)
        + records_from(start3, at3)
        + records_from(start4, at4)
        + records_from(start5, at5)
        + records_from(start6, at6)
        + records_from(start7, at7)
        + records_from(start8, at8)
        + records_from(start9, at9)
        + records_from(start10, at10)
        + records_from(start11, at11)
        + records_from(start12, at12)
        + records_from(start13, at13)
        + records_from(start14, at14);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = (params.first + workgroup_number(group, groups)) * LANES;
    let own = first / params.tile;
    let index = first + lane;
    if index >= params.len {
        return;
    }
    let r = load_source(index);
    store_target(index % params.tile + rank_in_others(own, r), decode_target(r));
}
