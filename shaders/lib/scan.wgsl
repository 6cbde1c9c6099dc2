// Prefix sums of one value per lane, for the first VALUES lanes of a workgroup. The first 32 lanes
// compute them, in words of workgroup memory: VALUES, one for every 32 of them, and 32 totals. A
// kernel takes the section `memory`, or has its own `scan_load` and `scan_store`.
//
// No bank conflict: one unused word follows every 32 values, so 32 lanes that each walk VALUES / 32
// values are in different banks. All lanes read the same total.

// ---- memory

var<workgroup> scan_cells: array<u32, VALUES + VALUES / 32u + 32u>;

fn scan_load(i: u32) -> u32 {
    return scan_cells[i];
}

fn scan_store(i: u32, value: u32) {
    scan_cells[i] = value;
}

// ---- sum

const OWN: u32 = VALUES / 32u;

// The place of the first total.
const TOTALS: u32 = VALUES + OWN;

fn scan_cell(i: u32) -> u32 {
    return i + i / 32u;
}

// The sum of the values of the lanes before this one. All lanes must call it. Until the words change,
// that of lane i is at `scan_cell(i)`.
fn exclusive_sum(lane: u32, value: u32) -> u32 {
    workgroupBarrier();
    if lane < VALUES {
        scan_store(scan_cell(lane), value);
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = 0u;
        for (var i = 0u; i < OWN; i++) {
            sum += scan_load(scan_cell(lane * OWN + i));
        }
        scan_store(TOTALS + lane, sum);
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = 0u;
        for (var i = 0u; i < 31u; i++) {
            sum += select(0u, scan_load(TOTALS + i), i < lane);
        }
        for (var i = 0u; i < OWN; i++) {
            let cell = scan_cell(lane * OWN + i);
            let own = scan_load(cell);
            scan_store(cell, sum);
            sum += own;
        }
    }
    workgroupBarrier();
    return scan_load(scan_cell(min(lane, VALUES - 1u)));
}
