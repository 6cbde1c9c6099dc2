// Writes a word of a record to the target.

fn store_word(i: u32, word: u32, value: u32) {
    if word == 0u {
        target_keys[i].x = value;
    } else {
        target_keys[i].y = value;
    }
}
