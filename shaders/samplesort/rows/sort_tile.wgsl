// The tile sort for records that are expensive to compare: Batcher's bitonic sort in workgroup
// memory. The user's comparator is inlined in one place only.
//
// If two blocks are already sorted, the upper one is fetched in reverse, so that one merge sorts
// them. This saves loop iterations: lavapipe ends all loops of a shader, even unfinished ones,
// after 65,535 iterations in total, and a large item has many.
//
// No bank conflict: at distances below 32 the second 16 lanes of a warp access the two records of
// their pairs in reverse order. Rows that stay in their buffer are not in workgroup memory.

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
                let swapped = (distance < 32u) & ((pair & 16u) != 0u);
                let a = i + select(0u, distance, swapped);
                let b = i + select(distance, 0u, swapped);
                let x = cells_load(0u, SORT_TILE, a);
                let y = cells_load(0u, SORT_TILE, b);
                // True if a's record must become the smaller one.
                let ascending = ((i & size) == 0u) != swapped;
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
