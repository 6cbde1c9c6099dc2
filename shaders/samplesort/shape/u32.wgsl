// Records that are a key of one word. A kernel takes the sections that it needs.

// ---- record

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

// Keys of one word.

alias Key = u32;

// A record is a key of one word.

fn record_of(key: Key, value: u32) -> Record {
    return key;
}

fn key_of(r: Record) -> Key {
    return r;
}

fn value_of(r: Record) -> u32 {
    return 0u;
}

// ---- cells

// Workgroup memory as an array of words: the records from word `base` on, in planes of `plane`
// words, one plane for each word of a record. Consecutive records are in different banks.

var<workgroup> cells: array<u32, CELLS>;

fn cells_load(base: u32, plane: u32, i: u32) -> Record {
    return cells[base + i];
}

fn cells_store(base: u32, plane: u32, i: u32, r: Record) {
    cells[base + i] = r;
}

// ---- splitter

// Loads the splitter whose words begin at `at`.

fn splitter_at(at: u32) -> Record {
    return splitters[at];
}

// ---- ordered

// Words of a record that are ordered at once.
const ORDERED_WORDS: u32 = 1u;

// Writes the words from `word` on of the record at place `at` of the ordered part of a tile.
fn store_ordered(i: u32, word: u32, at: u32) {
    target_keys[i] = cells[at];
}
