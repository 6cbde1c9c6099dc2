// Prefix sums over at most 1024 lanes of a workgroup, in two steps of 32.
//
// No bank conflict: lanes read the same word, or words in different banks.

var<workgroup> sums: array<u32, LANES + 32u>;

// The sum of the values of the lanes before this one. All lanes call it.
fn exclusive_sum(lane: u32, value: u32) -> u32 {
    workgroupBarrier();
    sums[lane] = value;
    workgroupBarrier();
    let own = lane % 32u;
    let row = lane - own;
    var sum = 0u;
    for (var i = 0u; i < 31u; i++) {
        sum += select(0u, sums[row + i], i < own);
    }
    if own == 31u {
        sums[LANES + lane / 32u] = sum + value;
    }
    workgroupBarrier();
    for (var i = 0u; i < LANES / 32u - 1u; i++) {
        sum += select(0u, sums[LANES + i], i < lane / 32u);
    }
    return sum;
}
