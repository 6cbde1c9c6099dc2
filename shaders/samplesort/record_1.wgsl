// Records of one word.

alias Record = u32;

const FIRST: Record = 0u;
const LAST: Record = 0xffffffffu;

fn is_greater(a: Record, b: Record) -> bool {
    return a > b;
}

fn is_equal(a: Record, b: Record) -> bool {
    return a == b;
}

// The record just before this one; FIRST for FIRST.
fn predecessor(r: Record) -> Record {
    return r - select(0u, 1u, r != FIRST);
}

fn word_of(r: Record, word: u32) -> u32 {
    return r;
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}
