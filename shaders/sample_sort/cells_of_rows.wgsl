// The same where keys are numbers of rows, with the rows beside them, which move with them: a row is read from its buffer once
// a sort, instead of once a stage by lanes each of which reads from elsewhere.
//
// No bank conflict: each word of the rows has a plane of its own, in which a row's cell has the bank that its number's has.

// Plane after plane; TILE_CELLS is a multiple of the banks.
var<workgroup> tile_rows: array<u32, ROW_WORDS * TILE_CELLS>;

struct Pair {
    a: Record,
    b: Record,
    first: array<u32, ROW_WORDS>,
    second: array<u32, ROW_WORDS>,
}

fn fill_cell(cell: u32, number: Record) {
    record_store(cell, number);
    var words: array<u32, ROW_WORDS>;
    // (What is no row's number has some row, which is not looked at.)
    user_row_to(compared_rows[select(number, 0u, number == LAST)], &words);
    for (var word = 0u; word < ROW_WORDS; word++) {
        tile_rows[word * TILE_CELLS + cell] = words[word];
    }
}

fn load_pair(x: u32, y: u32) -> Pair {
    var pair: Pair;
    pair.a = tile[x];
    pair.b = tile[y];
    for (var word = 0u; word < ROW_WORDS; word++) {
        pair.first[word] = tile_rows[word * TILE_CELLS + x];
        pair.second[word] = tile_rows[word * TILE_CELLS + y];
    }
    return pair;
}

fn is_swapped(pair: Pair) -> bool {
    return precedes_by_rows(pair.b, user_row_of(pair.second), pair.a, user_row_of(pair.first));
}

// The same. (Written in any case: which lanes write does not depend on the rows.)
fn store_pair(x: u32, y: u32, pair: Pair, swap: bool) {
    tile[x] = select(pair.a, pair.b, swap);
    tile[y] = select(pair.b, pair.a, swap);
    for (var word = 0u; word < ROW_WORDS; word++) {
        let first = pair.first[word];
        let second = pair.second[word];
        tile_rows[word * TILE_CELLS + x] = select(first, second, swap);
        tile_rows[word * TILE_CELLS + y] = select(second, first, swap);
    }
}
