// Writes gathered keys to words that they share: see store_packed.wgsl.
fn store_gathered(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    var words: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        words[j] = to_memory(decode((*r)[j]));
    }
    store_words(&words, lane, base, count);
}
