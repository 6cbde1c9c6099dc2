// Keys of a word or less are written back by one workgroup: see store_packed.wgsl.

fn store_word(word: u32, bits: u32) {
    keys[word] = bits;
}

// Writes those bits of a word that are `own`. (No other lane writes the others.)
fn store_part(word: u32, bits: u32, own: u32) {
    keys[word] = (keys[word] & ~own) | bits;
}
