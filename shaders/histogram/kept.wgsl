// Mapped bounds in workgroup memory. A kernel takes the section for the width of its keys.

// ---- one_word

var<workgroup> kept_low: array<u32, BOUNDS>;

fn keep_bound(i: u32, bound: vec2<u32>) {
    kept_low[i] = bound.x;
}

fn bound(i: u32) -> vec2<u32> {
    return vec2<u32>(kept_low[i], 0u);
}

// ---- two_words

var<workgroup> kept_low: array<u32, BOUNDS>;
var<workgroup> kept_high: array<u32, BOUNDS>;

fn keep_bound(i: u32, bound: vec2<u32>) {
    kept_low[i] = bound.x;
    kept_high[i] = bound.y;
}

fn bound(i: u32) -> vec2<u32> {
    return vec2<u32>(kept_low[i], kept_high[i]);
}
