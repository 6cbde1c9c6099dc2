// A permutation: `order` says which row belongs at each rank.

@group(0) @binding(3) var<storage, read> order: array<u32>;

fn row_at(rank: u32) -> u32 {
    // (Other dispatches may write to the caller's indices between two submissions of a sort.)
    return min(order[rank], params.len - 1u);
}
