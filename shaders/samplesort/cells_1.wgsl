// Workgroup memory as words: records from the word `base` on, a plane of `plane` words for each of
// their words. Lanes at consecutive records are in different banks.

var<workgroup> cells: array<u32, CELLS>;

fn cells_load(base: u32, plane: u32, i: u32) -> Record {
    return cells[base + i];
}

fn cells_store(base: u32, plane: u32, i: u32, r: Record) {
    cells[base + i] = r;
}
