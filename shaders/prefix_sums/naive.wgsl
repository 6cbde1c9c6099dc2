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
