// The d x P matrix of the tiles' sums in storage, a row per color. In phase 2 each of 32 lanes
// reads `rounds` = ceil(P / 32) consecutive tiles of a row. For coalescing, a row is stored in the
// order of these reads: the lanes' first tiles, then their second ones, and so on.

// The color of positions past the last element: no color.
const NONE: u32 = 0xffffffffu;

// The cell of a color and tile.
fn tile_cell(color: u32, tile: u32, rounds: u32) -> u32 {
    return (color * rounds + tile % rounds) * W + tile / rounds;
}
