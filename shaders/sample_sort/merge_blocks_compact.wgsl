// The merges of sort_tile.wgsl as two loops, whose first passes have one load and one store for all networks.
// llvmpipe, for which an access is a loop over the lanes, compiles this in seconds; merge_blocks.wgsl takes
// ten times as long, and with records of two words half a minute a kernel.

fn merge_blocks(lane: u32, live: bool) {
    // Up to blocks of 1024, bits 9..5 are lines of the warp's own matrix.
    let near = (lane / 32u) * 32u * 33u + lane % 32u;
    let near_mirrored = (lane / 32u) * 32u * 33u + 31u - lane % 32u;
    // Beyond, the top five bits are a record's number in its lane.
    let far = lane + lane / 32u;
    let far_mirrored = LANES - 1u - lane + (LANES - 1u - lane) / 32u;
    let far_stride = LANES + LANES / 32u;
    var r: array<Record, 32>;
    for (var k = 1u; k <= 5u; k++) {
        workgroupBarrier();
        load_window(&r, near, near_mirrored, 33u, 1u << (k - 1u));
        switch k {
            case 1u: { cross_1(&r); }
            case 2u: { cross_2(&r); }
            case 3u: { cross_3(&r); }
            case 4u: { cross_4(&r); }
            default: { cross_5(&r); }
        }
        store_window(&r, near, near_mirrored, 33u, 1u << (k - 1u));
        workgroupBarrier();
        line_pass(lane);
    }
    for (var k = 6u; k <= LOG2_LINES; k++) {
        let half = 16u >> (LOG2_LINES - k);
        workgroupBarrier();
        load_window(&r, far, far_mirrored, far_stride, half);
        switch LOG2_LINES - k {
            case 2u: { cross_3(&r); }
            case 1u: { cross_4(&r); }
            default: { cross_5(&r); }
        }
        store_window(&r, far, far_mirrored, far_stride, half);
        workgroupBarrier();
        middle_pass(near, near, 33u);
        workgroupBarrier();
        line_pass(lane);
    }
    workgroupBarrier();
}
