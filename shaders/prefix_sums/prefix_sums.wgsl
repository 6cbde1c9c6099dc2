// Colored prefix sums, phase 3: the prefix sums of each tile, in place (paper, introduction and
// Appendix A).
//
// One workgroup of 32 lanes a tile, which it takes in pages of 1024 elements. Lane t has the chunk
// of 32 consecutive elements from 32 t on of each page.
//
//   for each page:
//     read values and colors, coalesced, and turn them into chunks
//     add up the chunk's values of each color: a sum a lane and color
//     intra-page offsets: a lane a color goes through the sums of lanes 0, 1, 2, ..., from where
//       the page before it ended; the first page from the tile's offset
//     go through the chunk again, from these offsets on: the prefix sums
//     turn them back and write them, coalesced
//
// Departures from the paper:
//  1. what the pages before add up to stays in a register of the lane that scans that color;
//  2. the scan begins with it, so that the tile's, the inter-page and the intra-page offset are
//     one;
//  3. elements of no color are skipped, and are not written.
//
// Bank conflicts: in the sums of the lanes alone, naive.wgsl or conflict_free.wgsl. A page passes
// through a padded matrix: lanes side by side store and load lines, and each lane its own line.

@group(0) @binding(1) var<storage, read_write> values: array<Value>;
@group(0) @binding(2) var<storage, read> colors: array<u32>;
// The offsets of the tiles, by now.
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

    // Of the color t: all that comes before the page.
    var offset = ZERO;
    if t < params.colors {
        offset = tile_sums[tile_cell(t, number, params.rounds)];
    }

    // r: first as they lie in memory, then the chunk. c: as they lie in memory.
    var r: array<Value, 32>;
    var c: array<u32, 32>;
    for (var page = start; page < end; page += W * W) {
        // All are read before any is stored: one after the other would wait for memory each time.
        for (var j = 0u; j < W; j++) {
            r[j] = ZERO;
            c[j] = NONE;
            if page + cell(t, j) < end {
                r[j] = values[page + cell(t, j)];
                c[j] = colors[page + cell(t, j)];
            }
        }
        // Into the cells that this lane read last in the page before.
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
        turn(t);
        workgroupBarrier();
        if t < params.colors {
            for (var lane = 0u; lane < W; lane++) {
                let sum = load_turned(lane, t);
                store_turned(lane, t, offset);
                offset += sum;
            }
        }
        workgroupBarrier();
        turn_back(t);

        // The chunk's prefix sums, over its colors.
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
