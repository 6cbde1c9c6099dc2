// Uses layout/params, lib/key_map, lib/scan, lib/workgroup.
//
// COUNTING SORT of keys of 8 or 16 bits, second phase: prefix sums within each workgroup's bins.
//
// `counts`: histograms of all possible keys, by their bits, in several tables. `sums`: the
// inclusive prefix sums of one workgroup's bins, in the order of the sort.
//
// A workgroup of LANES lanes has 8 consecutive bins per lane.
//
// No bank conflict: see scan.wgsl.

@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let bins = 1u << (32u - params.unused);
    let group_first = workgroup_number(group, groups) * LANES * 8u;
    if group_first >= bins {
        return;
    }
    let first = group_first + lane * 8u;
    var count: array<u32, 8>;
    var sum = 0u;
    for (var j = 0u; j < 8u; j++) {
        count[j] = 0u;
        if first + j < bins {
            let ordered = (first + j) << params.unused;
            let key = decode_key(ordered, key_sign(), key_flip()) >> params.unused;
            for (var table = 0u; table < params.tables; table++) {
                count[j] += counts[table * bins + key];
            }
        }
        sum += count[j];
    }
    var before = exclusive_sum(lane, sum);
    for (var j = 0u; j < 8u; j++) {
        before += count[j];
        if first + j < bins {
            sums[first + j] = before;
        }
    }
}
