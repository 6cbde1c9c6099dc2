// What the base cases begin with: the parameters, the loading of 1024 keys, and the filling of a
// bank matrix.

struct Params {
    // Keys in the buffer.
    len: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Lane t's 32 of the keys from `base` up to `keys_end`, and padding behind: coalesced.
fn load_keys(r: ptr<function, array<Key, 32>>, t: u32, base: u32, keys_end: u32) {
    // (A sum could pass 2^32, in a tile past the last.)
    if keys_end >= W * W && base <= keys_end - W * W {
        // With a branch around each of them, loads from a buffer that is written, too, wait for one
        // another: twice the time of the whole base case on an H200.
        for (var j = 0u; j < W; j++) {
            (*r)[j] = load_key(base + cell(t, j));
        }
    } else {
        for (var j = 0u; j < W; j++) {
            (*r)[j] = LAST;
            if base + cell(t, j) < keys_end {
                (*r)[j] = load_key(base + cell(t, j));
            }
        }
    }
}

// Fills the bank matrix at cell `matrix` with these keys; `r` is room for them.
fn fill_matrix(r: ptr<function, array<Key, 32>>, matrix: u32, t: u32, base: u32, keys_end: u32) {
    load_keys(r, t, base, keys_end);
    for (var j = 0u; j < W; j++) {
        tile_store(matrix + cell(t, j), (*r)[j]);
    }
}
