// Workgroup memory as an array of words: the records from word `base` on, in planes of `plane`
// words, one plane for each word of a record. Consecutive records are in different banks.

var<workgroup> cells: array<u32, CELLS>;

fn cells_load(base: u32, plane: u32, i: u32) -> Record {
    return cells[base + i];
}

fn cells_store(base: u32, plane: u32, i: u32, r: Record) {
    cells[base + i] = r;
}
