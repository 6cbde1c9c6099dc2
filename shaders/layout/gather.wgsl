// GATHER: moves payload rows to the order of the sort, or copies them; or copies keys to where a
// mergesort begins.
//
// `source`, `destination`: rows (or keys) of `words` words, from a word of each on. What is behind
// the last row keeps its bits.
//
// A lane moves 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    let words = params.len * params.words;
    if i < words {
        let row = i / params.words;
        let taken = row_at(row) * params.words + (i - row * params.words);
        destination[params.destination_first + i] = source[params.source_first + taken];
    }
}
