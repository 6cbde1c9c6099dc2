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
