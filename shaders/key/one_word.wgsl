// Keys of one word. Their unsigned order is the order of the sort.

alias Key = u32;

// Padding before and after the keys of a page. A key may equal the padding: without values both are
// the same bits, so it does not matter which one is written.
const FIRST: Key = 0u;
const LAST: Key = 0xffffffffu;

struct Ordered {
    low: Key,
    high: Key,
}

fn precedes(a: Key, b: Key) -> bool {
    return a < b;
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    return Ordered(min(a, b), max(a, b));
}
