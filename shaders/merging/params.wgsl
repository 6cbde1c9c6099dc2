// Parameters of both kernels of merges; each kernel reads the ones it needs.

struct Params {
    // Records of A and of B; with counts in buffers, the most.
    len_a: u32,
    len_b: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // Tiles of the output, and records of a tile.
    tiles: u32,
    tile: u32,
    // The indices of the first keys, and of the first values.
    first_a: u32,
    first_b: u32,
    first_output: u32,
    values_a: u32,
    values_b: u32,
    values_output: u32,
    // 1 if the numbers of records are in buffers, and the words that hold them.
    is_counted: u32,
    count_a: u32,
    count_b: u32,
    // The map of keys: see lib/key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}
