// Parameters of all layout kernels except SET_COUNT; each kernel reads the ones it needs.

struct Params {
    // Records, or rows. It comes first, as SET_COUNT writes the first word.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The positions of keys, and of the bits that count: see load.wgsl.
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
    // The number of segments, the first step of a binary search, and the first offset: see
    // load.wgsl.
    segments: u32,
    segments_power: u32,
    offsets_first: u32,
    // Words of a sorted record, to decode; or of a composed record's key, to append a field.
    source_stride: u32,
    // Words of a row to move, or of a composed record; or the number of words to clear.
    words: u32,
    // The first words of the rows to move.
    source_first: u32,
    destination_first: u32,
    // The rows at the source, and the first word of their order.
    rows: u32,
    order_first: u32,
    // Counting sort: possible keys; tables. `unused`: 32 minus the bits of a key that count.
    bins: u32,
    unused: u32,
    tables: u32,
    // Runs: tiles of records, and the most runs that are written; or the bits of an index, which
    // do not count.
    tiles: u32,
    room: u32,
    // Searches: needles, and whether equal records are before a needle's place. For cells: one more
    // than the last one, the distance of two needles, and the number of records of a workgroup's
    // cells from which on these are searched, and not read.
    needles: u32,
    is_upper: u32,
    cells: u32,
    cell_step: u32,
    searched_from: u32,
    // The second field of a key of several: as the positions and the map of keys, and 32 minus its
    // bits.
    second_first: u32,
    second_stride: u32,
    second_shift: u32,
    second_unused: u32,
    second_sign: u32,
    second_flip: u32,
    // The map of the keys that runs write and searches look for. That of the keys that are read is
    // another one if these are encoded.
    user_sign_low: u32,
    user_sign_high: u32,
    user_flip_low: u32,
    user_flip_high: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}

fn user_sign() -> vec2<u32> {
    return vec2<u32>(params.user_sign_low, params.user_sign_high);
}

fn user_flip() -> vec2<u32> {
    return vec2<u32>(params.user_flip_low, params.user_flip_high);
}
