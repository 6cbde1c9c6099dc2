// Uses layout/each_item, layout/params, lib/workgroup.
//
// How words are moved, or written. A kernel takes the section of its name; `gather`, and a copy,
// which is one, also take a section for the row that moves to a rank.

// ---- by_index

// `order`: from word order_first on, the row for each rank. There are params.rows.

@group(0) @binding(3) var<storage, read> order: array<u32>;

fn row_at(rank: u32) -> u32 {
    // Clamped: the user may overwrite the indices between two submissions of a sort.
    return min(order[params.order_first + rank], params.rows - 1u);
}

// ---- in_place

// A copy: rows keep their order.

fn row_at(rank: u32) -> u32 {
    return rank;
}

// ---- gather

// GATHER: moves payload rows to sorted order, or copies them. Also copies keys to the buffer where
// a mergesort begins.
//
// `source`, `destination`: rows (or keys) of `words` words, each from its own first word on.
// Everything after the last row keeps its bits.
//
// A lane moves 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn items(first: u32) {
    let words = params.len * params.words;
    if first >= words {
        return;
    }
    // All loads of a kind are under way together: in turn, each would wait for the one before.
    var rows: array<u32, 8>;
    for (var j = 0u; j < 8u; j++) {
        let i = min(first + j * LANES, words - 1u);
        rows[j] = row_at(i / params.words);
    }
    var moved: array<u32, 8>;
    for (var j = 0u; j < 8u; j++) {
        let i = min(first + j * LANES, words - 1u);
        moved[j] = source[params.source_first + rows[j] * params.words + i % params.words];
    }
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES;
        if i < words {
            destination[params.destination_first + i] = moved[j];
        }
    }
}

// ---- scatter

// SCATTER: moves words to places that are no neighbours. See parts.rs.
//
// `source`: a word for each place. `places`: where in `destination` it goes. No place is there
// twice.
//
// A lane moves 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;
@group(0) @binding(3) var<storage, read> places: array<u32>;

fn item(i: u32) {
    if i < params.len {
        let place = places[i];
        if place < params.room {
            destination[place] = source[i];
        }
    }
}

// ---- iota

// IOTA: writes 0, 1, 2 and so on.
//
// A lane writes 8 numbers, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        destination[i] = i;
    }
}

// ---- clear

// CLEAR: writes params.words words of 0 to `destination`, from word destination_first on.
//
// A lane writes 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.words {
        destination[params.destination_first + i] = 0u;
    }
}
