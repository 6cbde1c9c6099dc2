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
