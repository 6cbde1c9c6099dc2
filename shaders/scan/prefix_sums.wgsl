// Uses lib/scan, lib/workgroup, scan/values.
//
// Scan, third phase: the prefix sums of each tile.
//
// `sums`: the offsets of the tiles.
//
// A workgroup goes through its tile in parts of EACH values per lane. It reads a part, LANES values
// apart, and has EACH consecutive ones per lane by way of workgroup memory; adds these up; and
// writes the sums in the order in which it read the values.
//
// No bank conflict: one unused cell follows every SCAN_LINE, so that lanes access EACH cells each
// without conflict; and see scan.wgsl. Cells of two words are accessed by half a warp at a time.

@group(0) @binding(2) var<storage, read> sums: array<Summand>;

const PART: u32 = EACH * LANES;

var<workgroup> cells: array<Summand, PART + PART / SCAN_LINE>;
var<workgroup> sum_of_part: Summand;

fn scan_load(i: u32) -> Summand {
    return cells[i];
}

fn scan_store(i: u32, value: Summand) {
    cells[i] = value;
}

fn cell(i: u32) -> u32 {
    return i + i / SCAN_LINE;
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
    var before = sums[tile];
    for (var part = tile * TILE; part < (tile + 1u) * TILE; part += PART) {
        var own: array<Summand, EACH>;
        for (var j = 0u; j < EACH; j++) {
            let i = part + j * LANES + lane;
            own[j] = NOTHING;
            if i < params.len {
                own[j] = values[params.value_first + i];
            }
        }
        workgroupBarrier();
        for (var j = 0u; j < EACH; j++) {
            cells[cell(j * LANES + lane)] = own[j];
        }
        workgroupBarrier();
        var sum = NOTHING;
        for (var j = 0u; j < EACH; j++) {
            own[j] = cells[cell(lane * EACH + j)];
            sum = added(sum, own[j]);
        }
        let of_lanes = exclusive_sum(lane, sum);
        if lane == LANES - 1u {
            sum_of_part = added(of_lanes, sum);
        }
        workgroupBarrier();
        var so_far = added(before, of_lanes);
        for (var j = 0u; j < EACH; j++) {
            let with_own = added(so_far, own[j]);
            cells[cell(lane * EACH + j)] = select(with_own, so_far, params.exclusive != 0u);
            so_far = with_own;
        }
        before = added(before, sum_of_part);
        workgroupBarrier();
        for (var j = 0u; j < EACH; j++) {
            let i = part + j * LANES + lane;
            if i < params.len {
                store(i, cells[cell(j * LANES + lane)]);
            }
        }
    }
}
