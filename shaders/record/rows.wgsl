// Rows go with the keys of a tile.

// Which of a tile's `count` records each of a lane's is, and some of them where there is none.
fn load_indices(indices: ptr<function, array<u32, 32>>, lane: u32, count: u32) {
    for (var j = 0u; j < 32u; j++) {
        (*indices)[j] = min(tile_values[place_cell(lane, j)], count - 1u);
    }
}

// Moves the rows of a tile's `count` records to where these are now, word by word: no lane writes one before all have read it.
fn move_words(indices: ptr<function, array<u32, 32>>, lane: u32, count: u32) {
    for (var word = 0u; word < params.row_words; word++) {
        var words: array<u32, 32>;
        for (var j = 0u; j < 32u; j++) {
            words[j] = row_load(params.row_first + (*indices)[j] * params.row_words + word);
        }
        storageBarrier();
        for (var j = 0u; j < 32u; j++) {
            if place(lane, j) < count {
                row_store(params.row_first + place(lane, j) * params.row_words + word, words[j]);
            }
        }
    }
}
