// An item: neighbour records that are sorted by one workgroup.

struct Item {
    start: u32,
    count: u32,
    // Whether they are in order already.
    is_done: bool,
}
