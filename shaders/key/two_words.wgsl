// Keys that are compared as two words, low word first. The words' unsigned 64-bit order is the order of the sort.

alias Key = vec2<u32>;

// Before every key, and after every key: what pads a page in front and behind. A real key may
// equal them; with keys alone the two are the same bits, so it does not matter which is written.
const FIRST: Key = vec2<u32>(0u, 0u);
const LAST: Key = vec2<u32>(0xffffffffu, 0xffffffffu);

struct Ordered {
    low: Key,
    high: Key,
}

// (Without `||` and `&&`, which are branches: thousands of them in a network.)
fn precedes(a: Key, b: Key) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

fn equals(a: Key, b: Key) -> bool {
    return (a.x == b.x) & (a.y == b.y);
}

// Whether a precedes b, or equals it and i is less than j: word by word, which is less than both would be.
fn precedes_in_turn(a: Key, i: u32, b: Key, j: u32) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & ((a.x < b.x) | ((a.x == b.x) & (i < j))));
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    let swap = precedes(b, a);
    return Ordered(select(a, b, swap), select(b, a, swap));
}
