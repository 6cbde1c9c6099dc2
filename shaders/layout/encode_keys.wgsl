// ENCODE: composes the records of a sort of words from the keys of the caller.
//
// `source`: see load_keys.wgsl, load_wide_keys.wgsl. `destination`, `values`: the composed records,
// compared as unsigned words, the value last if there is any:
//
//     keys of    segments  destination               values
//     8 to 32    no        key                       index
//     64         no        key (low, high word)      index
//     8 to 32    yes       (key, segment)            index
//     64         yes       (high word, segment)      low word
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // Where keys are: see load_keys.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // How they are mapped: see key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
    // The number of segments, and the first step of a binary search: see segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        store(i, load_key(i));
    }
}
