// Many arrays, one behind the other.
//
// `offsets`: where each array begins, in ascending order. (Of others, too, a search finds some number, greater ones for later records,
// and the sort some order.)

@group(0) @binding(11) var<storage, read> offsets: array<u32>;

// Where a search is that has found so many arrays begun, after a step of so many more.
fn arrays_begun(begun: u32, step: u32, i: u32) -> u32 {
    let next = begun + step;
    if next <= params.segments && offsets[next - 1u] <= i {
        return next;
    }
    return begun;
}

// Arrays that begin at this record, or before.
fn array_of(i: u32) -> u32 {
    var begun = 0u;
    for (var step = params.segments_power; step > 0u; step /= 2u) {
        begun = arrays_begun(begun, step, i);
    }
    return begun;
}
