// The merges of sort_tile.wgsl, as a loop, so that each pass stands in the program once. On an H200 that
// halves the time of records of two words, which written out are too much for the compiler's registers.

fn merge_blocks(lane: u32, live: bool) {
    // Up to blocks of 1024, bits 9..5 are lines of the warp's own matrix.
    let near = (lane / 32u) * 32u * 33u + lane % 32u;
    let near_mirrored = (lane / 32u) * 32u * 33u + 31u - lane % 32u;
    // Beyond, the top five bits are a record's number in its lane.
    let far = lane + lane / 32u;
    let far_mirrored = LANES - 1u - lane + (LANES - 1u - lane) / 32u;
    let far_stride = LANES + LANES / 32u;
    for (var k = 1u; k <= LOG2_LINES; k++) {
        workgroupBarrier();
        if k <= 5u {
            if live {
                switch k {
                    case 1u: { cross_pass_1(near, near_mirrored, 33u); }
                    case 2u: { cross_pass_2(near, near_mirrored, 33u); }
                    case 3u: { cross_pass_3(near, near_mirrored, 33u); }
                    case 4u: { cross_pass_4(near, near_mirrored, 33u); }
                    default: { cross_pass_5(near, near_mirrored, 33u); }
                }
            }
        } else {
            switch LOG2_LINES - k {
                case 2u: { cross_pass_3(far, far_mirrored, far_stride); }
                case 1u: { cross_pass_4(far, far_mirrored, far_stride); }
                default: { cross_pass_5(far, far_mirrored, far_stride); }
            }
            workgroupBarrier();
            if live { middle_pass(near, near, 33u); }
        }
        workgroupBarrier();
        if live { line_pass(lane); }
    }
    workgroupBarrier();
}
