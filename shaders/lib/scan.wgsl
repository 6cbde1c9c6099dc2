// Prefix sums of one value per lane, for the first VALUES lanes of a workgroup. The first 32 lanes
// compute them, in cells of workgroup memory: VALUES, one for every 32 of them, and 32 totals. A
// kernel takes the section `words`, or says what it adds; and the section `memory`, or has its own
// `scan_load` and `scan_store`.
//
// No bank conflict: one unused cell follows every SCAN_LINE values, so 32 lanes that each walk
// VALUES / 32 values are in different banks. All lanes read the same total.

// ---- words

alias Summand = u32;

const NOTHING: Summand = 0u;

// Summands that all banks hold at once.
const SCAN_LINE: u32 = 32u;

fn added(a: Summand, b: Summand) -> Summand {
    return a + b;
}

// ---- memory

var<workgroup> scan_cells: array<Summand, VALUES + VALUES / SCAN_LINE + 32u>;

fn scan_load(i: u32) -> Summand {
    return scan_cells[i];
}

fn scan_store(i: u32, value: Summand) {
    scan_cells[i] = value;
}

// ---- sum

const OWN: u32 = VALUES / 32u;

// The place of the first total.
const TOTALS: u32 = VALUES + VALUES / SCAN_LINE;

fn scan_cell(i: u32) -> u32 {
    return i + i / SCAN_LINE;
}

// The sum of the values of the lanes before this one. All lanes must call it. Until the words
// change, that of lane i is at `scan_cell(i)`.
fn exclusive_sum(lane: u32, value: Summand) -> Summand {
    workgroupBarrier();
    if lane < VALUES {
        scan_store(scan_cell(lane), value);
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = NOTHING;
        for (var i = 0u; i < OWN; i++) {
            sum = added(sum, scan_load(scan_cell(lane * OWN + i)));
        }
        scan_store(TOTALS + lane, sum);
    }
    workgroupBarrier();
    if lane < 32u {
        var sum = NOTHING;
        for (var i = 0u; i < 31u; i++) {
            sum = added(sum, select(NOTHING, scan_load(TOTALS + i), i < lane));
        }
        for (var i = 0u; i < OWN; i++) {
            let cell = scan_cell(lane * OWN + i);
            let own = scan_load(cell);
            scan_store(cell, sum);
            sum = added(sum, own);
        }
    }
    workgroupBarrier();
    return scan_load(scan_cell(min(lane, VALUES - 1u)));
}
