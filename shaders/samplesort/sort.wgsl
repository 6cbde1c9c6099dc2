// SAMPLE SORT, sort: sorts items in tiles of SORT_TILE records, each in workgroup memory.
//
// An item is sorted in the rows of memory that it lies in, so that rows are read and written whole:
// in the tile, FIRST stands for what is before it in the first row, LAST for what is behind it.
//
// An item that no tile has room for is rare: it is sorted by this workgroup alone, in blocks of half a
// tile, by a bitonic network of blocks whose comparators all put the lesser records first: each is a
// sort of two blocks. An item that fits is one such comparator.
//
// No bank conflict: see `tile_sort.wgsl`. Lanes at consecutive records of a line, or of two lines,
// are in different banks.

const HALF: u32 = SORT_TILE / 2u;

// The records of two blocks that are sorted at once.
struct Blocks {
    // Where the lower block's records lie, and the upper one's less HALF.
    low: u32,
    high: u32,
    // Where the item's records begin and end.
    start: u32,
    end: u32,
    // Whether an item is larger than a tile, and its records are in the target already.
    is_large: bool,
}

// Of what is before an item only its first row is in a tile.
fn fetch_first(blocks: Blocks, place: u32) -> Record {
    return pick(fetch(blocks, max(place, blocks.start)), FIRST, place < blocks.start);
}

fn fetch(blocks: Blocks, place: u32) -> Record {
    let there = place < blocks.end;
    return pick(LAST, load_item(select(blocks.end - 1u, place, there)), there);
}

fn fetch_again(blocks: Blocks, place: u32) -> Record {
    let r = load_target(clamp(place, blocks.start, blocks.end - 1u));
    return pick(pick(r, LAST, place >= blocks.end), FIRST, place < blocks.start);
}

fn put(blocks: Blocks, place: u32, r: Record) {
    if place < blocks.end {
        store_target(place, pick(decode_target(r), r, blocks.is_large));
    }
}

fn put_first(blocks: Blocks, place: u32, r: Record) {
    if place >= blocks.start {
        put(blocks, place, r);
    }
}

fn sort_blocks(blocks: Blocks, lane: u32) {
    sort_tile(blocks, lane);
    // Records are put where other lanes have fetched some.
    storageBarrier();
    workgroupBarrier();
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
            if is_large {
                for (var i = start + lane; i < end; i += LANES) {
                    store_target(i, load_item(i));
                }
            }
            let blocks = max((end - first - 1u) / HALF + 1u, 2u);
            for (var size = 2u; size / 2u < blocks; size *= 2u) {
                for (var distance = size / 2u; distance > 0u; distance /= 2u) {
                    let flip = select(distance, size - 1u, distance == size / 2u);
                    for (var i = 0u; i < blocks; i++) {
                        let other = i ^ flip;
                        if other > i && other < blocks {
                            storageBarrier();
                            workgroupBarrier();
                            let low = first + i * HALF;
                            let high = first + (other - 1u) * HALF;
                            sort_blocks(Blocks(low, high, start, end, is_large), lane);
                        }
                    }
                }
            }
        }
        if item.is_done || is_large {
            storageBarrier();
            workgroupBarrier();
            for (var i = start + lane; i < end; i += LANES) {
                if item.is_done {
                    store_target(i, decode_target(load_item(i)));
                } else {
                    store_target(i, decode_target(load_target(i)));
                }
            }
        }
    }
}
