// Uses layout/params, lib/scan, lib/workgroup.
//
// RUNS, second phase: the heads before each tile, the last of them, and the number of all runs.
//
// `tiles`: see count_runs.wgsl. There are params.tiles, and each gets the same of all tiles before
// it. `count`: its word destination_first becomes the number of runs.
//
// One workgroup, which goes through the tiles 8 LANES at a time, 8 consecutive ones per lane.
//
// No bank conflict: see scan.wgsl; and consecutive lanes access consecutive cells.

@group(0) @binding(1) var<storage, read_write> tiles: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: array<u32>;

var<workgroup> heads_of_lanes: u32;

// The maximum of `latest` among the lanes before this one. All lanes must call it. Until the next
// call, the last of `latest_cells` is the maximum of all.

var<workgroup> latest_cells: array<u32, LANES>;

fn latest_before(lane: u32, latest: u32) -> u32 {
    workgroupBarrier();
    latest_cells[lane] = latest;
    workgroupBarrier();
    for (var step = 1u; step < LANES; step *= 2u) {
        // The first lanes have no other: they read their own.
        let both = max(latest_cells[lane], latest_cells[select(lane, lane - step, lane >= step)]);
        workgroupBarrier();
        latest_cells[lane] = both;
        workgroupBarrier();
    }
    return select(0u, latest_cells[max(lane, 1u) - 1u], lane > 0u);
}

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
