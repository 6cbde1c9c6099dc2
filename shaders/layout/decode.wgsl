// Uses layout/each_item, layout/params, lib/key_map, lib/workgroup.
//
// How the user's keys are decoded. A kernel takes the section of its name, and before it one of
// sorted keys.

// ---- words

// DECODE from sorted words: the key is the first of every source_stride words.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The mapped key of a rank.
fn key_at(rank: u32, known: ptr<function, u32>) -> u32 {
    return source[rank * params.source_stride];
}

// ---- counts

// DECODE from a counting sort: `ends` has the end of each key's copies, see counting.wgsl.

@group(0) @binding(1) var<storage, read> ends: array<u32>;

// The mapped key of a rank, in the upper bits of a word: the first key whose copies end after the
// rank. `known`: the bin of the previous rank's key, which is mostly the same key; or 0.
fn key_at(rank: u32, known: ptr<function, u32>) -> u32 {
    let bits = 32u >> params.key_shift;
    if ends[*known] <= rank {
        *known = 0u;
        for (var step = 1u << (bits - 1u); step > 0u; step /= 2u) {
            if ends[*known + step - 1u] <= rank {
                *known += step;
            }
        }
    }
    return *known << (32u - bits);
}

// ---- wide_words

// DECODE of 64-bit keys from records of two words: a key's low word and its high word.

fn key_at(rank: u32) -> vec2<u32> {
    return vec2<u32>(source[2u * rank], source[2u * rank + 1u]);
}

// ---- segment_words

// DECODE of 64-bit keys from records of (high word, segment), with the low word as value.

@group(0) @binding(3) var<storage, read> values: array<u32>;

fn key_at(rank: u32) -> vec2<u32> {
    return vec2<u32>(values[rank], source[2u * rank]);
}

// ---- decode_keys

// DECODE: keys of 8, 16 or 32 bits from sorted words, or from the histogram of a counting sort.
//
// `source` or `ends`: see above. `destination`: the words of the key buffer, from key number
// key_first on, with 2^key_shift keys in each. Other keys in the first and the last word keep their
// bits, and so does everything after the last record.
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

// ---- decode_wide_keys

// DECODE: keys of 64 bits from sorted words.
//
// `source`, `values`: see above. `destination`: the words of the key buffer, from key number
// key_first on.
//
// A lane decodes 8 keys, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        let key = decode_key(key_at(i), key_sign(), key_flip());
        let at = 2u * (params.key_first + i);
        destination[at] = key.x;
        destination[at + 1u] = key.y;
    }
}
