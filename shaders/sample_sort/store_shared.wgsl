// Writes keys to words that they share, a sorted tile or gathered ones: see store_packed.wgsl.

fn store_tile(lane: u32, base: u32, count: u32) {
    store_packed(lane, base, count);
}

fn store_gathered(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    var words: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        words[j] = to_memory(decode((*r)[j]));
    }
    store_words(&words, lane, base, count);
}
