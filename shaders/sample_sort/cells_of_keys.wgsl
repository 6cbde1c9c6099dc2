// The cells that sort_tile_by_stages.wgsl sorts: records.

fn fill_cell(cell: u32, record: Record) {
    record_store(cell, record);
}

// Puts the lesser record first.
fn order_cells(x: u32, y: u32) {
    let a = tile[x];
    let b = tile[y];
    let swap = precedes(b, a);
    tile[x] = select(a, b, swap);
    tile[y] = select(b, a, swap);
}
