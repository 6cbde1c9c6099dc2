// Uses layout/heads, layout/load, layout/params, layout/segments, lib/key_map, lib/workgroup.
//
// RUNS, first phase: the heads of each tile, and the last of them.
//
// A run is a range of records that begins at its head, see heads.wgsl.
//
// `source`: see load.wgsl. `tiles`: two words for each tile of RUN_TILE records, its heads, and the
// position of the last one plus 1, or 0 if it has none. `heads`: a word for each lane of each tile,
// with a bit for each of the lane's records.
//
// A lane reads every LANES-th record of a tile.
//
// No bank conflict: consecutive lanes access consecutive cells.

@group(0) @binding(2) var<storage, read_write> tiles: array<u32>;
@group(0) @binding(3) var<storage, read_write> heads: array<u32>;

// The heads among every LANES-th record of a tile, from number `lane` on: a bit for each.
fn heads_of_lane(tile: u32, lane: u32) -> u32 {
    var found = 0u;
    for (var j = 0u; j < RUN_TILE / LANES; j += 8u) {
        found |= heads_from(tile * RUN_TILE + j * LANES + lane) << j;
    }
    return found;
}

// The sum of all lanes' `heads`, and the maximum of their `latest`. All lanes must call it, and the
// first one gets the result.

var<workgroup> sums: array<u32, LANES>;
var<workgroup> maxima: array<u32, LANES>;

fn sum_of_lanes(lane: u32, heads: u32, latest: u32) -> vec2<u32> {
    sums[lane] = heads;
    maxima[lane] = latest;
    workgroupBarrier();
    var all = vec2<u32>();
    if lane < 32u {
        for (var i = lane; i < LANES; i += 32u) {
            all = vec2<u32>(all.x + sums[i], max(all.y, maxima[i]));
        }
        sums[lane] = all.x;
        maxima[lane] = all.y;
    }
    workgroupBarrier();
    if lane == 0u {
        for (var i = 1u; i < 32u; i++) {
            all = vec2<u32>(all.x + sums[i], max(all.y, maxima[i]));
        }
    }
    return all;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    if tile >= params.end {
        return;
    }
    let own = heads_of_lane(tile, lane);
    heads[tile * LANES + lane] = own;
    let last = tile * RUN_TILE + firstLeadingBit(max(own, 1u)) * LANES + lane;
    let all = sum_of_lanes(lane, countOneBits(own), select(0u, last + 1u, own > 0u));
    if lane == 0u {
        tiles[2u * tile] = all.x;
        tiles[2u * tile + 1u] = all.y;
    }
}
