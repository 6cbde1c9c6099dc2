// The custom comparator `user_precedes` compares the rows of two indices in their buffer. See
// record_beside.wgsl for the order.

fn is_greater(a: Record, b: Record) -> bool {
    // Plus 1, FIRST is the smallest number and LAST the largest.
    var greater = a + 1u > b + 1u;
    if max(a, b) < LAST {
        let ascending = user_precedes(compared_rows[b], compared_rows[a]);
        let descending = user_precedes(compared_rows[a], compared_rows[b]);
        greater = select(greater, ascending != BACKWARDS, ascending != descending);
    }
    return greater;
}
