// SAMPLE SORT: adds up, for each splitter, how many records of the tiles are left of it.
//
// `prefixes`: a row of words a splitter, each of a tile: its own number before, that of it and all
// tiles before it afterwards.
//
// A workgroup of LANES lanes a row. A lane has consecutive tiles, which it adds up first; then it adds
// what is before them.
//
// No bank conflict: see scan.wgsl.

struct Params {
    // Records.
    len: u32,
    // Splitters, and records of a tile.
    rows: u32,
    tile: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> prefixes: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = workgroup_number(group, groups);
    if row >= params.rows {
        return;
    }
    let tiles = (params.len + params.tile - 1u) / params.tile;
    let own = (tiles + LANES - 1u) / LANES;
    let begin = min(lane * own, tiles);
    let end = min(begin + own, tiles);
    let base = row * tiles;
    var sum = 0u;
    for (var i = begin; i < end; i++) {
        sum += prefixes[base + i];
    }
    var before = inclusive_sum(lane, sum) - sum;
    for (var i = begin; i < end; i++) {
        before += prefixes[base + i];
        prefixes[base + i] = before;
    }
}
