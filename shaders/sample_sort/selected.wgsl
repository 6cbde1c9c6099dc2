// Which part of the result is wanted in order: the places from params.rank_begin to before params.rank_end. What is
// outside comes to where it belongs, by buckets and children, and is not sorted there: it keeps the order of the input.

fn is_selected(start: u32, count: u32) -> bool {
    return start < params.rank_end && start + count > params.rank_begin;
}

// A bucket outside has no splitters: its children are equal parts of its `len` records, as they lie in its tiles. How many
// of the `count` records from `base` on are before a child.
fn before_part(child: u32, children: u32, len: u32, base: u32, count: u32) -> u32 {
    // (No product is more than the records, or the square of the children.)
    let cut = child * (len / children) + child * (len % children) / children;
    return min(cut - min(cut, base), count);
}
