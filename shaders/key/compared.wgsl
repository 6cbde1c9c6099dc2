// Keys that are numbers of rows, in the order of the caller's function `user_precedes` of two rows (`user_row`), whose text
// stands before this.
//
// Rows that it does not tell apart, or calls each less than the other, are in the order of their numbers. So there are
// no equal keys; and if it gives no order at all, numbers are still only compared and moved.

alias Key = u32;

// What a key is in memory.
alias Stored = Key;

fn of_memory(stored: Stored) -> Key {
    return stored;
}

fn to_memory(bits: Key) -> Stored {
    return bits;
}

// After every key: what pads a tile.
const LAST: Key = 0xffffffffu;

@group(0) @binding(10) var<storage, read> compared_rows: array<user_row>;

struct Ordered {
    low: Key,
    high: Key,
}

// Whether number a comes before number b, by their rows.
fn precedes_by_rows(a: Key, first: user_row, b: Key, second: user_row) -> bool {
    let ascending = user_precedes(first, second);
    let descending = user_precedes(second, first);
    let precedes = select(ascending, descending, BACKWARDS);
    // What is no row's number has none.
    let compared = a != b && a != LAST && b != LAST && ascending != descending;
    return select(a < b, precedes, compared);
}

fn precedes(a: Key, b: Key) -> bool {
    if a == b || a == LAST || b == LAST {
        return a < b;
    }
    return precedes_by_rows(a, compared_rows[a], b, compared_rows[b]);
}

fn equals(a: Key, b: Key) -> bool {
    return a == b;
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    let swap = precedes(b, a);
    return Ordered(select(a, b, swap), select(b, a, swap));
}

fn encode(bits: Key) -> Key {
    return bits;
}

fn decode(key: Key) -> Key {
    return key;
}
