// Many arrays, one behind the other: a code is sorted by its array's number first, which is its upper word.
//
// `offsets`: where each array begins, in ascending order. (Of others, too, a search finds some number, and the sort some
// order.)

@group(0) @binding(5) var<storage, read> offsets: array<u32>;

// Arrays that begin at this record, or before.
fn segment_of(i: u32) -> u32 {
    var begun = 0u;
    for (var step = params.segments_power; step > 0u; step /= 2u) {
        let next = begun + step;
        if next <= params.segments && offsets[next - 1u] <= i {
            begun = next;
        }
    }
    return begun;
}

fn store_code(i: u32, code: Key) {
    destination[2u * i] = code;
    destination[2u * i + 1u] = segment_of(i);
}

fn store_padding(i: u32) {
    destination[2u * i] = LAST;
    destination[2u * i + 1u] = 0xffffffffu;
}
