// SAMPLE SORT, sort: sorts items in tiles of SORT_TILE records, each in workgroup memory. Items are
// those of the list that `table` makes, or all records, tile by tile.
//
// An item is sorted in the rows of memory that it lies in, so that rows are read and written whole:
// in the tile, FIRST stands for what is before it in the first row, LAST for what is behind it.
//
// An item that no tile has room for is rare: it is sorted by this workgroup alone, in blocks of
// half a tile, by a bitonic network of blocks whose comparators all put the lesser records first:
// each is a sort of two blocks. An item that fits is one such comparator. (The large one is sorted
// in its source, so that it is always read there, and moved at the end.)
//
// No bank conflict: see `tile_sort.wgsl`. Lanes at consecutive records of a line, or of two lines,
// are in different banks.

@group(0) @binding(5) var<storage, read> items: array<u32>;

const HALF: u32 = SORT_TILE / 2u;

// An item: neighbour records that are sorted by one workgroup.
struct Item {
    start: u32,
    count: u32,
    // Whether they are in order already.
    is_done: bool,
}

fn items_of_all() -> u32 {
    var all = (params.len + SORT_TILE - 1u) / SORT_TILE;
    if params.is_listed == 1u {
        all = items[0];
    }
    return all;
}

fn item_at(number: u32) -> Item {
    let start = number * SORT_TILE;
    var item = Item(start, min(SORT_TILE, params.len - start), false);
    if params.is_listed == 1u {
        let at = 1u + 3u * number;
        item = Item(items[at], items[at + 1u], items[at + 2u] == 1u);
    }
    return item;
}

// The records of two blocks that are sorted at once.
struct Blocks {
    // Where the lower block's records lie, and the upper one's less HALF.
    low: u32,
    high: u32,
    // Whether the records of each are in order.
    are_sorted: bool,
    // Where the item's records begin and end.
    start: u32,
    end: u32,
    // Whether an item is larger than a tile.
    is_large: bool,
}

fn fetch(blocks: Blocks, position: u32) -> Record {
    return load_source(clamp(position, blocks.start, blocks.end - 1u));
}

// The record that is in the tile for what is fetched. Of what is before an item only its first row
// is.
fn padded(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(LAST, r, position < blocks.end);
}

fn padded_first(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(padded(blocks, position, r), FIRST, position < blocks.start);
}

// A record of an item that no tile has room for stays where it is sorted.
fn put(blocks: Blocks, position: u32, r: Record) {
    if position < blocks.end {
        if blocks.is_large {
            store_source(position, r);
        } else {
            store_target(position, r);
        }
    }
}

fn put_first(blocks: Blocks, position: u32, r: Record) {
    if position >= blocks.start {
        put(blocks, position, r);
    }
}

fn sort_blocks(blocks: Blocks, lane: u32) {
    sort_tile(blocks, lane, SORT_TILE);
    // Records are put where other lanes have fetched some.
    storageBarrier();
    put_tile(blocks, lane);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let stride = groups.x * groups.y;
    let all = min(items_of_all(), params.end);
    for (var number = workgroup_number(group, groups); number < all; number += stride) {
        let item = item_at(number);
        let start = item.start;
        let end = item.start + item.count;
        let first = start / 32u * 32u;
        let is_large = end - first > SORT_TILE;
        if !item.is_done {
            let blocks = max((end - first - 1u) / HALF + 1u, 2u);
            for (var size = 2u; size / 2u < blocks; size *= 2u) {
                for (var distance = size / 2u; distance > 0u; distance /= 2u) {
                    let flip = select(distance, size - 1u, distance == size / 2u);
                    for (var i = 0u; i < blocks; i++) {
                        let other = i ^ flip;
                        if other > i && other < blocks {
                            workgroupBarrier();
                            if is_large {
                                storageBarrier();
                            }
                            let low = first + i * HALF;
                            let high = first + (other - 1u) * HALF;
                            // (Of an odd number of blocks the last one has no other to begin with.)
                            let are_sorted = size > 2u && (other ^ 1u) < blocks;
                            sort_blocks(Blocks(low, high, are_sorted, start, end, is_large), lane);
                        }
                    }
                }
            }
        }
        if item.is_done || is_large {
            storageBarrier();
            workgroupBarrier();
            for (var i = start + lane; i < end; i += LANES) {
                store_target(i, decode_target(load_source(i)));
            }
        }
    }
}
