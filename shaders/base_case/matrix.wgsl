// What base cases share.

// ---- fill_matrix

// The start of every base case: the parameters, loading 1024 keys, and filling a bank matrix.

struct Params {
    // Keys in the buffer.
    len: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Loads lane t's 32 of the keys from `base` to `keys_end`, and padding after them: coalesced.
fn load_keys(r: ptr<function, array<Key, 32>>, t: u32, base: u32, keys_end: u32) {
    // Subtract: a sum could exceed 2^32 in a tile past the last.
    if keys_end >= W * W && base <= keys_end - W * W {
        // Loads in branches, from a buffer that is also written, wait for one another: on an H200
        // the whole base case would take twice as long.
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

// Fills the bank matrix at cell `matrix` with the keys of `load_keys`; `r` is scratch.
fn fill_matrix(r: ptr<function, array<Key, 32>>, matrix: u32, t: u32, base: u32, keys_end: u32) {
    load_keys(r, t, base, keys_end);
    for (var j = 0u; j < W; j++) {
        tile_store(matrix + cell(t, j), (*r)[j]);
    }
}

// ---- transpose

// TRANSPOSE: transposes the bank matrix at cell `matrix` (paper, section 2.1).
//
// In round i lane t exchanges (t, t+i) and (t+i, t). There are W/2 rounds. In the last one only
// half of the lanes exchange cells, since both lanes of a pair would exchange the same two cells.
// The kernel has barriers before and after.
//
// No bank conflict: all lanes are in different rows, in both accesses.

fn transpose(matrix: u32, t: u32) {
    for (var i = 1u; i <= W / 2u; i++) {
        if i < W / 2u || t < W / 2u {
            let other = (t + i) % W;
            let upper = matrix + cell(t, other);
            let lower = matrix + cell(other, t);
            let key = tile_load(upper);
            tile_store(upper, tile_load(lower));
            tile_store(lower, key);
        }
    }
}
