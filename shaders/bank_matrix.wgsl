// The bank matrix (paper, section 2.1): workgroup memory seen as W = 32 rows, one a bank, filled
// column by column. A lane that stays in its row, or lanes that stand in different rows, never
// meet in a bank.

// The cell in row `bank` and column `column`.
fn cell(bank: u32, column: u32) -> u32 {
    return column * W + bank;
}

// The cell of element `position` of line `line`, with one cell of padding a line. Lanes that walk
// their own lines (line = lane) and lanes that walk one line together (position = lane) both meet
// each bank once, and both addresses are a base plus a constant.
fn padded(line: u32, position: u32) -> u32 {
    return line * (W + 1u) + position;
}

// This workgroup's number in a two-dimensional dispatch (more than 65,535 workgroups).
fn workgroup_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}
