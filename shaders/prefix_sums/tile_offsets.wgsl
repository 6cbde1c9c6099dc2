// Uses lib/bank_matrix, lib/workgroup, prefix_sums/values.
//
// Colored prefix sums, phase 2: from the tiles' sums to their offsets (paper, Appendix A).
//
// One workgroup of 256 lanes, 8 warps, replaces the rows of the d x P matrix of sums with their
// exclusive prefix sums. Each warp processes one row at a time: lane t adds up `rounds` consecutive
// tiles, from t * rounds on. Then one lane per color scans the sums of lanes 0, 1, 2, ... Then each
// lane scans its tiles again, beginning with the sum of the lanes before it.
//
// No bank conflict: the lanes of a warp access one padded line, at consecutive positions; the lanes
// of the scan access a line each, in banks color + i.

@group(0) @binding(1) var<storage, read_write> tile_sums: array<Value>;

const LANES: u32 = 256u;

// A line per color, a sum per lane.
var<workgroup> lane_sums: array<Value, SUM_CELLS>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let t = lane % W;
    // The same number of iterations in every lane: after a loop that lanes leave one by one,
    // Direct3D's older compiler, FXC, treats every barrier as divergent.
    for (var first = 0u; first < params.colors; first += LANES / W) {
        let color = first + lane / W;
        var sum = ZERO;
        for (var j = 0u; j < params.rounds; j++) {
            if color < params.colors && t * params.rounds + j < params.tiles {
                sum += tile_sums[(color * params.rounds + j) * W + t];
            }
        }
        if color < params.colors {
            lane_sums[padded(color, t)] = sum;
        }
    }
    workgroupBarrier();

    if lane < params.colors {
        var offset = ZERO;
        for (var i = 0u; i < W; i++) {
            let sum = lane_sums[padded(lane, i)];
            lane_sums[padded(lane, i)] = offset;
            offset += sum;
        }
    }
    workgroupBarrier();

    for (var first = 0u; first < params.colors; first += LANES / W) {
        let color = first + lane / W;
        var offset = ZERO;
        if color < params.colors {
            offset = lane_sums[padded(color, t)];
        }
        for (var j = 0u; j < params.rounds; j++) {
            if color < params.colors && t * params.rounds + j < params.tiles {
                let index = (color * params.rounds + j) * W + t;
                let sum = tile_sums[index];
                tile_sums[index] = offset;
                offset += sum;
            }
        }
    }
}
