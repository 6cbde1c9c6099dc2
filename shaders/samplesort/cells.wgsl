// 16 cells of a tile in registers: a line, or a lane's part of a column. They are members of a
// structure and not an array: see src/samplesort/networks.rs. Each function does one thing to each
// cell.
//
// No bank conflict: see tile_sort.wgsl.

// ---- cells

struct Cells {
    c0: Record,
    c1: Record,
    c2: Record,
    c3: Record,
    c4: Record,
    c5: Record,
    c6: Record,
    c7: Record,
    c8: Record,
    c9: Record,
    c10: Record,
    c11: Record,
    c12: Record,
    c13: Record,
    c14: Record,
    c15: Record,
}

fn fetch_cells(blocks: Blocks, lane: u32) -> Cells {
    return Cells(
        fetch(blocks, lane, position_of(blocks, lane, 0u)),
        fetch(blocks, lane, position_of(blocks, lane, 1u)),
        fetch(blocks, lane, position_of(blocks, lane, 2u)),
        fetch(blocks, lane, position_of(blocks, lane, 3u)),
        fetch(blocks, lane, position_of(blocks, lane, 4u)),
        fetch(blocks, lane, position_of(blocks, lane, 5u)),
        fetch(blocks, lane, position_of(blocks, lane, 6u)),
        fetch(blocks, lane, position_of(blocks, lane, 7u)),
        fetch(blocks, lane, position_of(blocks, lane, 8u)),
        fetch(blocks, lane, position_of(blocks, lane, 9u)),
        fetch(blocks, lane, position_of(blocks, lane, 10u)),
        fetch(blocks, lane, position_of(blocks, lane, 11u)),
        fetch(blocks, lane, position_of(blocks, lane, 12u)),
        fetch(blocks, lane, position_of(blocks, lane, 13u)),
        fetch(blocks, lane, position_of(blocks, lane, 14u)),
        fetch(blocks, lane, position_of(blocks, lane, 15u)),
    );
}

fn encode_cells(cells: Cells) -> Cells {
    return Cells(
        encode_source(cells.c0),
        encode_source(cells.c1),
        encode_source(cells.c2),
        encode_source(cells.c3),
        encode_source(cells.c4),
        encode_source(cells.c5),
        encode_source(cells.c6),
        encode_source(cells.c7),
        encode_source(cells.c8),
        encode_source(cells.c9),
        encode_source(cells.c10),
        encode_source(cells.c11),
        encode_source(cells.c12),
        encode_source(cells.c13),
        encode_source(cells.c14),
        encode_source(cells.c15),
    );
}

fn pad_cells(blocks: Blocks, lane: u32, cells: Cells) -> Cells {
    return Cells(
        pad(blocks, lane, 0u, cells.c0),
        pad(blocks, lane, 1u, cells.c1),
        pad(blocks, lane, 2u, cells.c2),
        pad(blocks, lane, 3u, cells.c3),
        pad(blocks, lane, 4u, cells.c4),
        pad(blocks, lane, 5u, cells.c5),
        pad(blocks, lane, 6u, cells.c6),
        pad(blocks, lane, 7u, cells.c7),
        pad(blocks, lane, 8u, cells.c8),
        pad(blocks, lane, 9u, cells.c9),
        pad(blocks, lane, 10u, cells.c10),
        pad(blocks, lane, 11u, cells.c11),
        pad(blocks, lane, 12u, cells.c12),
        pad(blocks, lane, 13u, cells.c13),
        pad(blocks, lane, 14u, cells.c14),
        pad(blocks, lane, 15u, cells.c15),
    );
}

// ---- in_one_array

fn load_cells(at: Places) -> Cells {
    return Cells(
        load(at.a.x),
        load(at.a.y),
        load(at.a.z),
        load(at.a.w),
        load(at.b.x),
        load(at.b.y),
        load(at.b.z),
        load(at.b.w),
        load(at.c.x),
        load(at.c.y),
        load(at.c.z),
        load(at.c.w),
        load(at.d.x),
        load(at.d.y),
        load(at.d.z),
        load(at.d.w),
    );
}

fn store_cells(at: Places, cells: Cells) {
    store(at.a.x, cells.c0);
    store(at.a.y, cells.c1);
    store(at.a.z, cells.c2);
    store(at.a.w, cells.c3);
    store(at.b.x, cells.c4);
    store(at.b.y, cells.c5);
    store(at.b.z, cells.c6);
    store(at.b.w, cells.c7);
    store(at.c.x, cells.c8);
    store(at.c.y, cells.c9);
    store(at.c.z, cells.c10);
    store(at.c.w, cells.c11);
    store(at.d.x, cells.c12);
    store(at.d.y, cells.c13);
    store(at.d.z, cells.c14);
    store(at.d.w, cells.c15);
}

// ---- in_two_arrays

fn load_cells(at: PlacesInBoth) -> Cells {
    return Cells(
        load(at.pairs.a.x, at.words.a.x),
        load(at.pairs.a.y, at.words.a.y),
        load(at.pairs.a.z, at.words.a.z),
        load(at.pairs.a.w, at.words.a.w),
        load(at.pairs.b.x, at.words.b.x),
        load(at.pairs.b.y, at.words.b.y),
        load(at.pairs.b.z, at.words.b.z),
        load(at.pairs.b.w, at.words.b.w),
        load(at.pairs.c.x, at.words.c.x),
        load(at.pairs.c.y, at.words.c.y),
        load(at.pairs.c.z, at.words.c.z),
        load(at.pairs.c.w, at.words.c.w),
        load(at.pairs.d.x, at.words.d.x),
        load(at.pairs.d.y, at.words.d.y),
        load(at.pairs.d.z, at.words.d.z),
        load(at.pairs.d.w, at.words.d.w),
    );
}

fn store_cells(at: PlacesInBoth, cells: Cells) {
    store(at.pairs.a.x, at.words.a.x, cells.c0);
    store(at.pairs.a.y, at.words.a.y, cells.c1);
    store(at.pairs.a.z, at.words.a.z, cells.c2);
    store(at.pairs.a.w, at.words.a.w, cells.c3);
    store(at.pairs.b.x, at.words.b.x, cells.c4);
    store(at.pairs.b.y, at.words.b.y, cells.c5);
    store(at.pairs.b.z, at.words.b.z, cells.c6);
    store(at.pairs.b.w, at.words.b.w, cells.c7);
    store(at.pairs.c.x, at.words.c.x, cells.c8);
    store(at.pairs.c.y, at.words.c.y, cells.c9);
    store(at.pairs.c.z, at.words.c.z, cells.c10);
    store(at.pairs.c.w, at.words.c.w, cells.c11);
    store(at.pairs.d.x, at.words.d.x, cells.c12);
    store(at.pairs.d.y, at.words.d.y, cells.c13);
    store(at.pairs.d.z, at.words.d.z, cells.c14);
    store(at.pairs.d.w, at.words.d.w, cells.c15);
}

// ---- put

fn decode_cells(cells: Cells) -> Cells {
    return Cells(
        decode_target(cells.c0),
        decode_target(cells.c1),
        decode_target(cells.c2),
        decode_target(cells.c3),
        decode_target(cells.c4),
        decode_target(cells.c5),
        decode_target(cells.c6),
        decode_target(cells.c7),
        decode_target(cells.c8),
        decode_target(cells.c9),
        decode_target(cells.c10),
        decode_target(cells.c11),
        decode_target(cells.c12),
        decode_target(cells.c13),
        decode_target(cells.c14),
        decode_target(cells.c15),
    );
}

fn put_cells(blocks: Blocks, lane: u32, cells: Cells) {
    put_at(blocks, lane, 0u, cells.c0);
    put_at(blocks, lane, 1u, cells.c1);
    put_at(blocks, lane, 2u, cells.c2);
    put_at(blocks, lane, 3u, cells.c3);
    put_at(blocks, lane, 4u, cells.c4);
    put_at(blocks, lane, 5u, cells.c5);
    put_at(blocks, lane, 6u, cells.c6);
    put_at(blocks, lane, 7u, cells.c7);
    put_at(blocks, lane, 8u, cells.c8);
    put_at(blocks, lane, 9u, cells.c9);
    put_at(blocks, lane, 10u, cells.c10);
    put_at(blocks, lane, 11u, cells.c11);
    put_at(blocks, lane, 12u, cells.c12);
    put_at(blocks, lane, 13u, cells.c13);
    put_at(blocks, lane, 14u, cells.c14);
    put_at(blocks, lane, 15u, cells.c15);
}

// ---- bounds

// The least and the greatest record, word by word.
fn least_of(cells: Cells) -> Record {
    let a = min(min(cells.c0, cells.c1), min(cells.c2, cells.c3));
    let b = min(min(cells.c4, cells.c5), min(cells.c6, cells.c7));
    let c = min(min(cells.c8, cells.c9), min(cells.c10, cells.c11));
    let d = min(min(cells.c12, cells.c13), min(cells.c14, cells.c15));
    return min(min(a, b), min(c, d));
}

fn greatest_of(cells: Cells) -> Record {
    let a = max(max(cells.c0, cells.c1), max(cells.c2, cells.c3));
    let b = max(max(cells.c4, cells.c5), max(cells.c6, cells.c7));
    let c = max(max(cells.c8, cells.c9), max(cells.c10, cells.c11));
    let d = max(max(cells.c12, cells.c13), max(cells.c14, cells.c15));
    return max(max(a, b), max(c, d));
}

// ---- near

// The number of records that are near the record before.
fn near_cells(cells: Cells, lower_words: f32) -> u32 {
    let span = distance(cells.c0, cells.c15, lower_words);
    return near(cells.c0, cells.c1, lower_words, span)
        + near(cells.c1, cells.c2, lower_words, span)
        + near(cells.c2, cells.c3, lower_words, span)
        + near(cells.c3, cells.c4, lower_words, span)
        + near(cells.c4, cells.c5, lower_words, span)
        + near(cells.c5, cells.c6, lower_words, span)
        + near(cells.c6, cells.c7, lower_words, span)
        + near(cells.c7, cells.c8, lower_words, span)
        + near(cells.c8, cells.c9, lower_words, span)
        + near(cells.c9, cells.c10, lower_words, span)
        + near(cells.c10, cells.c11, lower_words, span)
        + near(cells.c11, cells.c12, lower_words, span)
        + near(cells.c12, cells.c13, lower_words, span)
        + near(cells.c13, cells.c14, lower_words, span)
        + near(cells.c14, cells.c15, lower_words, span);
}

// ---- spread

fn counters_of(blocks: Blocks, lane: u32, spread: Spread, cells: Cells) -> Places {
    return Places(
        vec4<u32>(
            counter_of(blocks, lane, spread, 0u, cells.c0),
            counter_of(blocks, lane, spread, 1u, cells.c1),
            counter_of(blocks, lane, spread, 2u, cells.c2),
            counter_of(blocks, lane, spread, 3u, cells.c3),
        ),
        vec4<u32>(
            counter_of(blocks, lane, spread, 4u, cells.c4),
            counter_of(blocks, lane, spread, 5u, cells.c5),
            counter_of(blocks, lane, spread, 6u, cells.c6),
            counter_of(blocks, lane, spread, 7u, cells.c7),
        ),
        vec4<u32>(
            counter_of(blocks, lane, spread, 8u, cells.c8),
            counter_of(blocks, lane, spread, 9u, cells.c9),
            counter_of(blocks, lane, spread, 10u, cells.c10),
            counter_of(blocks, lane, spread, 11u, cells.c11),
        ),
        vec4<u32>(
            counter_of(blocks, lane, spread, 12u, cells.c12),
            counter_of(blocks, lane, spread, 13u, cells.c13),
            counter_of(blocks, lane, spread, 14u, cells.c14),
            counter_of(blocks, lane, spread, 15u, cells.c15),
        ),
    );
}

fn scatter_cells(counters: Places, at: Places, cells: Cells) {
    scatter_own(counters.a.x, at.a.x, cells.c0);
    scatter_own(counters.a.y, at.a.y, cells.c1);
    scatter_own(counters.a.z, at.a.z, cells.c2);
    scatter_own(counters.a.w, at.a.w, cells.c3);
    scatter_own(counters.b.x, at.b.x, cells.c4);
    scatter_own(counters.b.y, at.b.y, cells.c5);
    scatter_own(counters.b.z, at.b.z, cells.c6);
    scatter_own(counters.b.w, at.b.w, cells.c7);
    scatter_own(counters.c.x, at.c.x, cells.c8);
    scatter_own(counters.c.y, at.c.y, cells.c9);
    scatter_own(counters.c.z, at.c.z, cells.c10);
    scatter_own(counters.c.w, at.c.w, cells.c11);
    scatter_own(counters.d.x, at.d.x, cells.c12);
    scatter_own(counters.d.y, at.d.y, cells.c13);
    scatter_own(counters.d.z, at.d.z, cells.c14);
    scatter_own(counters.d.w, at.d.w, cells.c15);
}
