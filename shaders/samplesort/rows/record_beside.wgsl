// Records for the custom comparator `user_precedes`. In memory a record is the index of a row; here
// it also has the words of the row, at most four.
//
// Rows that the comparator does not order, or orders both ways, are in the order of their indices.
// So no two records are equal. With an inconsistent comparator records are still only compared and
// moved.

struct Record {
    index: u32,
    words: vec4<u32>,
}

// Sentinels before and after all records; they are never passed to the comparator.
const FIRST: Record = Record(0xffffffffu, vec4<u32>());
const LAST: Record = Record(0xfffffffeu, vec4<u32>());

fn is_row(r: Record) -> bool {
    return r.index < LAST.index;
}

fn is_greater(a: Record, b: Record) -> bool {
    // Plus 1, FIRST is the smallest number and LAST the largest.
    var greater = a.index + 1u > b.index + 1u;
    if is_row(a) & is_row(b) {
        let first = user_row_of(a.words);
        let second = user_row_of(b.words);
        let ascending = user_precedes(second, first);
        let descending = user_precedes(first, second);
        greater = select(greater, ascending != BACKWARDS, ascending != descending);
    }
    return greater;
}

fn is_equal(a: Record, b: Record) -> bool {
    return a.index == b.index;
}

// No two records are equal, so no splitter is frequent.
fn predecessor(r: Record) -> Record {
    return r;
}

fn word_of(r: Record, word: u32) -> u32 {
    return r.index;
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return Record(select(a.index, b.index, condition), select(a.words, b.words, condition));
}

alias Key = u32;

fn record_of(key: Key, value: u32) -> Record {
    if key >= LAST.index {
        return Record(key, vec4<u32>());
    }
    return Record(key, words_at(key));
}

fn key_of(r: Record) -> Key {
    return r.index;
}
