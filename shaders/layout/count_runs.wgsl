// Uses layout/load, layout/params, lib/key_map, lib/workgroup.
//
// RUNS, first phase: the heads of each tile, and the last of them.
//
// Runs are maximal ranges of equal keys, among sorted ones. A run begins at its head: the first
// record, or one whose key differs from that of the record before it. If the keys are not in order,
// the runs are those of the records as they lie.
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

// Without branches, so that the loads of several records can be under way together.
fn is_head(i: u32) -> bool {
    let at = min(i, max(params.len, 1u) - 1u);
    return (i < params.len) & ((i == 0u) | differs_from_last(at));
}

// The heads among every LANES-th record of a tile, from number `lane` on: a bit for each.
fn heads_of_lane(tile: u32, lane: u32) -> u32 {
    var found = 0u;
    for (var j = 0u; j < RUN_TILE / LANES; j++) {
        found |= u32(is_head(tile * RUN_TILE + j * LANES + lane)) << j;
    }
    return found;
}

// The sum of all lanes' `heads`, and the maximum of their `latest`. All lanes must call it, and the
// first one gets the result.

var<workgroup> sum_cells: array<u32, LANES>;
var<workgroup> maximum_cells: array<u32, LANES>;

fn sum_of_lanes(lane: u32, heads_of_lane: u32, latest: u32) -> vec2<u32> {
    var all = vec2<u32>(heads_of_lane, latest);
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        sum_cells[lane] = all.x;
        maximum_cells[lane] = all.y;
        workgroupBarrier();
        if lane < half {
            all = vec2<u32>(
                all.x + sum_cells[lane + half],
                max(all.y, maximum_cells[lane + half]),
            );
        }
        workgroupBarrier();
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
