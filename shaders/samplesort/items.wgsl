// What is to be sorted: the items of the list that `table` makes.

@group(0) @binding(5) var<storage, read> items: array<u32>;

fn items_of_all() -> u32 {
    return items[0];
}

fn item_at(number: u32) -> Item {
    let at = 1u + 3u * number;
    return Item(items[at], items[at + 1u], items[at + 2u] == 1u);
}

// A record of an item that no tile has room for stays where it is sorted.
fn store_item(blocks: Blocks, place: u32, r: Record) {
    if blocks.is_large {
        store_source(place, r);
    } else {
        store_target(place, r);
    }
}
