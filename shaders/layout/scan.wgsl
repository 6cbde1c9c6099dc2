// Prefix sums over the lanes of a workgroup.
//
// No bank conflict: lanes access consecutive cells.

var<workgroup> lane_sums: array<u32, LANES>;

// The sum of the lanes' values up to this lane. `lane_sums` holds all sums until the next call.
fn inclusive_sum(lane: u32, value: u32) -> u32 {
    workgroupBarrier();
    lane_sums[lane] = value;
    var sum = value;
    for (var distance = 1u; distance < LANES; distance *= 2u) {
        workgroupBarrier();
        var before = 0u;
        if lane >= distance {
            before = lane_sums[lane - distance];
        }
        workgroupBarrier();
        sum += before;
        lane_sums[lane] = sum;
    }
    workgroupBarrier();
    return sum;
}
