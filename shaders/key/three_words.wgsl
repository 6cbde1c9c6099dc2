// Keys that are compared as three words, lowest word first.

alias Key = vec3<u32>;

// After every key.
const LAST: Key = vec3<u32>(0xffffffffu, 0xffffffffu, 0xffffffffu);

struct Ordered {
    low: Key,
    high: Key,
}

// (Without `||` and `&&`, which are branches: thousands of them in a network.)
fn precedes(a: Key, b: Key) -> bool {
    let lower = (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
    return (a.z < b.z) | ((a.z == b.z) & lower);
}

fn equals(a: Key, b: Key) -> bool {
    return (a.x == b.x) & (a.y == b.y) & (a.z == b.z);
}

fn compare_exchange(a: Key, b: Key) -> Ordered {
    let swap = precedes(b, a);
    return Ordered(select(a, b, swap), select(b, a, swap));
}
