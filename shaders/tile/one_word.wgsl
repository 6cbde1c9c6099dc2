// Workgroup memory for one-word keys: TILE_CELLS cells of a word. Cell i lies in bank i % 32.

var<workgroup> tile: array<u32, TILE_CELLS>;

fn tile_load(cell: u32) -> Key {
    return tile[cell];
}

// The same, of a cell that the keys lead to: what searches meets in banks.
fn tile_probe(cell: u32) -> Key {
    return tile[cell];
}

fn tile_store(cell: u32, key: Key) {
    tile[cell] = key;
}

// A cell's first word, to be used for something else than a key.
fn word_load(cell: u32) -> u32 {
    return tile[cell];
}

fn word_store(cell: u32, word: u32) {
    tile[cell] = word;
}

// The same, of a cell that the keys lead to.
fn word_probe(cell: u32) -> u32 {
    return tile[cell];
}

fn word_mark(cell: u32, word: u32) {
    tile[cell] = word;
}
