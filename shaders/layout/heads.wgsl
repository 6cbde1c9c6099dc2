// Which records are HEADS: those that begin a run. A kernel takes one section; with `of_keys` or
// `of_rows` it also takes `in_segments`.

// ---- of_keys

// The first record, and each whose key differs from that of the record before it: so the runs of
// sorted keys are the maximal ranges of equal ones. With segments, also the first record of each.

// The heads among 8 records, LANES apart from number `first` on: a bit for each.
fn heads_from(first: u32) -> u32 {
    // All keys are read first, so that their loads are under way together.
    var own: array<vec2<u32>, 8>;
    var last: array<vec2<u32>, 8>;
    for (var j = 0u; j < 8u; j++) {
        let i = min(first + j * LANES, max(params.len, 1u) - 1u);
        own[j] = raw_key(i);
        last[j] = raw_key(max(i, 1u) - 1u);
    }
    var found = 0u;
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES;
        var is_head = (i == 0u) | (own[j].x != last[j].x) | (own[j].y != last[j].y);
        if !is_head && i < params.len {
            is_head = begins_segment(i);
        }
        found |= u32((i < params.len) & is_head) << j;
    }
    return found;
}

// ---- in_segments

// Whether a record, not the first one, is the first of its segment. Without segments it is false
// for all.
fn begins_segment(i: u32) -> bool {
    return segment_of(i) != segment_of(i - 1u);
}

// ---- of_flags

// Each record whose key, a flag, is not 0.

// The heads among 8 records, LANES apart from number `first` on: a bit for each.
fn heads_from(first: u32) -> u32 {
    var flags: array<vec2<u32>, 8>;
    for (var j = 0u; j < 8u; j++) {
        flags[j] = raw_key(min(first + j * LANES, max(params.len, 1u) - 1u));
    }
    var found = 0u;
    for (var j = 0u; j < 8u; j++) {
        let is_set = (flags[j].x | flags[j].y) != 0u;
        found |= u32((first + j * LANES < params.len) & is_set) << j;
    }
    return found;
}

// ---- of_ties

// Each record whose key equals that of the record before or after it, but for the lowest bits that
// params.room has.

// The heads among 8 records, LANES apart from number `first` on: a bit for each.
fn heads_from(first: u32) -> u32 {
    // All keys are read first, so that their loads are under way together.
    var own: array<vec2<u32>, 8>;
    var last: array<vec2<u32>, 8>;
    var next: array<vec2<u32>, 8>;
    let end = max(params.len, 1u) - 1u;
    for (var j = 0u; j < 8u; j++) {
        let i = min(first + j * LANES, end);
        own[j] = raw_key(i);
        last[j] = raw_key(max(i, 1u) - 1u);
        next[j] = raw_key(min(i + 1u, end));
    }
    var found = 0u;
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES;
        let before = ((own[j].x ^ last[j].x) & ~params.room) | (own[j].y ^ last[j].y);
        let after = ((own[j].x ^ next[j].x) & ~params.room) | (own[j].y ^ next[j].y);
        let follows = (i > 0u) & (before == 0u);
        let precedes = (i < end) & (after == 0u);
        found |= u32((i < params.len) & (follows | precedes)) << j;
    }
    return found;
}

// ---- of_rows

// The first record, and each before or after whose row the comparator puts the row before it; with
// segments, also the first record of each.

@group(0) @binding(5) var<storage, read> order: array<u32>;
@group(0) @binding(10) var<storage, read> compared_rows: array<user_row>;

// The row of a rank. Clamped: the user may overwrite the indices between two submissions.
fn row_of(rank: u32) -> u32 {
    return min(order[rank], params.rows - 1u);
}

// The heads among 8 records, LANES apart from number `first` on: a bit for each.
fn heads_from(first: u32) -> u32 {
    var found = 0u;
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES;
        if i < params.len {
            var is_head = i == 0u;
            if !is_head {
                let own = row_of(i);
                let last = row_of(i - 1u);
                let follows = user_precedes(compared_rows[last], compared_rows[own]);
                let precedes = user_precedes(compared_rows[own], compared_rows[last]);
                is_head = follows || precedes || begins_segment(i);
            }
            found |= u32(is_head) << j;
        }
    }
    return found;
}

// ---- of_predicate

// Each record whose row the predicate keeps.

@group(0) @binding(10) var<storage, read> tested_rows: array<user_row>;

// The heads among 8 records, LANES apart from number `first` on: a bit for each.
fn heads_from(first: u32) -> u32 {
    var found = 0u;
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES;
        if i < params.len {
            found |= u32(user_keeps(tested_rows[i])) << j;
        }
    }
    return found;
}
