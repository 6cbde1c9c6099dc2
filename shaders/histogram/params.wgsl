// Parameters of a histogram.

struct Params {
    // Keys. It comes first, as SET_COUNT writes the first word.
    len: u32,
    // The first tile of this dispatch, and one past the last.
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
    // Bins; bounds, at least one; and the largest power of two up to their number.
    bins: u32,
    bounds: u32,
    power: u32,
    // The index of the first bound, and the first word of the counts.
    bounds_first: u32,
    counts_first: u32,
    // Counts in workgroup memory: how many copies, a power of two, and the distance of two copies.
    copies: u32,
    copy_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}
