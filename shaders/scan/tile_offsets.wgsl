// Uses lib/scan, scan/values.
//
// Scan, second phase: from the sums of the tiles to the sum of all tiles before each.
//
// `sums`: one for each tile of TILE values, and then its offset.
//
// One workgroup, which goes through the tiles 8 LANES at a time, 8 consecutive ones per lane.
//
// No bank conflict: see scan.wgsl.

@group(0) @binding(1) var<storage, read_write> sums: array<Summand>;

var<workgroup> sum_of_lanes: Summand;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let tiles = params.len / TILE + u32(params.len % TILE > 0u);
    var before = NOTHING;
    for (var first = 0u; first < tiles; first += 8u * LANES) {
        var own: array<Summand, 8>;
        var sum = NOTHING;
        for (var j = 0u; j < 8u; j++) {
            let tile = first + 8u * lane + j;
            own[j] = NOTHING;
            if tile < tiles {
                own[j] = sums[tile];
            }
            sum = added(sum, own[j]);
        }
        let of_lanes = exclusive_sum(lane, sum);
        if lane == LANES - 1u {
            sum_of_lanes = added(of_lanes, sum);
        }
        var offset = added(before, of_lanes);
        for (var j = 0u; j < 8u; j++) {
            let tile = first + 8u * lane + j;
            if tile < tiles {
                sums[tile] = offset;
            }
            offset = added(offset, own[j]);
        }
        workgroupBarrier();
        before = added(before, sum_of_lanes);
        workgroupBarrier();
    }
}
