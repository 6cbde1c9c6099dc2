// Records of two words, the least significant one first.

alias Record = vec2<u32>;

const FIRST: Record = vec2<u32>(0u);
const LAST: Record = vec2<u32>(0xffffffffu);

// `||` and `&&` would be branches, thousands of them in a network.
fn is_greater(a: Record, b: Record) -> bool {
    return (a.y > b.y) | ((a.y == b.y) & (a.x > b.x));
}

fn is_equal(a: Record, b: Record) -> bool {
    return (a.x == b.x) & (a.y == b.y);
}

// The record just before this one; FIRST for FIRST.
fn predecessor(r: Record) -> Record {
    let borrows = r.x == 0u;
    return vec2<u32>(
        r.x - select(1u, 0u, borrows & (r.y == 0u)),
        r.y - select(0u, 1u, borrows & (r.y != 0u)),
    );
}

fn word_of(r: Record, word: u32) -> u32 {
    return select(r.x, r.y, word == 1u);
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}
