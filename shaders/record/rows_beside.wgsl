// Rows in a buffer of their own; or, where they are of no words, their indices are wanted there.

@group(0) @binding(2) var<storage, read_write> rows: array<u32>;

fn row_load(word: u32) -> u32 {
    return rows[word];
}

fn row_store(word: u32, bits: u32) {
    rows[word] = bits;
}

fn store_sorted(lane: u32, count: u32) {
    var indices: array<u32, 32>;
    load_indices(&indices, lane, count);
    if params.row_words == 0u {
        for (var j = 0u; j < 32u; j++) {
            if place(lane, j) < count {
                row_store(params.row_first + place(lane, j), indices[j]);
            }
        }
    }
    move_words(&indices, lane, count);
    if params.puts_keys == 1u {
        store_tile(lane, 0u, count);
    }
}
