// The merges of sort_tile.wgsl, written out. A switch in a loop, as in merge_blocks_looped.wgsl, is no branch in
// llvmpipe: all of its cases take time.

fn merge_blocks(lane: u32, live: bool) {
    // Up to blocks of 1024, bits 9..5 are lines of the warp's own matrix.
    let near = (lane / 32u) * 32u * 33u + lane % 32u;
    let near_mirrored = (lane / 32u) * 32u * 33u + 31u - lane % 32u;
    // Beyond, the top five bits are a record's number in its lane.
    let far = lane + lane / 32u;
    let far_mirrored = LANES - 1u - lane + (LANES - 1u - lane) / 32u;
    let far_stride = LANES + LANES / 32u;
    workgroupBarrier();
    if live {
        cross_pass_1(near, near_mirrored, 33u);
    }
    merge_lines(lane, live);
    if live {
        cross_pass_2(near, near_mirrored, 33u);
    }
    merge_lines(lane, live);
    if live {
        cross_pass_3(near, near_mirrored, 33u);
    }
    merge_lines(lane, live);
    if live {
        cross_pass_4(near, near_mirrored, 33u);
    }
    merge_lines(lane, live);
    if live {
        cross_pass_5(near, near_mirrored, 33u);
    }
    merge_lines(lane, live);
    if TILE >= 8192u {
        cross_pass_3(far, far_mirrored, far_stride);
        merge_middle_and_lines(lane, live);
    }
    if TILE >= 4096u {
        cross_pass_4(far, far_mirrored, far_stride);
        merge_middle_and_lines(lane, live);
    }
    if TILE >= 2048u {
        cross_pass_5(far, far_mirrored, far_stride);
        merge_middle_and_lines(lane, live);
    }
}

fn merge_middle_and_lines(lane: u32, live: bool) {
    let near = (lane / 32u) * 32u * 33u + lane % 32u;
    workgroupBarrier();
    if live {
        middle_pass(near, near, 33u);
    }
    merge_lines(lane, live);
}

fn merge_lines(lane: u32, live: bool) {
    workgroupBarrier();
    if live {
        line_pass(lane);
    }
    workgroupBarrier();
}
