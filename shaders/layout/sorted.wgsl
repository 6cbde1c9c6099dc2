// Sorted keys, for decode_keys.wgsl and decode_wide_keys.wgsl. A kernel takes one section.

// ---- words

// DECODE from sorted words: the key is the first of every source_stride words.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The mapped key of a rank.
fn key_at(rank: u32, known: ptr<function, u32>) -> u32 {
    return source[rank * params.source_stride];
}

// ---- counts

// DECODE from a counting sort: `ends` has the end of each key's copies, see add_group_sums.wgsl.

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
