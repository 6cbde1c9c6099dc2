// The sort of a tile of records in workgroup memory.
//
// A line is the row of the tile that a lane holds in a line pass: 16 cells. A cell is a record of
// one to three words. Lanes store only whole cells: to write a component of a vector that another
// lane uses is a race, by WGSL's rules and on Metal.
//
// Each lane sorts a line. Then lines are merged, two, four and so on: a merge compares the cells of
// a column, those at one place of several lines, and then merges each line by itself. The first
// stage compares a block's lower half with its upper half in reverse order: the lines, and their
// cells. So in the upper half a lane has the opposite column: cell 15 - c in
// place of c and, where lines are STRIDE apart and l is the lowest, those from STRIDE - 1 - l on.
// The stages that follow compare lines of one column, also in the upper half, where the order is
// reversed: a reversed bitonic sequence is bitonic.
//
// The networks are functions that `src/samplesort/networks.rs` writes: `sort_line`, `merge_line`;
// `cross_K`, which compares lines with lines to merge 2^K of them, and leaves each line to
// `merge_line`; `clean`, the stages of a larger merge that compare near lines. In a compact kernel
// they are stages: `cross_first_K`, the first of `cross_K`, and `compare_N`, which compares lines
// that are N apart.
//
// `cells.wgsl` has 16 cells in registers, of which the networks take the records out and put them
// back. `Blocks`, `fetch`, `padded`, `padded_first`, and where it writes `put` and `put_first` are
// the kernel's own. A kernel takes `places`, one or both of `words` and `pairs`, what has a cell's
// number of words, `unrolled` or `compact`, `sort`, and one of each pair of sections that are named
// alike.
//
// No bank conflict. The cells of each line are permuted, so that there is none if each lane
// accesses its own line, or if the lanes access consecutive cells of a line. Pairs are accessed by
// half a warp at a time: the 16 cells of a line, or one cell of each of 16 lines, are in different
// banks. Words are accessed by a whole warp: two lines whose numbers differ in bit 0 or in bit 4,
// or one cell of each of 32 lines, are in different banks.

// ---- places

// Lines of a tile of SORT_TILE records: one for each lane. FAR_BITS: the bits of a line's number
// but for four, 0 to 4.
const LINES: u32 = SORT_TILE / 16u;

// The distance of the lines of a far column; those of a near one are neighbours.
const STRIDE: u32 = LINES / 16u;

// The places of 16 cells in an array: those of a lane's line (`line_at`), or of its column
// (`column_at`). `half`: lines of the column in half a block where a merge begins; 0 in other
// passes.
struct Places {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

// Cell i is at `first`, changed by each bit of i: bit b flips the bits `flips[b]` of the place, and
// adds `steps[b]`. Both are the same for all lanes. (Steps could be flips, too, but a sum is part
// of a load's address and costs nothing.)
fn places(first: u32, flips: vec4<u32>, steps: vec4<u32>) -> Places {
    let a = vec4<u32>(first) ^ vec4<u32>(0u, flips.x, flips.y, flips.x ^ flips.y);
    let b = a ^ vec4<u32>(flips.z);
    let step_a = vec4<u32>(0u, steps.x, steps.y, steps.x + steps.y);
    let step_b = step_a + steps.z;
    let eight = vec4<u32>(flips.w);
    return Places(
        a + step_a,
        b + step_b,
        (a ^ eight) + (step_a + steps.w),
        (b ^ eight) + (step_b + steps.w),
    );
}

// What an upper half adds to the flips. The cells with the bit `half` of their number (1, 2, 4 or
// 8; 0 for none) are the upper half, and `flips` leads to the opposite cell.
fn upper(half: u32, flips: u32) -> vec4<u32> {
    let bits = (vec4<u32>(half) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u);
    return bits * flips;
}

// The first line of a lane's column: 16 consecutive lines if `stride` is 1, or those whose numbers
// differ in the upper bits if it is STRIDE.
fn first_line(lane: u32, stride: u32) -> u32 {
    return select(lane / 16u * 16u, lane / 16u, stride > 1u);
}

// ---- words

var<workgroup> tile_words: array<u32, LINES * 16u>;

// ---- atoms

var<workgroup> tile_atoms: array<atomic<u32>, LINES * 16u>;

// ---- word_places

// The places of an array of words.

fn word_place(line: u32, cell: u32) -> u32 {
    return (line ^ ((line >> 4u) & 1u)) * 16u + (cell ^ ((line >> 1u) & 15u));
}

// The places of these words of the tile, 16 in a line.
fn word_places(words: vec4<u32>) -> vec4<u32> {
    let cell = (words >> vec4<u32>(5u)) & vec4<u32>(15u);
    let line = (words >> vec4<u32>(4u)) & vec4<u32>(16u);
    return words ^ (cell | line);
}

// What the bits of a line's number flip in a place, and what they add. Bit 0 is flipped, since bit
// 4 is, too.
fn word_flips(line: vec4<u32>) -> vec4<u32> {
    let low = (line >> vec4<u32>(1u)) & vec4<u32>(15u);
    return low | (((line ^ (line >> vec4<u32>(4u))) & vec4<u32>(1u)) * 16u);
}

fn word_steps(line: vec4<u32>) -> vec4<u32> {
    return (line & vec4<u32>(~1u)) * 16u;
}

fn word_column(lane: u32, stride: u32, half: u32) -> Places {
    let first = word_place(first_line(lane, stride), lane % 16u);
    let opposite = upper(half, word_place(stride - 1u, 15u));
    let lines = vec4<u32>(1u, 2u, 4u, 8u) * stride;
    return places(first, word_flips(lines) ^ opposite, word_steps(lines));
}

// ---- word_lines

fn line_at(lane: u32) -> Places {
    return places(word_place(lane, 0u), vec4<u32>(1u, 2u, 4u, 8u), vec4<u32>(0u));
}

fn column_at(lane: u32, stride: u32, half: u32) -> Places {
    return word_column(lane, stride, half);
}

// ---- pairs

var<workgroup> tile_pairs: array<vec2<u32>, LINES * 16u>;

fn pair_place(line: u32, cell: u32) -> u32 {
    return line * 16u + (cell ^ (line & 15u));
}

// What the bits of a line's number flip in a place, and what they add.
fn pair_flips(line: vec4<u32>) -> vec4<u32> {
    return line & vec4<u32>(15u);
}

fn pair_steps(line: vec4<u32>) -> vec4<u32> {
    return line * 16u;
}

fn pair_column(lane: u32, stride: u32, half: u32) -> Places {
    let first = pair_place(first_line(lane, stride), lane % 16u);
    let opposite = upper(half, pair_place(stride - 1u, 15u));
    let lines = vec4<u32>(1u, 2u, 4u, 8u) * stride;
    return places(first, pair_flips(lines) ^ opposite, pair_steps(lines));
}

// ---- one_word

// Cells of one word.

fn load(at: u32) -> u32 {
    return tile_words[at];
}

fn store(at: u32, cell: u32) {
    tile_words[at] = cell;
}

// ---- one_atom

// Cells of one word, which lanes may add to.

fn load(at: u32) -> u32 {
    return atomicLoad(&tile_atoms[at]);
}

fn store(at: u32, cell: u32) {
    atomicStore(&tile_atoms[at], cell);
}

// ---- word_and_atom

// Cells of two words, each in its own array.

fn load(at: u32) -> vec2<u32> {
    return vec2<u32>(tile_words[at], atomicLoad(&tile_atoms[at]));
}

fn store(at: u32, cell: vec2<u32>) {
    tile_words[at] = cell.x;
    atomicStore(&tile_atoms[at], cell.y);
}

// ---- two_words

// Cells of two words.

fn line_at(lane: u32) -> Places {
    return places(pair_place(lane, 0u), vec4<u32>(1u, 2u, 4u, 8u), vec4<u32>(0u));
}

fn column_at(lane: u32, stride: u32, half: u32) -> Places {
    return pair_column(lane, stride, half);
}

fn load(at: u32) -> vec2<u32> {
    return tile_pairs[at];
}

fn store(at: u32, cell: vec2<u32>) {
    tile_pairs[at] = cell;
}

// ---- three_words

// Cells of three words: two in one array, and one in another.

struct PlacesInBoth {
    pairs: Places,
    words: Places,
}

fn line_at(lane: u32) -> PlacesInBoth {
    let flips = vec4<u32>(1u, 2u, 4u, 8u);
    let steps = vec4<u32>(0u);
    return PlacesInBoth(
        places(pair_place(lane, 0u), flips, steps),
        places(word_place(lane, 0u), flips, steps),
    );
}

fn column_at(lane: u32, stride: u32, half: u32) -> PlacesInBoth {
    return PlacesInBoth(pair_column(lane, stride, half), word_column(lane, stride, half));
}

fn load(pair: u32, word: u32) -> vec3<u32> {
    return vec3<u32>(tile_pairs[pair], tile_words[word]);
}

fn store(pair: u32, word: u32, cell: vec3<u32>) {
    tile_pairs[pair] = cell.xy;
    tile_words[word] = cell.z;
}

// ---- memory_order

// The position of record `i` of those that a lane fetches: a warp fetches contiguous records.
fn position_of(blocks: Blocks, lane: u32, i: u32) -> u32 {
    return select(blocks.low, blocks.high, i >= 8u) + i * LINES + lane;
}

// ---- line_order

// The position of record `i` of those that a lane fetches: those of its line.
fn position_of(blocks: Blocks, lane: u32, i: u32) -> u32 {
    return lane * 16u + i;
}

// ---- unrolled

// The passes over columns, one function for each size of block: a lane compares cells as soon as
// they are loaded.

fn merge_1(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 1u);
    store_cells(at, cross_1(load_cells(at)));
}

fn merge_2(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 2u);
    store_cells(at, cross_2(load_cells(at)));
}

fn merge_3(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 4u);
    store_cells(at, cross_3(load_cells(at)));
}

fn merge_4(lane: u32, stride: u32) {
    let at = column_at(lane, stride, 8u);
    store_cells(at, cross_4(load_cells(at)));
}

fn clean_near(lane: u32) {
    let at = column_at(lane, 1u, 0u);
    store_cells(at, clean(load_cells(at)));
}

// Compares lines with lines, to merge 2^k of them. Of more than 16 lines, far ones are compared
// first. k is at most 4 + FAR_BITS, which is a constant: a compiler drops the passes that do not
// occur.
fn merge_columns(k: u32, lane: u32) {
    workgroupBarrier();
    switch k {
        case 1u: { merge_1(lane, 1u); }
        case 2u: { merge_2(lane, 1u); }
        case 3u: { merge_3(lane, 1u); }
        case 4u: { merge_4(lane, 1u); }
        default: {
            switch k - FAR_BITS {
                case 1u: { if FAR_BITS >= 4u { merge_1(lane, STRIDE); } }
                case 2u: { if FAR_BITS >= 3u { merge_2(lane, STRIDE); } }
                case 3u: { if FAR_BITS >= 2u { merge_3(lane, STRIDE); } }
                default: { if FAR_BITS >= 1u { merge_4(lane, STRIDE); } }
            }
        }
    }
    if FAR_BITS > 0u && k > 4u {
        workgroupBarrier();
        clean_near(lane);
    }
}

// ---- compact

// The passes over columns as one function with parameters, which compiles sooner and runs slower:
// see docs/samplesort.md.
//
// `stride`, `half`: see `first_line` and `Places`. `straight`: the distance of the compared lines
// in the first of the stages that follow.
fn column_pass(lane: u32, stride: u32, half: u32, straight: u32) {
    let at = column_at(lane, stride, half);
    var cells = load_cells(at);
    switch half {
        case 1u: { cells = cross_first_1(cells); }
        case 2u: { cells = cross_first_2(cells); }
        case 4u: { cells = cross_first_3(cells); }
        case 8u: { cells = cross_first_4(cells); }
        default: {}
    }
    if straight >= 8u {
        cells = compare_8(cells);
    }
    if straight >= 4u {
        cells = compare_4(cells);
    }
    if straight >= 2u {
        cells = compare_2(cells);
    }
    if straight >= 1u {
        cells = compare_1(cells);
    }
    store_cells(at, cells);
}

// Compares lines with lines, to merge 2^k of them. Of more than 16 lines, far ones are compared
// first.
fn merge_columns(k: u32, lane: u32) {
    let is_far = k > 4u;
    // In a loop, as each call is a copy of the function for some compilers.
    for (var i = 0u; i <= select(0u, 1u, is_far); i++) {
        var stride = 1u;
        var half = 1u << (k - 1u);
        var straight = half / 2u;
        if is_far {
            stride = select(STRIDE, 1u, i == 1u);
            half = select(half >> FAR_BITS, 0u, i == 1u);
            straight = select(half / 2u, (1u << FAR_BITS) / 2u, i == 1u);
        }
        workgroupBarrier();
        column_pass(lane, stride, half, straight);
    }
}

// ---- source_to_map

// Maps the fetched keys, where a sort has to.
fn mapped(cells: Cells) -> Cells {
    if maps_source() {
        return encode_cells(cells);
    }
    return cells;
}

// ---- mapped_source

// Records that are mapped: items of a list, and samples, which `fetch` maps.
fn mapped(cells: Cells) -> Cells {
    return cells;
}

// ---- padding

// Replaces a fetched record with padding. Only the tile's first 32 records may be before the item.
fn pad(blocks: Blocks, lane: u32, i: u32, r: Record) -> Record {
    let position = position_of(blocks, lane, i);
    if i * LINES < 32u {
        return padded_first(blocks, position, r);
    }
    return padded(blocks, position, r);
}

// ---- sort

// Fetches records in any order, and stores a sorted line for each lane.
fn sort_lines(blocks: Blocks, lane: u32) {
    let cells = mapped(fetch_cells(blocks, lane));
    store_cells(line_at(lane), sort_line(pad_cells(blocks, lane, cells)));
}

// Fetches a tile and sorts it. `count`: SORT_TILE; of samples, which may be fewer, a power of two.
fn sort_tile(blocks: Blocks, lane: u32, count: u32) {
    sort_lines(blocks, lane);
    for (var k = 1u; (16u << k) <= count; k++) {
        merge_columns(k, lane);
        workgroupBarrier();
        let at = line_at(lane);
        store_cells(at, merge_line(load_cells(at)));
    }
    workgroupBarrier();
}

// ---- put

fn put_at(blocks: Blocks, lane: u32, i: u32, r: Record) {
    let position = position_of(blocks, lane, i);
    if i * LINES < 32u {
        put_first(blocks, position, r);
    } else {
        put(blocks, position, r);
    }
}

// Writes the sorted records to the target: cell i of a lane's column is record `i * LINES + lane`,
// as `position_of` says.
fn put_tile(blocks: Blocks, lane: u32) {
    var cells = load_cells(column_at(lane, STRIDE, 0u));
    if maps_target() && !blocks.is_large {
        cells = decode_cells(cells);
    }
    put_cells(blocks, lane, cells);
}

// ---- tile_load_word

// A record of the sorted tile.
fn tile_load(i: u32) -> u32 {
    return tile_words[word_place(i / 16u, i % 16u)];
}

// The first word of a cell that a search looks at.
fn first_word(at: u32) -> u32 {
    return tile_words[at];
}

// ---- tile_load_pair

// A record of the sorted tile.
fn tile_load(i: u32) -> vec2<u32> {
    return tile_pairs[pair_place(i / 16u, i % 16u)];
}

// The first word of a cell that a search looks at.
fn first_word(at: u32) -> u32 {
    return tile_pairs[at].x;
}

// ---- tile_load_triple

// A record of the sorted tile.
fn tile_load(i: u32) -> vec3<u32> {
    let line = i / 16u;
    let cell = i % 16u;
    return vec3<u32>(tile_pairs[pair_place(line, cell)], tile_words[word_place(line, cell)]);
}
