// Uses layout/params, lib/scan, lib/workgroup.
//
// COUNTING SORT of keys of 16 bits, third phase: the end of each key's copies.
//
// `sums`: see scan_counts.wgsl. `ends`: the inclusive prefix sums of all bins.
//
// A workgroup of LANES lanes has 8 bins per lane, LANES apart. It adds up the totals of the
// workgroups before it, one per lane.
//
// No bank conflict: see scan.wgsl.

@group(0) @binding(1) var<storage, read> sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> ends: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = workgroup_number(group, groups) * LANES * 8u;
    if first >= params.bins {
        return;
    }
    var sum = 0u;
    // There are fewer workgroups than lanes, so all are before the last lane.
    let end = (lane + 1u) * LANES * 8u;
    if end <= first {
        sum = sums[end - 1u];
    }
    _ = exclusive_sum(lane, sum);
    let before = scan_load(scan_cell(LANES - 1u));
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES + lane;
        if i < params.bins {
            ends[i] = before + sums[i];
        }
    }
}
