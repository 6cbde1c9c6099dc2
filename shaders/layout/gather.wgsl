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

fn items(first: u32) {
    let words = params.len * params.words;
    if first >= words {
        return;
    }
    // All loads of a kind are under way together: in turn, each would wait for the one before.
    var rows: array<u32, 8>;
    for (var j = 0u; j < 8u; j++) {
        let i = min(first + j * LANES, words - 1u);
        rows[j] = row_at(i / params.words);
    }
    var moved: array<u32, 8>;
    for (var j = 0u; j < 8u; j++) {
        let i = min(first + j * LANES, words - 1u);
        moved[j] = source[params.source_first + rows[j] * params.words + i % params.words];
    }
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES;
        if i < words {
            destination[params.destination_first + i] = moved[j];
        }
    }
}
