// Parameters of the top k of segments.

struct Params {
    // Records of all segments.
    len: u32,
    // The first row of this dispatch, and one past the last: a row for each segment.
    first: u32,
    end: u32,
    // The positions of keys: see layout/load.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    key_low: u32,
    key_up: u32,
    // The map of keys: see lib/key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
    // The number of segments, and the first of their offsets, or their length: see segments.wgsl.
    segments: u32,
    offsets_first: u32,
    segment_len: u32,
    // Records of a row.
    k: u32,
    // The most records that are sorted, of which the first k are written: k to CELLS.
    room: u32,
    // The index of the first key of the first row, and of its first index.
    output_first: u32,
    indices_first: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}
