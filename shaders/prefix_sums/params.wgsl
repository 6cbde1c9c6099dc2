// What all kernels of the prefix sums are told; a kernel reads what it needs.

struct Params {
    // Elements, and elements of a tile: a whole number of pages.
    len: u32,
    tile: u32,
    // Tiles: the paper's P.
    tiles: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The paper's d. Elements whose color is not below it have no color.
    colors: u32,
    // Columns of 32 cells of a row of `tile_sums`; tiles of a lane: P / 32, rounded up.
    rounds: u32,
    // 1: an element's own value is not in its sum.
    exclusive: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
