// What all kernels around a sort are told, but for SET_COUNT; a kernel reads what it needs.

struct Params {
    // Records, or rows. (The first: it is what SET_COUNT writes.)
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // Where keys are, and where they end: see load_keys.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // How keys are mapped: see key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
    // The number of segments, the first step of a binary search, and the first offset: see
    // segments.wgsl.
    segments: u32,
    segments_power: u32,
    offsets_first: u32,
    // Words of a sorted record that is decoded.
    source_stride: u32,
    // Words of a row that is moved, or all that are cleared.
    words: u32,
    // Where rows that are moved begin.
    source_first: u32,
    destination_first: u32,
    // Counting sort: keys that there can be; 32 less the bits of a key; and tables.
    bins: u32,
    unused: u32,
    tables: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
