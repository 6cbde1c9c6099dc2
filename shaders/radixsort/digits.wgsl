// Uses layout/load, lib/key_map, lib/scan, lib/workgroup, radixsort/records.
//
// RADIX SORT, the first two phases of a pass: the digits of each tile, and of the tiles before it.
// A kernel takes the section of its name.

// ---- count_digits

// RADIX SORT, first phase of a pass: how often each digit occurs in each tile.
//
// `source`: the keys. `counts`: the count of digit d in tile t at d * params.tiles + t.
//
// A lane reads every LANES-th key of a tile. There are four counts of each digit, one for every
// fourth lane, since additions of many lanes to one word are serialized.
//
// Bank conflicts depend on the keys, whose digits select the counts.

@group(0) @binding(5) var<storage, read_write> counts: array<u32>;

const EACH: u32 = TILE / LANES;

// Counts of each digit.
const COPIES: u32 = 4u;

var<workgroup> histogram: array<atomic<u32>, COPIES * DIGITS>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    let start = tile * TILE;
    if tile >= params.end || start >= params.len {
        return;
    }
    for (var i = 0u; i < COPIES; i++) {
        atomicStore(&histogram[i * DIGITS + lane], 0u);
    }
    var digits: array<u32, EACH>;
    for (var j = 0u; j < EACH; j++) {
        digits[j] = digit_of(key_at(min(start + j * LANES + lane, params.len - 1u)));
    }
    workgroupBarrier();
    for (var j = 0u; j < EACH; j++) {
        if start + j * LANES + lane < params.len {
            atomicAdd(&histogram[digits[j] + lane % COPIES * DIGITS], 1u);
        }
    }
    workgroupBarrier();
    var count = 0u;
    for (var i = 0u; i < COPIES; i++) {
        count += atomicLoad(&histogram[i * DIGITS + lane]);
    }
    counts[lane * params.tiles + tile] = count;
}

// ---- digit_offsets

// RADIX SORT, second phase of a pass: from the counts of each digit to its records in the tiles
// before each.
//
// `counts`: see `count_digits`. `totals`: the records of each digit.
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
