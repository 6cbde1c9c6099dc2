// Uses lib/bank_matrix, lib/workgroup, prefix_sums/lane_sums, prefix_sums/values.
//
// Colored prefix sums, phase 1: the sums of each tile, one per color (paper, introduction and
// Appendix A).
//
// One workgroup of 32 lanes per tile of `tile` consecutive elements, a whole number of pages of
// 1024; the last tile may be shorter. Lane t adds elements t, t + 32, t + 64, ... of its tile, in
// this order, to its own sums, one per color. Then one lane per color adds up the sums of lanes 0,
// 1, 2, ...
//
//   values[i], colors[i] for i in the tile -> tile_sums[tile_cell(color, tile)]
//
// Bank conflicts: only in the sums of the lanes, see lane_sums.wgsl.

@group(0) @binding(1) var<storage, read> values: array<Value>;
@group(0) @binding(2) var<storage, read> colors: array<u32>;
@group(0) @binding(3) var<storage, read_write> tile_sums: array<Value>;

@compute @workgroup_size(32)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let start = number * params.tile;
    let end = start + min(params.tile, params.len - start);
    for (var color = 0u; color < params.colors; color++) {
        store_sum(t, color, ZERO);
    }

    var r: array<Value, 32>;
    var c: array<u32, 32>;
    for (var page = start; page < end; page += W * W) {
        // All loads come before any addition, so that they overlap.
        for (var j = 0u; j < W; j++) {
            c[j] = NONE;
            if page + cell(t, j) < end {
                r[j] = values[page + cell(t, j)];
                c[j] = colors[page + cell(t, j)];
            }
        }
        for (var j = 0u; j < W; j++) {
            if c[j] < params.colors {
                store_sum(t, c[j], load_sum(t, c[j]) + r[j]);
            }
        }
    }

    transpose(t);
    workgroupBarrier();
    if t < params.colors {
        var sum = ZERO;
        for (var lane = 0u; lane < W; lane++) {
            sum += load_transposed(lane, t);
        }
        tile_sums[tile_cell(t, number, params.rounds)] = sum;
    }
}
