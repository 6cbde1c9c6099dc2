// The cells that sort_tile_by_stages.wgsl sorts: records.

fn fill_cell(cell: u32, record: Record) {
    record_store(cell, record);
}

struct Pair {
    a: Record,
    b: Record,
}

fn load_pair(x: u32, y: u32) -> Pair {
    return Pair(tile[x], tile[y]);
}

fn is_swapped(pair: Pair) -> bool {
    return precedes(pair.b, pair.a);
}

// Stores a pair, exchanged if `swap` says so.
fn store_pair(x: u32, y: u32, pair: Pair, swap: bool) {
    tile[x] = select(pair.a, pair.b, swap);
    tile[y] = select(pair.b, pair.a, swap);
}
