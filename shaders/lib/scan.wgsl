// Prefix sums of one value per lane, for the first VALUES lanes of a workgroup. The first 32 lanes
// compute them.
//
// No bank conflict: one unused word follows every 32 values, so 32 lanes that each walk VALUES / 32
// values are in different banks. All lanes read the same total.

const OWN: u32 = VALUES / 32u;

var<workgroup> scan_cells: array<u32, VALUES + 32u>;
var<workgroup> scan_totals: array<u32, 32>;

fn scan_cell(i: u32) -> u32 {
    return i + i / 32u;
}

// The sum of the values of the lanes before this one. All lanes must call it. Until the next call,
// that of lane i is in `scan_cells[scan_cell(i)]`.
fn exclusive_sum(lane: u32, value: u32) -> u32 {
    workgroupBarrier();
    if lane < VALUES {
        scan_cells[scan_cell(lane)] = value;
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = 0u;
        for (var i = 0u; i < OWN; i++) {
            sum += scan_cells[scan_cell(lane * OWN + i)];
        }
        scan_totals[lane] = sum;
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = 0u;
        for (var i = 0u; i < 31u; i++) {
            sum += select(0u, scan_totals[i], i < lane);
        }
        for (var i = 0u; i < OWN; i++) {
            let cell = scan_cell(lane * OWN + i);
            let own = scan_cells[cell];
            scan_cells[cell] = sum;
            sum += own;
        }
    }
    workgroupBarrier();
    return scan_cells[scan_cell(min(lane, VALUES - 1u))];
}
