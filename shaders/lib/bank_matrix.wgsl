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
