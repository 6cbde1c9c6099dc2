// The values that colored prefix sums add up, the parameters, and the sums of tiles. A kernel takes
// the section for the type of its values.

// ---- integers

// Values of type u32. Sums of i32 have the same bits, since both types wrap.

alias Value = u32;

const ZERO: Value = 0u;

fn to_word(value: Value) -> u32 {
    return value;
}

fn from_word(word: u32) -> Value {
    return word;
}

// ---- floats

// Values of type f32. They are only added, two at a time, in an order that does not depend on
// timing. So every device that rounds as IEEE 754 specifies gets the same bits.

alias Value = f32;

const ZERO: Value = 0.0;

fn to_word(value: Value) -> u32 {
    return bitcast<u32>(value);
}

fn from_word(word: u32) -> Value {
    return bitcast<f32>(word);
}

// ---- params

// Parameters of all prefix-sum kernels; each kernel reads the ones it needs.

struct Params {
    // Elements, and elements of a tile, which is a whole number of pages.
    len: u32,
    tile: u32,
    // Tiles: the paper's P.
    tiles: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The paper's d. An element with a color of at least d has no color.
    colors: u32,
    // Columns of 32 cells in a row of `tile_sums`, and tiles per lane: P / 32, rounded up.
    rounds: u32,
    // 1: exclusive sums, without the element's own value.
    exclusive: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// ---- tile_matrix

// The d x P matrix of the tiles' sums in storage, a row per color. In phase 2 each of 32 lanes
// reads `rounds` = ceil(P / 32) consecutive tiles of a row. For coalescing, a row is stored in the
// order of these reads: the lanes' first tiles, then their second ones, and so on.

// The color of positions past the last element: no color.
const NONE: u32 = 0xffffffffu;

// The cell of a color and tile.
fn tile_cell(color: u32, tile: u32, rounds: u32) -> u32 {
    return (color * rounds + tile % rounds) * W + tile / rounds;
}
