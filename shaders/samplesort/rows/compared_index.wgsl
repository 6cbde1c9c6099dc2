// A caller's function `user_precedes` compares the rows of two indices, where they lie: see
// record_beside.wgsl.

fn is_greater(a: Record, b: Record) -> bool {
    // (FIRST is the least of these, LAST the greatest.)
    var greater = a + 1u > b + 1u;
    if max(a, b) < LAST {
        let ascending = user_precedes(compared_rows[b], compared_rows[a]);
        let descending = user_precedes(compared_rows[a], compared_rows[b]);
        greater = select(greater, ascending != BACKWARDS, ascending != descending);
    }
    return greater;
}
