// The sort of a tile of records that are dear to compare: Batcher's bitonic sort in workgroup
// memory, with one comparator in the text, which has the caller's function in it.
//
// Of two blocks that are sorted already the upper one is fetched backwards: what they are then
// takes one merge. (All rounds of a large item's loops count on lavapipe, which leaves undone what
// comes after 65,535.)
//
// No bank conflict: at distances below 32 the second 16 lanes of a warp take the records of their
// pairs in the other order. Rows that stay in their buffer are no matter of banks.

fn position_of(blocks: Blocks, i: u32) -> u32 {
    return select(blocks.low, blocks.high, i >= SORT_TILE / 2u) + i;
}

fn sort_tile(blocks: Blocks, lane: u32, count: u32) {
    for (var i = lane; i < SORT_TILE; i += LANES) {
        let is_backwards = blocks.are_sorted & (i >= SORT_TILE / 2u);
        let mirrored = SORT_TILE / 2u + SORT_TILE - 1u - i;
        let position = position_of(blocks, select(i, mirrored, is_backwards));
        cells_store(0u, SORT_TILE, i, padded_first(blocks, position, fetch(blocks, position)));
    }
    for (var size = select(2u, count, blocks.are_sorted); size <= count; size *= 2u) {
        for (var distance = size / 2u; distance > 0u; distance /= 2u) {
            workgroupBarrier();
            for (var pair = lane; pair < count / 2u; pair += LANES) {
                let i = 2u * pair - (pair & (distance - 1u));
                let turned = (distance < 32u) & ((pair & 16u) != 0u);
                let a = i + select(0u, distance, turned);
                let b = i + select(distance, 0u, turned);
                let x = cells_load(0u, SORT_TILE, a);
                let y = cells_load(0u, SORT_TILE, b);
                // Whether a's record is to be the lesser one.
                let ascending = ((i & size) == 0u) != turned;
                if is_greater(x, y) == ascending {
                    cells_store(0u, SORT_TILE, a, y);
                    cells_store(0u, SORT_TILE, b, x);
                }
            }
        }
    }
    workgroupBarrier();
}

fn tile_load(i: u32) -> Record {
    return cells_load(0u, SORT_TILE, i);
}
