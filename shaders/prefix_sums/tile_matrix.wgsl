// The d x P matrix of the tiles' sums, a row a color, in storage. The second phase gives each of
// its 32 lanes `rounds` = ceil(P / 32) consecutive tiles of a row, and they read theirs at the same
// time: so the sums of a row lie in the order in which they are read, the lanes' first ones in
// front.

// What stands for no color: elements of no color, and the room behind the last element.
const NONE: u32 = 0xffffffffu;

// The cell of a color and a tile.
fn tile_cell(color: u32, tile: u32, rounds: u32) -> u32 {
    return (color * rounds + tile % rounds) * W + tile / rounds;
}
