// Many arrays, one behind the other.
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
