// Records that are a key of one word and a value. A kernel takes the sections that it needs.

// ---- record

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

// Keys of one word.

alias Key = u32;

// A record is a key of one word and a value; equal keys are ordered by value.

fn record_of(key: Key, value: u32) -> Record {
    return vec2<u32>(value, key);
}

fn key_of(r: Record) -> Key {
    return r.y;
}

fn value_of(r: Record) -> u32 {
    return r.x;
}

// ---- cells

// Workgroup memory as an array of words: the records from word `base` on, in planes of `plane`
// words, one plane for each word of a record. Consecutive records are in different banks.

var<workgroup> cells: array<u32, CELLS>;

fn cells_load(base: u32, plane: u32, i: u32) -> Record {
    return vec2<u32>(cells[base + i], cells[base + plane + i]);
}

fn cells_store(base: u32, plane: u32, i: u32, r: Record) {
    cells[base + i] = r.x;
    cells[base + plane + i] = r.y;
}

// ---- splitter

// Loads the splitter whose words begin at `at`.

fn splitter_at(at: u32) -> Record {
    return vec2<u32>(splitters[at], splitters[at + 1u]);
}

// ---- ordered

// Words of a record that are ordered at once.
const ORDERED_WORDS: u32 = 1u;

// Writes the words from `word` on of the record at place `at` of the ordered part of a tile.
fn store_ordered(i: u32, word: u32, at: u32) {
    if word == 0u {
        target_values[i] = cells[at];
    } else {
        target_keys[i] = cells[at];
    }
}
