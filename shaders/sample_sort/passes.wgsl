// The passes of sort_tile.wgsl, a function each. Each has registers of its own: what is not needed between two barriers need not be kept.

fn line_pass(lane: u32) {
    var r: array<Record, 32>;
    load_line(&r, lane);
    merge_registers(&r);
    store_line(&r, lane);
}

fn cross_pass_1(base: u32, mirrored: u32, stride: u32) {
    var r: array<Record, 32>;
    load_window(&r, base, mirrored, stride, 1u);
    cross_1(&r);
    store_window(&r, base, mirrored, stride, 1u);
}

fn cross_pass_2(base: u32, mirrored: u32, stride: u32) {
    var r: array<Record, 32>;
    load_window(&r, base, mirrored, stride, 2u);
    cross_2(&r);
    store_window(&r, base, mirrored, stride, 2u);
}

fn cross_pass_3(base: u32, mirrored: u32, stride: u32) {
    var r: array<Record, 32>;
    load_window(&r, base, mirrored, stride, 4u);
    cross_3(&r);
    store_window(&r, base, mirrored, stride, 4u);
}

fn cross_pass_4(base: u32, mirrored: u32, stride: u32) {
    var r: array<Record, 32>;
    load_window(&r, base, mirrored, stride, 8u);
    cross_4(&r);
    store_window(&r, base, mirrored, stride, 8u);
}

fn cross_pass_5(base: u32, mirrored: u32, stride: u32) {
    var r: array<Record, 32>;
    load_window(&r, base, mirrored, stride, 16u);
    cross_5(&r);
    store_window(&r, base, mirrored, stride, 16u);
}

fn middle_pass(base: u32, mirrored: u32, stride: u32) {
    var r: array<Record, 32>;
    load_window(&r, base, mirrored, stride, 0u);
    merge_middle(&r);
    store_window(&r, base, mirrored, stride, 0u);
}
