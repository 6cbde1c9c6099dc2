// Keys of one word, whose unsigned order is the order of the sort.

alias Key = u32;

// Before every key, and after every key: what pads a page in front and behind. A real key may
// equal them; with keys alone the two are the same bits, so it does not matter which is written.
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
