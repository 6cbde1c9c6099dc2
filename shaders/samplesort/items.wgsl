// What is to be sorted: the items of the list that `table` makes.

@group(0) @binding(5) var<storage, read> items: array<u32>;

struct Item {
    start: u32,
    count: u32,
    is_done: bool,
}

fn items_of_all() -> u32 {
    return items[0];
}

fn item_at(number: u32) -> Item {
    let at = 1u + 3u * number;
    return Item(items[at], items[at + 1u], items[at + 2u] == 1u);
}

// What is listed has been mapped already.
fn load_item(i: u32) -> Record {
    return load_source(i);
}
