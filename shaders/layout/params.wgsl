// Parameters of all layout kernels except SET_COUNT; each kernel reads the ones it needs.

struct Params {
    // Records, or rows. It comes first, as SET_COUNT writes the first word.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The positions of keys: see load.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // The map of keys: see lib/key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
    // The number of segments, the first step of a binary search, and the first offset: see
    // segments.wgsl.
    segments: u32,
    segments_power: u32,
    offsets_first: u32,
    // Words of a sorted record, to decode.
    source_stride: u32,
    // Words of a row to move, or the number of words to clear.
    words: u32,
    // The first words of the rows to move.
    source_first: u32,
    destination_first: u32,
    // Counting sort: possible keys; 32 minus the bits of a key; tables.
    bins: u32,
    unused: u32,
    tables: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}
