// Keys that are numbers of rows, in the order of the caller's function `user_precedes` of two rows (`user_row`), whose text
// stands before this.
//
// Rows that it does not tell apart, or calls each less than the other, are in the order of their numbers. So there are
// no equal keys; and if it gives no order at all, numbers are still only compared and moved.

alias Key = u32;

// After every key: what pads a tile.
const LAST: Key = 0xffffffffu;

@group(0) @binding(10) var<storage, read> compared_rows: array<user_row>;

struct Ordered {
    low: Key,
    high: Key,
}

fn precedes(a: Key, b: Key) -> bool {
    // What is no row's number is not looked at.
    var before = a < b;
    if a != b && a != LAST && b != LAST {
        let first = compared_rows[select(a, b, BACKWARDS)];
        let second = compared_rows[select(b, a, BACKWARDS)];
        let precedes = user_precedes(first, second);
        before = select(before, precedes, precedes != user_precedes(second, first));
    }
    return before;
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
