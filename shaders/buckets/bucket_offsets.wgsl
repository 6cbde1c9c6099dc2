// Uses lib/bank_matrix, lib/workgroup.
//
// The offset of each run's part of each bucket (paper, section 3.2, and Algorithm 6, last loop).
//
// One workgroup of 256 lanes per bucket b. Over the runs k, with first[k] = ranks[b][k] and
// last[k] = ranks[b+1][k]:
//
//   separators[b][k] = (sum over all runs of first - start)
//                    + (sum over runs before k of last - first)
//
// and separators[b][runs] is the end of the bucket. The first sum is the number of keys in earlier
// buckets, so no scan over the buckets is needed.
//
// No bank conflict: the scan (Hillis & Steele) reads consecutive cells, lane and lane - distance.

struct Params {
    // The number of runs, and the keys of a run.
    runs: u32,
    run: u32,
    buckets: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ranks: array<u32>;
@group(0) @binding(2) var<storage, read_write> separators: array<u32>;

const LANES: u32 = 256u;

// Two halves, a double buffer.
var<workgroup> sums: array<u32, 2u * LANES>;

// The sum of `value` over the lanes up to this one. Ends with a barrier: sums[2 * LANES - 1] holds
// the sum over all lanes until the next call.
fn inclusive_sum(value: u32, lane: u32) -> u32 {
    var sum = value;
    var half = LANES;
    for (var distance = 1u; distance < LANES; distance *= 2u) {
        sums[half + lane] = sum;
        workgroupBarrier();
        if lane >= distance {
            sum += sums[half + lane - distance];
        }
        half = LANES - half;
    }
    // Eight rounds: the last one wrote the lower half, and the upper half is free by now.
    sums[LANES + lane] = sum;
    workgroupBarrier();
    return sum;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let bucket = workgroup_number(group, groups);
    if bucket >= params.buckets {
        return;
    }
    let row = bucket * params.runs;
    let next_row = row + params.runs;

    // The same number of iterations in every lane: after a loop that lanes leave one by one,
    // Direct3D's older compiler, FXC, treats every barrier as divergent.
    var before = 0u;
    for (var base = 0u; base < params.runs; base += LANES) {
        let k = base + lane;
        if k < params.runs {
            before += ranks[row + k] - k * params.run;
        }
    }
    _ = inclusive_sum(before, lane);
    var offset = sums[2u * LANES - 1u];
    workgroupBarrier();

    let out = bucket * (params.runs + 1u);
    for (var base = 0u; base < params.runs; base += LANES) {
        let k = base + lane;
        var count = 0u;
        if k < params.runs {
            count = ranks[next_row + k] - ranks[row + k];
        }
        let sum = inclusive_sum(count, lane);
        if k < params.runs {
            separators[out + k] = offset + sum - count;
        }
        offset += sums[2u * LANES - 1u];
        workgroupBarrier();
    }
    if lane == 0u {
        separators[out + params.runs] = offset;
    }
}
