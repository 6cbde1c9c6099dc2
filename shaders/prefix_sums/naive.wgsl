// Where the lanes' sums lie, as one writes it first: a bank matrix of 32 rows and a column a color,
// in which each lane has a row. (The paper, in its introduction, measures what this costs.)
//
// Bank conflicts: none as long as each lane stays in its own row, its bank. But the scan goes
// through the sums of lanes 0, 1, 2, ..., a lane a color, and so all of its lanes stand in one row,
// in different columns: d lanes meet in a bank in each step, whatever the colors are.

var<workgroup> lane_sums: array<Value, SUM_CELLS>;

fn load_sum(lane: u32, color: u32) -> Value {
    return lane_sums[cell(lane, color)];
}

fn store_sum(lane: u32, color: u32, sum: Value) {
    lane_sums[cell(lane, color)] = sum;
}

// The scan finds the sums where they are.
fn turn(lane: u32) {}

fn turn_back(lane: u32) {}

fn load_turned(lane: u32, color: u32) -> Value {
    return load_sum(lane, color);
}

fn store_turned(lane: u32, color: u32, sum: Value) {
    store_sum(lane, color, sum);
}
