// The tiles that are sorted first: TILE consecutive records of the input each.

struct Params {
    // Records.
    len: u32,
    // The first tile of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Children: where tiles are ranked.
    children: u32,
    // Arrays, and the power of two that is this or less: see rows/segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
