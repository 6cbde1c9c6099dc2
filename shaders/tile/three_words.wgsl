// Workgroup memory for three-word keys: three planes of TILE_CELLS words, as in two_words.wgsl.

var<workgroup> tile_low: array<u32, TILE_CELLS>;
var<workgroup> tile_high: array<u32, TILE_CELLS>;
var<workgroup> tile_arrays: array<u32, TILE_CELLS>;

fn tile_load(cell: u32) -> Key {
    return vec3<u32>(tile_low[cell], tile_high[cell], tile_arrays[cell]);
}

// The same, of a cell that the keys lead to: what searches meets in banks.
fn tile_probe(cell: u32) -> Key {
    return vec3<u32>(tile_low[cell], tile_high[cell], tile_arrays[cell]);
}

fn tile_store(cell: u32, key: Key) {
    tile_low[cell] = key.x;
    tile_high[cell] = key.y;
    tile_arrays[cell] = key.z;
}

// A cell's first word, to be used for something else than a key.
fn word_load(cell: u32) -> u32 {
    return tile_low[cell];
}

fn word_store(cell: u32, word: u32) {
    tile_low[cell] = word;
}

// The same, of a cell that the keys lead to.
fn word_probe(cell: u32) -> u32 {
    return tile_low[cell];
}

fn word_mark(cell: u32, word: u32) {
    tile_low[cell] = word;
}
