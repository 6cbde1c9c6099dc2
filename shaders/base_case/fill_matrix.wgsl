// What both forms of the base case begin with: the parameters, and the filling of a bank matrix.

struct Params {
    // Keys in the buffer.
    len: u32,
    // The first matrix of this dispatch, and one past the last.
    first: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Fills the bank matrix at cell `matrix` with the keys from `base` up to `keys_end`, and with
// padding behind. All keys are read before any is stored: `r` is room for them.
fn fill_matrix(r: ptr<function, array<Key, 32>>, matrix: u32, t: u32, base: u32, keys_end: u32) {
    for (var j = 0u; j < W; j++) {
        (*r)[j] = decode(LAST);
        if base + cell(t, j) < keys_end {
            (*r)[j] = load_bits(base + cell(t, j));
        }
    }
    for (var j = 0u; j < W; j++) {
        tile_store(matrix + cell(t, j), encode((*r)[j]));
    }
}
