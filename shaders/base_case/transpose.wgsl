// TRANSPOSE: turns the bank matrix at cell `matrix`, for the base cases that do (paper, section
// 2.1).
//
// Round i exchanges (t, t+i) and (t+i, t), for lane t: W/2 rounds, in the last of which half of the
// lanes move, since both lanes of a pair would exchange the same two cells. Barriers stand before
// and after.
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
