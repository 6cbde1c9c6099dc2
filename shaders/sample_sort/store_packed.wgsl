// Writes a tile's keys to words that they share, 2^key_shift each.
//
// A lane that writes a word needs keys of other lanes. They pass through workgroup memory in 2^key_shift planes: the keys of places p
// with the same p mod 2^key_shift lie one behind the other, and planes begin 32 / 2^key_shift banks apart. So lanes that store keys of 32
// consecutive places, and lanes that load keys of every 2^key_shift'th place, wherever the first is, each meet a bank once.

fn plane_cell(at: u32) -> u32 {
    let plane = at & ((1u << params.key_shift) - 1u);
    return plane * ((TILE + 32u) >> params.key_shift) + (at >> params.key_shift);
}

fn store_words(words: ptr<function, array<u32, 32>>, lane: u32, base: u32, count: u32) {
    workgroupBarrier();
    for (var j = 0u; j < 32u; j++) {
        word_store(plane_cell(place(lane, j)), (*words)[j]);
    }
    workgroupBarrier();
    let key_bits = 32u >> params.key_shift;
    let first = params.key_first + base;
    // Keys of the first word that lie before this tile's.
    let before = first & ((1u << params.key_shift) - 1u);
    for (var number = lane; (number << params.key_shift) < before + count; number += LANES) {
        var bits = 0u;
        var own = 0u;
        for (var i = 0u; i < (1u << params.key_shift); i++) {
            // (One before the tile's is none, too: it is greater than all.)
            let at = (number << params.key_shift) + i - before;
            if at < count {
                bits |= (word_load(plane_cell(at)) >> (32u - key_bits)) << (i * key_bits);
                own |= (0xffffffffu >> (32u - key_bits)) << (i * key_bits);
            }
        }
        let word = (first >> params.key_shift) + number;
        if own == 0xffffffffu {
            store_word(word, bits);
        } else {
            store_part(word, bits, own);
        }
    }
}

fn store_packed(lane: u32, base: u32, count: u32) {
    var words: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        words[j] = to_memory(decode(tile_load(place_cell(lane, j))));
    }
    store_words(&words, lane, base, count);
}
