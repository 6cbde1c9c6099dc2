// Workgroup memory for one-word keys: TILE_CELLS cells of a word. Cell i is in bank i % 32.

var<workgroup> tile: array<u32, TILE_CELLS>;

fn tile_load(cell: u32) -> Key {
    return tile[cell];
}

fn tile_store(cell: u32, key: Key) {
    tile[cell] = key;
}
