// Records are the indices of rows.

alias Record = u32;
alias Key = u32;

// Sentinels before and after all records; they are never passed to the comparator.
const FIRST: Record = 0xffffffffu;
const LAST: Record = 0xfffffffeu;

fn is_equal(a: Record, b: Record) -> bool {
    return a == b;
}

// No two records are equal, so no splitter is frequent.
fn predecessor(r: Record) -> Record {
    return r;
}

fn word_of(r: Record, word: u32) -> u32 {
    return r;
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}

fn record_of(key: Key, value: u32) -> Record {
    return key;
}

fn key_of(r: Record) -> Key {
    return r;
}
