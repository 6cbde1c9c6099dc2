// Uses layout/each_item, layout/params, layout/sorted, lib/key_map, lib/workgroup.
//
// DECODE: keys of 8, 16 or 32 bits from sorted words, or from the histogram of a counting sort.
//
// `source` or `ends`: see sorted.wgsl. `destination`: the words of the
// key buffer, from key number key_first on, with 2^key_shift keys in each. Other keys in the first
// and the last word keep their bits, and so does everything after the last record.
//
// A lane owns 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    let bits = 32u >> params.key_shift;
    let mask = 0xffffffffu >> (32u - bits);
    let key_end = params.key_first + params.len;
    let word = (params.key_first >> params.key_shift) + i;
    let begin = max(word << params.key_shift, params.key_first);
    let end = min((word + 1u) << params.key_shift, key_end);
    if begin < end {
        var stored = destination[word];
        var known = 0u;
        for (var at = begin; at < end; at++) {
            let ordered = key_at(at - params.key_first, &known);
            let key = decode_key(ordered, key_sign(), key_flip()) >> (32u - bits);
            let shift = (at & ((1u << params.key_shift) - 1u)) * bits;
            stored = (stored & ~(mask << shift)) | (key << shift);
        }
        destination[word] = stored;
    }
}
