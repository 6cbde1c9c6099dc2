// Keys of the mergesorts. A kernel takes the section for its width.

// ---- one_word

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

// ---- two_words

// Keys of two words, low word first as in memory. Their unsigned 64-bit order is the order of the
// sort. 64-bit integers are optional in WGSL, two 32-bit words are not.

alias Key = vec2<u32>;

// Padding before and after the keys of a page. A key may equal the padding: without values both are
// the same bits, so it does not matter which one is written.
const FIRST: Key = vec2<u32>(0u, 0u);
const LAST: Key = vec2<u32>(0xffffffffu, 0xffffffffu);

struct Ordered {
    low: Key,
    high: Key,
}

// `||` and `&&` would be branches, thousands of them in a network.
fn precedes(a: Key, b: Key) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    let swap = precedes(b, a);
    return Ordered(select(a, b, swap), select(b, a, swap));
}
