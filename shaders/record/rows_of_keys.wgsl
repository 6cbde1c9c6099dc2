// Rows that the keys are fields of.

fn row_load(word: u32) -> u32 {
    return keys[word];
}

fn row_store(word: u32, bits: u32) {
    keys[word] = bits;
}

fn store_sorted(lane: u32, count: u32) {
    var indices: array<u32, 32>;
    load_indices(&indices, lane, count);
    move_words(&indices, lane, count);
}
