// Uses layout/params, layout/runs, lib/scan, lib/workgroup.
//
// RUNS, second phase: the heads before each tile, the last of them, and the number of all runs.
//
// `tiles`: see runs.wgsl; there are params.tiles. `count`: its word destination_first becomes the
// number of runs.
//
// One workgroup, which goes through the tiles 8 LANES at a time, 8 consecutive ones per lane.
//
// No bank conflict: see scan.wgsl; and consecutive lanes access consecutive cells.

@group(0) @binding(1) var<storage, read_write> tiles: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: array<u32>;

var<workgroup> heads_of_lanes: u32;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var heads_so_far = 0u;
    var latest_so_far = 0u;
    for (var first = 0u; first < params.tiles; first += 8u * LANES) {
        let own = first + 8u * lane;
        var found: array<vec2<u32>, 8>;
        var all = vec2<u32>();
        for (var j = 0u; j < 8u; j++) {
            found[j] = vec2<u32>();
            if own + j < params.tiles {
                found[j] = vec2<u32>(tiles[2u * (own + j)], tiles[2u * (own + j) + 1u]);
            }
            all = vec2<u32>(all.x + found[j].x, max(all.y, found[j].y));
        }
        let heads_before = exclusive_sum(lane, all.x);
        if lane == LANES - 1u {
            heads_of_lanes = heads_before + all.x;
        }
        let latest = latest_before(lane, all.y);
        var before = vec2<u32>(heads_so_far + heads_before, max(latest_so_far, latest));
        for (var j = 0u; j < 8u; j++) {
            if own + j < params.tiles {
                tiles[2u * (own + j)] = before.x;
                tiles[2u * (own + j) + 1u] = before.y;
            }
            before = vec2<u32>(before.x + found[j].x, max(before.y, found[j].y));
        }
        heads_so_far += heads_of_lanes;
        latest_so_far = max(latest_so_far, latest_cells[LANES - 1u]);
    }
    if lane == 0u {
        count[params.destination_first] = heads_so_far;
    }
}
