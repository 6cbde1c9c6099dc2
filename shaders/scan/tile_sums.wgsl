// Uses lib/workgroup, scan/values.
//
// Scan, first phase: the sum of each tile of TILE values.
//
// `values`: from number value_first on. `sums`: one for each tile.
//
// A lane adds up every LANES-th value of a tile. Then 32 lanes add up those of 8 lanes each, and
// one lane these.
//
// No bank conflict: consecutive lanes access consecutive cells.

@group(0) @binding(1) var<storage, read> values: array<Summand>;
@group(0) @binding(2) var<storage, read_write> sums: array<Summand>;

var<workgroup> cells: array<Summand, LANES>;

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
    var sum = NOTHING;
    for (var first = 0u; first < TILE; first += 8u * LANES) {
        // All loads come before any addition, so that they overlap.
        var own: array<Summand, 8>;
        for (var j = 0u; j < 8u; j++) {
            let i = tile * TILE + first + j * LANES + lane;
            let value = values[params.value_first + min(i, max(params.len, 1u) - 1u)];
            own[j] = select(NOTHING, value, i < params.len);
        }
        for (var j = 0u; j < 8u; j++) {
            sum = added(sum, own[j]);
        }
    }
    cells[lane] = sum;
    workgroupBarrier();
    if lane < 32u {
        for (var i = lane + 32u; i < LANES; i += 32u) {
            sum = added(sum, cells[i]);
        }
        cells[lane] = sum;
    }
    workgroupBarrier();
    if lane == 0u {
        for (var i = 1u; i < 32u; i++) {
            sum = added(sum, cells[i]);
        }
        sums[tile] = sum;
    }
}
