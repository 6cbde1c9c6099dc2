// IOTA: writes 0, 1, 2 and so on.
//
// A lane writes 8 numbers, LANES apart.
//
// No workgroup memory.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        destination[i] = i;
    }
}
