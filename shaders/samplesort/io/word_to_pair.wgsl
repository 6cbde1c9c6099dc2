// Writes a word of a record to the target.

fn store_word(i: u32, word: u32, value: u32) {
    if word == 0u {
        target_values[i] = value;
    } else {
        target_keys[i] = value;
    }
}
