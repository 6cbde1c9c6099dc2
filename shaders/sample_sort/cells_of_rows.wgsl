// The same where keys are numbers of rows, with the rows beside them, which move with them: a row is read from its buffer once
// a sort, instead of once a stage by lanes each of which reads from elsewhere.
//
// No bank conflict with rows of a word, which lie as numbers do. Of those of two words neighbours' are two cells apart: no
// conflict where hardware takes both words at once; word by word, two lanes meet.

var<workgroup> tile_rows: array<user_row, TILE_CELLS>;

fn fill_cell(cell: u32, number: Record) {
    record_store(cell, number);
    // (What is no row's number has some row, which is not looked at.)
    tile_rows[cell] = compared_rows[select(number, 0u, number == LAST)];
}

// Puts the lesser record first.
fn order_cells(x: u32, y: u32) {
    let a = tile[x];
    let b = tile[y];
    let first = tile_rows[x];
    let second = tile_rows[y];
    let swap = precedes_by_rows(b, second, a, first);
    // (Written in any case: which lanes write does not depend on the rows.)
    var low_row = first;
    var high_row = second;
    if swap {
        low_row = second;
        high_row = first;
    }
    tile_rows[x] = low_row;
    tile_rows[y] = high_row;
    tile[x] = select(a, b, swap);
    tile[y] = select(b, a, swap);
}
