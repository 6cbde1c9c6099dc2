// Which records are HEADS: those that begin a run. A kernel takes one section.

// ---- of_keys

// The first record, and each whose key differs from that of the record before it: so the runs of
// sorted keys are the maximal ranges of equal ones.

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
        let differs = (own[j].x != last[j].x) | (own[j].y != last[j].y);
        found |= u32((i < params.len) & ((i == 0u) | differs)) << j;
    }
    return found;
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

// Each record whose key equals that of the record before or after it.

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
        let follows = (i > 0u) & (own[j].x == last[j].x) & (own[j].y == last[j].y);
        let precedes = (i < end) & (own[j].x == next[j].x) & (own[j].y == next[j].y);
        found |= u32((i < params.len) & (follows | precedes)) << j;
    }
    return found;
}
