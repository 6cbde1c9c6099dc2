// The row that gather.wgsl moves to a rank. A kernel takes one section.

// ---- by_index

// `order`: from word order_first on, the row for each rank. There are params.rows.

@group(0) @binding(3) var<storage, read> order: array<u32>;

fn row_at(rank: u32) -> u32 {
    // Clamped: the user may overwrite the indices between two submissions of a sort.
    return min(order[params.order_first + rank], params.rows - 1u);
}

// ---- in_place

// A copy: rows keep their order.

fn row_at(rank: u32) -> u32 {
    return rank;
}
