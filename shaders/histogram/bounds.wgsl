// The bounds of bins, as they lie and mapped. A kernel takes the section for the width of its keys.

// ---- keys

// BOUNDS of 8, 16 or 32 bits, contiguous and packed as keys are.
//
// `bounds`: from key number bounds_first on, params.bounds keys.

@group(0) @binding(3) var<storage, read> bounds: array<u32>;

fn bound_at(i: u32) -> vec2<u32> {
    let at = params.bounds_first + i;
    let bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * bits;
    let raw = (bounds[at >> params.key_shift] >> shift) << params.key_up;
    return vec2<u32>(encode_key(raw, key_sign(), key_flip()), 0u);
}

// ---- wide_keys

// BOUNDS of 64 bits.
//
// `bounds`: from key number bounds_first on, params.bounds keys.

@group(0) @binding(3) var<storage, read> bounds: array<u32>;

fn bound_at(i: u32) -> vec2<u32> {
    let at = 2u * (params.bounds_first + i);
    return encode_key(vec2<u32>(bounds[at], bounds[at + 1u]), key_sign(), key_flip());
}
