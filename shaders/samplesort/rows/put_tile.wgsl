// Stores the sorted records of a tile.

fn put_tile(blocks: Blocks, lane: u32) {
    for (var i = lane; i < SORT_TILE; i += LANES) {
        put_first(blocks, position_of(blocks, i), tile_load(i));
    }
}
