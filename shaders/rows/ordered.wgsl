// Rows are put in order: `order` says for each place which row belongs there.

@group(0) @binding(3) var<storage, read> order: array<u32>;

fn row_at(place: u32) -> u32 {
    // (Where there is no record there is no row. A count may have grown since the rows were numbered.)
    return min(order[place], params.len - 1u);
}
