// Uses lib/bank_matrix, lib/workgroup, prefix_sums/lane_sums, prefix_sums/values.
//
// Colored prefix sums, phase 3: the prefix sums of each tile, in place (paper, introduction and
// Appendix A).
//
// One workgroup of 32 lanes per tile, which it processes in pages of 1024 elements. In each page,
// lane t has the chunk of 32 consecutive elements from 32 t on.
//
//   for each page:
//     read values and colors, coalesced, and transpose them into chunks
//     add up the chunk's values of each color: one sum per lane and color
//     intra-page offsets: one lane per color scans the sums of lanes 0, 1, 2, ..., beginning with
//       the end of the page before; in the first page, with the tile's offset
//     prefix sums: scan each chunk again, beginning with these offsets
//     transpose them back and write them, coalesced
//
// Departures from the paper:
//  1. the sum of the pages before stays in a register of the lane that scans that color;
//  2. the scan begins with it, so the tile's, the inter-page and the intra-page offset are one;
//  3. elements of no color are skipped, and are not written.
//
// Bank conflicts: only in the sums of the lanes, see lane_sums.wgsl. A page
// passes through a padded matrix: the lanes access a line together, or each its own line.

@group(0) @binding(1) var<storage, read_write> values: array<Value>;
@group(0) @binding(2) var<storage, read> colors: array<u32>;
// The offsets of the tiles, after phase 2.
@group(0) @binding(3) var<storage, read> tile_sums: array<Value>;

// A page of values, of colors, and of sums, one after the other.
var<workgroup> tile: array<u32, TILE_CELLS>;

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

    // The sum of color t before the page.
    var offset = ZERO;
    if t < params.colors {
        offset = tile_sums[tile_cell(t, number, params.rounds)];
    }

    // r: values in memory order, then the chunk. c: colors in memory order.
    var r: array<Value, 32>;
    var c: array<u32, 32>;
    for (var page = start; page < end; page += W * W) {
        // All loads come before any store, so that they overlap.
        for (var j = 0u; j < W; j++) {
            r[j] = ZERO;
            c[j] = NONE;
            if page + cell(t, j) < end {
                r[j] = values[page + cell(t, j)];
                c[j] = colors[page + cell(t, j)];
            }
        }
        // No barrier before: these are the cells that this lane itself read last.
        for (var j = 0u; j < W; j++) {
            tile[padded(j, t)] = to_word(r[j]);
        }
        workgroupBarrier();
        for (var j = 0u; j < W; j++) {
            r[j] = from_word(tile[padded(t, j)]);
        }
        workgroupBarrier();
        for (var j = 0u; j < W; j++) {
            tile[padded(j, t)] = c[j];
        }
        workgroupBarrier();

        // The chunk's sums.
        for (var color = 0u; color < params.colors; color++) {
            store_sum(t, color, ZERO);
        }
        for (var j = 0u; j < W; j++) {
            let color = tile[padded(t, j)];
            if color < params.colors {
                store_sum(t, color, load_sum(t, color) + r[j]);
            }
        }

        // The intra-page offsets.
        transpose(t);
        workgroupBarrier();
        if t < params.colors {
            for (var lane = 0u; lane < W; lane++) {
                let sum = load_transposed(lane, t);
                store_transposed(lane, t, offset);
                offset += sum;
            }
        }
        workgroupBarrier();
        transpose_back(t);

        // The chunk's prefix sums, stored over its colors.
        for (var j = 0u; j < W; j++) {
            let color = tile[padded(t, j)];
            var result = ZERO;
            if color < params.colors {
                let before = load_sum(t, color);
                let sum = before + r[j];
                store_sum(t, color, sum);
                result = select(sum, before, params.exclusive != 0u);
            }
            tile[padded(t, j)] = to_word(result);
        }
        workgroupBarrier();
        for (var j = 0u; j < W; j++) {
            let word = tile[padded(j, t)];
            if c[j] < params.colors {
                values[page + cell(t, j)] = from_word(word);
            }
        }
    }
}
