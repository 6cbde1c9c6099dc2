// Which part of the result is wanted in order: the places from params.rank_begin to before params.rank_end. What is
// outside comes to where it belongs, by buckets and children, and is not sorted there.

fn is_selected(start: u32, count: u32) -> bool {
    return start < params.rank_end && start + count > params.rank_begin;
}
