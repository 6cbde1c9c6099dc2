// Parameters of all radix sort kernels; each kernel reads the ones it needs.

struct Params {
    // Records. It comes first, as SET_COUNT writes the first word.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The most tiles: the distance of two digits in `counts`; and the records of a tile.
    tiles: u32,
    tile: u32,
    // The digit of a key: of its bits, those that `flip` has are flipped.
    flip: u32,
    shift: u32,
    mask: u32,
    // The digit of the second pass, where a record is one word between the passes.
    next_shift: u32,
    next_mask: u32,
    // The positions and the map of the user's keys: see layout/load.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    key_low: u32,
    key_up: u32,
    sign_low: u32,
    flip_low: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, 0u);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, 0u);
}

// The possible digits, and the lanes of a workgroup.
const DIGITS: u32 = LANES;

fn digit_of(key: u32) -> u32 {
    return ((key ^ params.flip) >> params.shift) & params.mask & (DIGITS - 1u);
}
