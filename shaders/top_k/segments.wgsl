// The segments: the first record of one, and the number of its records, at most LONGEST. Whatever
// the offsets are, it is within all records.
//
// If params.segment_len is not 0, they are rows of so many records, one after the other, and
// nothing is read. Otherwise
//
// `offsets`: from word offsets_first on, the first record of each of params.segments segments. One
// ends where the next begins. If the next begins before it, it is empty. Of a longer one, the first
// LONGEST records count.

@group(0) @binding(4) var<storage, read> offsets: array<u32>;

fn segment_at(row: u32) -> vec2<u32> {
    var segment = vec2<u32>(row * params.segment_len, params.segment_len);
    if params.segment_len == 0u {
        let first = min(offsets[params.offsets_first + row], params.len);
        var end = params.len;
        if row + 1u < params.segments {
            end = min(offsets[params.offsets_first + row + 1u], params.len);
        }
        segment = vec2<u32>(first, min(max(end, first) - first, LONGEST));
    }
    return segment;
}
