// Workgroup memory as a matrix of banks, and as cells of one key. A kernel takes the section for
// the width of its keys, if they pass through workgroup memory.

// ---- matrix

// The bank matrix (paper, section 2.1): workgroup memory as W = 32 rows, one per bank, filled by
// columns. Lanes in different rows have no bank conflict.

// The cell in row `bank` and column `column`.
fn cell(bank: u32, column: u32) -> u32 {
    return column * W + bank;
}

// The cell of element `position` of line `line`, with one cell of padding per line. Lanes that each
// walk their own line (line = lane), and lanes that walk one line together (position = lane), are
// all in different banks. Both addresses are a base plus a constant.
fn padded(line: u32, position: u32) -> u32 {
    return line * (W + 1u) + position;
}

// ---- one_word

// Workgroup memory for one-word keys: TILE_CELLS cells of a word. Cell i is in bank i % 32.

var<workgroup> tile: array<u32, TILE_CELLS>;

fn tile_load(cell: u32) -> Key {
    return tile[cell];
}

fn tile_store(cell: u32, key: Key) {
    tile[cell] = key;
}

// ---- two_words

// Workgroup memory for two-word keys: two planes of TILE_CELLS words. A cell has the same bank in
// both planes, up to a common shift. So accesses without conflicts for one word have none for two,
// whether or not the hardware pairs banks for 8-byte accesses.

var<workgroup> tile_low: array<u32, TILE_CELLS>;
var<workgroup> tile_high: array<u32, TILE_CELLS>;

fn tile_load(cell: u32) -> Key {
    return vec2<u32>(tile_low[cell], tile_high[cell]);
}

fn tile_store(cell: u32, key: Key) {
    tile_low[cell] = key.x;
    tile_high[cell] = key.y;
}
