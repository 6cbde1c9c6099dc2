// COUNTING SORT of keys of 8 or 16 bits, second phase: where the copies of each key end.
//
// `counts`: how many there are of each key that there can be, in order. `places`: how many of it and of those before it.
//
// A workgroup of LANES lanes for as many keys; it adds up all that are before them itself, a LANES-th a lane.
//
// No bank conflict: see scan.wgsl.

struct Params {
    // Records.
    len: u32,
    // Keys that there can be, a multiple of LANES.
    most_keys: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = workgroup_number(group, groups) * LANES;
    if first >= params.most_keys {
        return;
    }
    var sum = 0u;
    for (var i = lane; i < first; i += LANES) {
        sum += counts[i];
    }
    sum = inclusive_sum(lane, sum);
    let before = lane_sums[LANES - 1u];
    places[first + lane] = before + inclusive_sum(lane, counts[first + lane]);
}
