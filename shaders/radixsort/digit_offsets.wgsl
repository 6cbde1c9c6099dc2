// Uses lib/scan, lib/workgroup, radixsort/params.
//
// RADIX SORT, second phase of a pass: from the counts of each digit to its records in the tiles
// before each.
//
// `counts`: see count_digits.wgsl. `totals`: the records of each digit.
//
// A workgroup has a digit, and each lane a row of consecutive tiles.
//
// No bank conflict: see scan.wgsl.

@group(0) @binding(5) var<storage, read_write> counts: array<u32>;
@group(0) @binding(6) var<storage, read_write> totals: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let digit = params.first + workgroup_number(group, groups);
    if digit >= params.end {
        return;
    }
    let own_tiles = params.len / params.tile + u32(params.len % params.tile > 0u);
    let tiles = min(own_tiles, params.tiles);
    let each = (tiles + LANES - 1u) / LANES;
    let first = min(lane * each, tiles);
    let end = min(first + each, tiles);
    let row = digit * params.tiles;
    var sum = 0u;
    for (var tile = first; tile < end; tile++) {
        sum += counts[row + tile];
    }
    var before = exclusive_sum(lane, sum);
    if lane == LANES - 1u {
        totals[digit] = before + sum;
    }
    for (var tile = first; tile < end; tile++) {
        let own = counts[row + tile];
        counts[row + tile] = before;
        before += own;
    }
}
