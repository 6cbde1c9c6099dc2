// Uses layout/each_item, layout/params, layout/row, lib/workgroup.
//
// GATHER: moves payload rows to sorted order, or copies them. Also copies keys to the buffer where
// a mergesort begins.
//
// `source`, `destination`: rows (or keys) of `words` words, each from its own first word on.
// Everything after the last row keeps its bits.
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
        let word = row_at(row) * params.words + (i - row * params.words);
        destination[params.destination_first + i] = source[params.source_first + word];
    }
}
