// Rows are put in order: `order` says for each place which row belongs there.

@group(0) @binding(3) var<storage, read> order: array<u32>;

fn row_at(place: u32) -> u32 {
    // (The caller may write to its indices in the middle of a sort.)
    return min(order[place], params.len - 1u);
}
