// The parameters of all kernels of the sample sort, and the maps of keys that they describe.

// ---- params

// Parameters of all sample-sort kernels; each kernel reads the ones it needs.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past its last.
    first: u32,
    end: u32,
    // Segments of this level. `whole`: 1 at the first level, whose only segment is all records.
    segments: u32,
    whole: u32,
    // The capacity of the source, and of the target, in records, where children have gaps between
    // them; else 0, and it is `len`.
    source_room: u32,
    target_room: u32,
    // What `table` makes of the counts. Where one record in 2^`interval_log2` is counted, a child
    // gets room for `deviations` standard deviations more.
    stage: u32,
    interval_log2: u32,
    deviations: u32,
    // Approximate records of a child; the next level's slots for the children of one segment.
    child: u32,
    slots: u32,
    // Nodes of a segment's tree, and its bins: a power of two, or 0.
    nodes: u32,
    bins: u32,
    // Words of a segment's splitters and bins.
    stride: u32,
    // Samples of a segment, a power of two.
    samples: u32,
    // The seed of the position of each sample, or counted record, in its interval.
    seed: u32,
    // The output range: the ranks to sort, or with `rank_segments` those of each segment of the
    // user's. These begin at the offsets from word `offsets_first` on.
    rank_begin: u32,
    rank_end: u32,
    rank_segments: u32,
    offsets_first: u32,
    // 1 if items that need no sort are left out of the list.
    skips_done: u32,
    // Records of a tile, to merge or to partition.
    tile: u32,
    // Tiles per workgroup of `count`.
    group_tiles: u32,
    // The largest number of records of an item that fits a tile.
    capacity: u32,
    // Entries of `tile_segments`, and of the list of items.
    tiles: u32,
    items: u32,
    // Words of a splitter; 0 with a custom comparator.
    splitter_words: u32,
    // 1 if there is a list of items to sort.
    is_listed: u32,
    // 1 if items are spread over buckets.
    is_spread: u32,
    // The order-preserving map of records at their read, and at their write.
    source_sign_low: u32,
    source_sign_high: u32,
    source_flip_low: u32,
    source_flip_high: u32,
    target_sign_low: u32,
    target_sign_high: u32,
    target_flip_low: u32,
    target_flip_high: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// The state of an item in its list. EVEN: the samples of its segment were. DONE: it needs no sort.
const EVEN: u32 = 0u;
const DONE: u32 = 1u;
const UNEVEN: u32 = 2u;

// ---- maps

// Maps of keys, at the first read and at the last write: see lib/key_map.wgsl.

// Maps a record that was read to the record to compare.
fn encode_source(r: Record) -> Record {
    let sign = vec2<u32>(params.source_sign_low, params.source_sign_high);
    let flip = vec2<u32>(params.source_flip_low, params.source_flip_high);
    return record_of(encode_key(key_of(r), sign, flip), value_of(r));
}

// Maps a sorted record to the record to write.
fn decode_target(r: Record) -> Record {
    let sign = vec2<u32>(params.target_sign_low, params.target_sign_high);
    let flip = vec2<u32>(params.target_flip_low, params.target_flip_high);
    return record_of(decode_key(key_of(r), sign, flip), value_of(r));
}

// True if the source, or the target, has a map that changes keys. A test for many records at once
// costs nothing.
fn maps_source() -> bool {
    let sign = params.source_sign_low | params.source_sign_high;
    return (sign | params.source_flip_low | params.source_flip_high) != 0u;
}

fn maps_target() -> bool {
    let sign = params.target_sign_low | params.target_sign_high;
    return (sign | params.target_flip_low | params.target_flip_high) != 0u;
}
