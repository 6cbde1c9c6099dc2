// What all kernels of the sample sort are told; a kernel reads what it needs.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past its last.
    first: u32,
    end: u32,
    // Segments that this level splits; and whether it is the first level, whose only one is all.
    segments: u32,
    whole: u32,
    // Records of a child, about; slots of the table of segments for each segment.
    child: u32,
    slots: u32,
    // Nodes of a segment's tree.
    nodes: u32,
    // Samples of a segment, a power of two.
    samples: u32,
    // Where in its interval each sample is taken.
    seed: u32,
    // The ranks that are wanted in order.
    rank_begin: u32,
    rank_end: u32,
    // Whether what is in order already need not be looked at.
    skips_done: u32,
    // The records of a tile, where sorted tiles are merged; of those that are to be partitioned.
    tile: u32,
    // The tiles that a workgroup counts.
    group_tiles: u32,
    // The records that an item may have.
    capacity: u32,
    // Words of a splitter; 0 where rows are compared.
    splitter_words: u32,
    // Whether there is a list of what is to be sorted.
    is_listed: u32,
    // The order-preserving map of the records that are read, and of those that are written.
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

// A workgroup's number in a dispatch of two dimensions.
fn workgroup_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return params.first + group.y * groups.x + group.x;
}
