// The place of a needle among sorted records: the number of records that precede it, or with
// params.is_upper, that it does not precede. If the records are not in order, some number up to
// theirs.
//
// `places`: from word destination_first on, that of each of params.needles.

@group(0) @binding(2) var<storage, read_write> places: array<u32>;

// Whether a record with this key is before the needle's place.
fn is_key_before(key: vec2<u32>, needle: vec2<u32>) -> bool {
    return select(precedes(key, needle), !precedes(needle, key), params.is_upper != 0u);
}

fn is_before(i: u32, needle: vec2<u32>) -> bool {
    return is_key_before(load_key(i), needle);
}

// 1 if the range has `step` records from `place` on and the last of them, so all of them, are
// before the needle's place; else 0.
fn is_passed(place: u32, step: u32, end: u32, needle: vec2<u32>) -> u32 {
    let is_there = step <= end - place;
    let next = select(place, place + step, is_there);
    return u32(is_there & is_before(max(next, 1u) - 1u, needle));
}

fn store_place(i: u32, place: u32) {
    if i < params.needles {
        // After all keys in ascending order, and before them in descending order.
        let beyond = select(0u, params.len, params.user_flip_low == 0u);
        places[params.destination_first + i] = select(place, beyond, is_beyond(i));
    }
}

// Needles after the last one are searched for as that one is, and not stored.
fn needle_or_last(i: u32) -> vec2<u32> {
    return needle(min(i, params.needles - 1u));
}

// Stores the place of needle i among the records from range.x to range.y. A step compares three
// records, whose loads are under way together, and a quarter of the range is left.
fn search(i: u32, wanted: vec2<u32>, range: vec2<u32>) {
    let end = range.y;
    var place = range.x;
    let power = firstLeadingBit(max(end - place, 1u)) / 2u;
    for (var step = 1u << (2u * power); step > 0u; step /= 4u) {
        let passed = is_passed(place, step, end, wanted)
            + is_passed(place, 2u * step, end, wanted)
            + is_passed(place, 3u * step, end, wanted);
        place += passed * step;
    }
    store_place(i, place);
}
