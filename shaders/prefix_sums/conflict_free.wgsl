// Where the lanes' sums lie, without bank conflicts (paper, Appendix A): a bank matrix of 32 rows
// and a column a color. Each lane stays in its own row, which is its own bank, whatever the colors
// are.
//
// The scan goes down the columns, a lane a column, and all of them would stand in the same row. So
// the matrix is turned before it, and back after it: into lines of a color with one cell of padding
// each. All lanes write, or read, a line at the same time, in banks color + 0 .. color + 31; the
// scan's lanes are in banks color + i, for the i-th lane's sums. No two lanes meet in a bank.
//
// Departure from the paper: the turned matrix has cells of its own, which saves two barriers.

var<workgroup> lane_sums: array<Value, SUM_CELLS>;

// Where the turned matrix begins: at bank 0.
const TURNED: u32 = MOST_COLORS * W;

fn load_sum(lane: u32, color: u32) -> Value {
    return lane_sums[cell(lane, color)];
}

fn store_sum(lane: u32, color: u32, sum: Value) {
    lane_sums[cell(lane, color)] = sum;
}

fn load_turned(lane: u32, color: u32) -> Value {
    return lane_sums[TURNED + padded(color, lane)];
}

fn store_turned(lane: u32, color: u32, sum: Value) {
    lane_sums[TURNED + padded(color, lane)] = sum;
}

// Gives the lanes of the scan this lane's sums. They may read them behind a barrier.
fn turn(lane: u32) {
    for (var color = 0u; color < params.colors; color++) {
        store_turned(lane, color, load_sum(lane, color));
    }
}

// Takes back what the scan made of them, behind a barrier.
fn turn_back(lane: u32) {
    for (var color = 0u; color < params.colors; color++) {
        store_sum(lane, color, load_turned(lane, color));
    }
}
