// The lanes' sums in workgroup memory. A kernel takes one section.

// ---- naive

// The lanes' sums in the obvious layout: a bank matrix of 32 rows, one per lane, with a column per
// color. The paper's introduction measures the cost.
//
// Bank conflicts: none while each lane stays in its own row, its bank. In the scan each lane walks
// through the sums of lanes 0, 1, 2, ... of one color, so all lanes are in one row, in different
// columns: a d-way conflict in each step, whatever the colors.

var<workgroup> lane_sums: array<Value, SUM_CELLS>;

fn load_sum(lane: u32, color: u32) -> Value {
    return lane_sums[cell(lane, color)];
}

fn store_sum(lane: u32, color: u32, sum: Value) {
    lane_sums[cell(lane, color)] = sum;
}

// The scan needs no transposition.
fn transpose(lane: u32) {}

fn transpose_back(lane: u32) {}

fn load_transposed(lane: u32, color: u32) -> Value {
    return load_sum(lane, color);
}

fn store_transposed(lane: u32, color: u32, sum: Value) {
    store_sum(lane, color, sum);
}

// ---- conflict_free

// The lanes' sums without bank conflicts (paper, Appendix A): a bank matrix of 32 rows and a column
// per color. Each lane stays in its own row, which is its own bank, whatever the colors.
//
// The scan walks down the columns, a lane per column, so all lanes would be in the same row. The
// matrix is therefore transposed before the scan, and back after it, into a line per color with one
// cell of padding each. A transposition accesses one line at a time, in banks color + 0 .. color +
// 31. In the scan of the i-th lane's sums the lanes are in banks color + i: no two in one bank.
//
// Departure from the paper: the transposed matrix has separate cells, which saves two barriers.

var<workgroup> lane_sums: array<Value, SUM_CELLS>;

// The first cell of the transposed matrix, in bank 0.
const TRANSPOSED: u32 = MOST_COLORS * W;

fn load_sum(lane: u32, color: u32) -> Value {
    return lane_sums[cell(lane, color)];
}

fn store_sum(lane: u32, color: u32, sum: Value) {
    lane_sums[cell(lane, color)] = sum;
}

fn load_transposed(lane: u32, color: u32) -> Value {
    return lane_sums[TRANSPOSED + padded(color, lane)];
}

fn store_transposed(lane: u32, color: u32, sum: Value) {
    lane_sums[TRANSPOSED + padded(color, lane)] = sum;
}

// Stores this lane's sums for the scan. A barrier must follow.
fn transpose(lane: u32) {
    for (var color = 0u; color < params.colors; color++) {
        store_transposed(lane, color, load_sum(lane, color));
    }
}

// Loads the scan's results for this lane, after a barrier.
fn transpose_back(lane: u32) {
    for (var color = 0u; color < params.colors; color++) {
        store_sum(lane, color, load_transposed(lane, color));
    }
}
