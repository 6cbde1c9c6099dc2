// Uses lib/key_map, lib/workgroup, samplesort/cells, samplesort/io, samplesort/params,
// samplesort/shape, samplesort/spread, samplesort/tile_sort.
//
// SAMPLE SORT, sort: sorts items in tiles of SORT_TILE records in workgroup memory. Items are from
// the list of `table`, or each tile of all records is an item.
//
// A tile begins where the item's first row of memory (32 records) begins, so rows are read and
// written whole. The tile is padded with FIRST before the item and with LAST after it.
//
// An item larger than a tile is rare. One workgroup sorts it by a bitonic network over blocks of
// half a tile, in which each comparator sorts two blocks, with the smaller records first. An item
// that fits a tile is one such comparator. A large item is sorted in its source, so that all
// comparators read from there, and is moved to the target at the end.
//
// Clamped as in `segments.wgsl`: an item is within the records.
//
// No bank conflict: see `tile_sort.wgsl`.

@group(0) @binding(5) var<storage, read> items: array<u32>;

const HALF: u32 = SORT_TILE / 2u;

// An item: contiguous records that one workgroup sorts.
struct Item {
    start: u32,
    count: u32,
    // True if they need no sort.
    is_done: bool,
    // True if the samples of their segment were even.
    is_even: bool,
}

fn items_of_all() -> u32 {
    var all = (params.len + SORT_TILE - 1u) / SORT_TILE;
    if params.is_listed == 1u {
        all = min(items[0], params.items);
    }
    return all;
}

fn item_at(number: u32) -> Item {
    let start = number * SORT_TILE;
    var item = Item(start, min(SORT_TILE, params.len - start), false, false);
    if params.is_listed == 1u {
        let at = 1u + 3u * number;
        let begin = min(items[at], params.len);
        let count = min(items[at + 1u], params.len - begin);
        let state = items[at + 2u];
        item = Item(begin, count, state == DONE || count == 0u, state == EVEN);
    }
    return item;
}

// Two blocks to sort together.
struct Blocks {
    // The position of the lower block, and that of the upper block minus HALF.
    low: u32,
    high: u32,
    // True if each block is sorted.
    are_sorted: bool,
    // The item's records: [start, end).
    start: u32,
    end: u32,
    // True if the item is larger than a tile.
    is_large: bool,
    // True if the item fits a tile, and the samples of its segment were even.
    is_even: bool,
}

// Replaces a fetched record with padding. Only the tile's first row has positions before the item,
// so only `padded_first` checks for these.
fn padded(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(LAST, r, position < blocks.end);
}

fn padded_first(blocks: Blocks, position: u32, r: Record) -> Record {
    return pick(padded(blocks, position, r), FIRST, position < blocks.start);
}

fn put(blocks: Blocks, position: u32, r: Record) {
    if position < blocks.end {
        store_sorted(position, r, blocks.is_large);
    }
}

fn put_first(blocks: Blocks, position: u32, r: Record) {
    if position >= blocks.start {
        put(blocks, position, r);
    }
}

fn sort_blocks(blocks: Blocks, lane: u32) {
    sort_tile(blocks, lane, SORT_TILE);
    end_fetches(blocks);
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
    let own = params.first + workgroup_number(group, groups);
    for (var number = own; number < all; number += stride) {
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
                            // With an odd number of blocks the first stage leaves out the last one.
                            let are_sorted = size > 2u && (other ^ 1u) < blocks;
                            let is_even = item.is_even && !is_large;
                            sort_blocks(
                                Blocks(low, high, are_sorted, start, end, is_large, is_even),
                                lane,
                            );
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
