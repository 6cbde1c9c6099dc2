// Uses layout/each_item, layout/params, lib/workgroup.
//
// IOTA: writes 0, 1, 2 and so on.
//
// A lane writes 8 numbers, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        destination[i] = i;
    }
}
