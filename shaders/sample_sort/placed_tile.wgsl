// SAMPLE SORT of up to a tile, whose keys lie anywhere, or which rows go with: sorts the keys, puts them back, and moves the
// rows. It is this dispatch and no other, and takes no scratch memory.
//
// One workgroup of LANES = TILE / 32 lanes.
//
// No bank conflict: see sort_tile.wgsl and, of keys that share words, store_packed.wgsl.

struct Params {
    // Records.
    len: u32,
    // The first key's place, the distance of the others, and the logarithm of how many share a word.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // 1, if keys are put back.
    puts_keys: u32,
    // Where rows go with the keys: their first word, and the words of each, or 0 where it is indices that are wanted.
    row_first: u32,
    row_words: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let count = min(params.len, TILE);
    if count == 0u {
        return;
    }
    var r: array<Record, 32>;
    load_tile(&r, lane, 0u, count);
    sort_tile(&r, lane, count);
    // What other lanes have read is written from here on.
    storageBarrier();
    store_sorted(lane, count);
}
