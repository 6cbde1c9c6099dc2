// Records of three words, the least significant one first.

alias Record = vec3<u32>;

const FIRST: Record = vec3<u32>(0u);
const LAST: Record = vec3<u32>(0xffffffffu);

// `||` and `&&` would be branches, thousands of them in a network.
fn is_greater(a: Record, b: Record) -> bool {
    let low = (a.y > b.y) | ((a.y == b.y) & (a.x > b.x));
    return (a.z > b.z) | ((a.z == b.z) & low);
}

fn is_equal(a: Record, b: Record) -> bool {
    return (a.x == b.x) & (a.y == b.y) & (a.z == b.z);
}

// The record just before this one; FIRST for FIRST.
fn predecessor(r: Record) -> Record {
    let borrows = r.x == 0u;
    let borrows_again = borrows & (r.y == 0u);
    let less = vec3<u32>(
        r.x - 1u,
        r.y - select(0u, 1u, borrows),
        r.z - select(0u, 1u, borrows_again),
    );
    return select(less, r, is_equal(r, FIRST));
}

fn word_of(r: Record, word: u32) -> u32 {
    return select(select(r.x, r.y, word == 1u), r.z, word == 2u);
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}
