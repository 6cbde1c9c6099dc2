// Uses layout/each_item, layout/params, lib/workgroup.
//
// CLEAR: writes params.words words of 0 to `destination`, from word destination_first on.
//
// A lane writes 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.words {
        destination[params.destination_first + i] = 0u;
    }
}
