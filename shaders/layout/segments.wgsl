// SEGMENTS: contiguous parts of the input, sorted separately.
//
// `offsets`: from word offsets_first on, the first record of each of params.segments segments,
// ascending. If they do not ascend, a search still ends, with some number up to params.segments.
// params.segments_power: the largest power of two up to the number of segments, or 0.

@group(0) @binding(4) var<storage, read> offsets: array<u32>;

// The number of segments that begin at record i or before it.
fn segment_of(i: u32) -> u32 {
    var begun = 0u;
    for (var step = params.segments_power; step > 0u; step /= 2u) {
        let next = begun + step;
        if next <= params.segments && offsets[params.offsets_first + next - 1u] <= i {
            begun = next;
        }
    }
    return begun;
}
