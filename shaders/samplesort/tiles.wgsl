// What is to be sorted: all records, tile by tile.

fn items_of_all() -> u32 {
    return (params.len + SORT_TILE - 1u) / SORT_TILE;
}

fn item_at(number: u32) -> Item {
    let start = number * SORT_TILE;
    return Item(start, min(SORT_TILE, params.len - start), false);
}

fn store_item(blocks: Blocks, place: u32, r: Record) {
    store_target(place, r);
}
