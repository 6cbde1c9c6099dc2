//! Generated parts of kernels: networks over named variables.
//!
//! A network over an array of registers compiles ten times slower on NVIDIA's driver than one over
//! named variables. In a loop, the array falls out of the registers.

use crate::shader::Network;
use std::fmt::Write;

/// Cells of a line, a row of the tile.
const CELLS: u32 = 16;

/// A tile of records in workgroup memory, and the passes that sort it.
///
/// A line is the row that a lane holds in a line pass: 16 cells. A cell is a record of one to three
/// words, or two records of one word. Lanes access only whole cells: to write a component of a
/// vector that another lane uses is a race, by WGSL's rules and on Metal. The cells of each line
/// are permuted, so that there is no bank conflict if each lane accesses its own line, or if the
/// lanes access consecutive cells of a line ([`arrays`](Self::arrays)).
struct TileSort {
    words: u32,
    each: u32,
    lines: u32,
}

/// The records that a lane holds in a pass over columns.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    /// One column of consecutive lines.
    Near,
    /// One column of lines whose numbers differ in the upper bits.
    Far,
}

/// Positions of a column's cell in the array of pairs and in the array of words, and true if the
/// two records of the cell are exchanged.
struct ColumnCell {
    pair: String,
    word: String,
    swapped: bool,
}

/// The source of a tile's records.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fill {
    /// Records in memory order: a warp fetches contiguous records.
    Rows,
    /// The same, and keys are mapped when they are fetched.
    MappedRows,
    /// Samples, exactly as many as are sorted: a lane fetches those of its line.
    Samples,
}

/// `sort_tile`, which fetches records of `words` words and sorts the first `count`, a power of two;
/// with a source other than samples, `count` is the whole tile. A lane holds `each` records: 16, or
/// 32 if a record has one word.
///
/// In a compact kernel one piece of code with parameters serves all passes over columns. It
/// compiles in half the time: on lavapipe a first sort of pairs with wide keys takes 3.6 s instead
/// of 7.4 s. But a lane waits for all loads before the first comparison: on an H200 a sort of tiles
/// of 4096 words takes a fifth longer, and a sort of one tile of 1024 a quarter.
pub(super) fn sort_tile(words: u32, tile: u32, each: u32, is_compact: bool, fill: Fill) -> String {
    TileSort::new(words, tile, each).sort(is_compact, fill)
}

/// `put_tile`, which writes the sorted records to the target.
pub(super) fn put_tile(words: u32, tile: u32, each: u32) -> String {
    TileSort::new(words, tile, each).last_pass()
}

/// `tile_load`, which reads one sorted record.
pub(super) fn tile_load(words: u32, tile: u32, each: u32) -> String {
    TileSort::new(words, tile, each).load()
}

impl TileSort {
    const fn new(words: u32, tile: u32, each: u32) -> Self {
        Self {
            words,
            each,
            lines: tile / each,
        }
    }

    /// Records per cell.
    const fn per_cell(&self) -> u32 {
        self.each / CELLS
    }

    /// Returns true if there is an array of word pairs, with two words of each cell.
    const fn has_pairs(&self) -> bool {
        self.words * self.per_cell() >= 2
    }

    /// Returns true if there is an array of words, with one word of each cell.
    const fn has_words(&self) -> bool {
        self.words * self.per_cell() != 2
    }

    const fn log2_lines(&self) -> u32 {
        self.lines.ilog2()
    }

    /// Bits of a line's number that only passes over far columns change.
    const fn far_bits(&self) -> u32 {
        self.log2_lines().saturating_sub(CELLS.ilog2())
    }

    fn sort(&self, is_compact: bool, fill: Fill) -> String {
        let mut text = self.arrays();
        text += &self.first_pass(fill);
        text += &self.line_pass();
        text += &if is_compact {
            self.compact_columns()
        } else {
            self.columns()
        };
        let _ = writeln!(
            text,
            "fn sort_tile(blocks: Blocks, lane: u32, count: u32) {{\n    \
             sort_lines(blocks, lane);\n    \
             for (var k = 1u; ({}u << k) <= count; k++) {{\n        \
             merge_columns(k, lane);\n        \
             workgroupBarrier();\n        \
             line_pass(lane);\n    \
             }}\n    workgroupBarrier();\n}}\n",
            self.each,
        );
        text
    }

    /// The passes over columns that merge lines, unrolled: one function each.
    fn columns(&self) -> String {
        let log2_cells = CELLS.ilog2();
        let mut text = String::new();
        for k in 1..=self.log2_lines().min(log2_cells) {
            let network = Network::bitonic_cross(CELLS, k);
            text += &self.column_pass(&format!("near_{k}"), Columns::Near, 1 << (k - 1), &network);
        }
        for k in log2_cells + 1..=self.log2_lines() {
            let k = k - self.far_bits();
            let network = Network::bitonic_cross(CELLS, k);
            text += &self.column_pass(&format!("far_{k}"), Columns::Far, 1 << (k - 1), &network);
        }
        if self.far_bits() > 0 {
            let network = Network::half_cleaners(CELLS, self.far_bits());
            text += &self.column_pass("middle", Columns::Near, 0, &network);
        }
        text += "fn merge_columns(k: u32, lane: u32) {\n    workgroupBarrier();\n    switch k {\n";
        for k in 1..=self.log2_lines() {
            let pass = if k <= log2_cells {
                format!("near_{k}")
            } else {
                format!("far_{}", k - self.far_bits())
            };
            let case = if k == self.log2_lines() {
                "default".to_owned()
            } else {
                format!("case {k}u")
            };
            let _ = writeln!(text, "        {case}: {{ {pass}(lane); }}");
        }
        text += "    }\n";
        if self.far_bits() > 0 {
            let _ = writeln!(
                text,
                "    if k > {log2_cells}u {{\n        workgroupBarrier();\n        \
                 middle(lane);\n    }}"
            );
        }
        text += "}\n\n";
        text
    }

    /// The same passes as one function with parameters. `stride`: distance between consecutive
    /// lines of a lane's column. `half`: lines of the column in half a block where a merge begins;
    /// 0 in other passes. `straight`: distance of the compared lines in the first of the stages
    /// that follow.
    ///
    /// Where a merge begins, the records of a block's lower half are compared with those of its
    /// upper half in reverse order. So in the upper half the lane holds the opposite column. The
    /// stages that follow compare lines of one column, also in the upper half, where the order is
    /// reversed: a reversed bitonic sequence is bitonic.
    fn compact_columns(&self) -> String {
        let bits = CELLS.ilog2();
        let mut text = String::from(
            "fn column_pass(lane: u32, stride: u32, half: u32, straight: u32) {\n    \
             let low = select(lane / 16u * 16u, lane / 16u, stride > 1u);\n",
        );
        // A cell's position is linear over XOR in the bits of its line's number: it is another
        // cell's position with some bits flipped, the same bits for all lanes.
        for (array, is_there) in [("pair", self.has_pairs()), ("word", self.has_words())] {
            if !is_there {
                continue;
            }
            let name = &array[..1];
            let _ = writeln!(
                text,
                "    let {name}0 = {array}_at(low, lane % 16u);\n    \
                 let {name}_opposite = {array}_at(stride - 1u, 15u);"
            );
            for bit in (0..bits).map(|bit| 1 << bit) {
                let _ = writeln!(
                    text,
                    "    let {name}_line{bit} = {array}_at(stride * {bit}u, 0u) \
                     ^ select(0u, {name}_opposite, half == {bit}u);"
                );
            }
            for cell in 1..CELLS {
                let (line, others) = (cell & cell.wrapping_neg(), cell & (cell - 1));
                let _ = writeln!(
                    text,
                    "    let {name}{cell} = {name}{others} ^ {name}_line{line};"
                );
            }
        }
        let positions = |cell| (format!("p{cell}"), format!("w{cell}"));
        for cell in 0..CELLS {
            let (pair, word) = positions(cell);
            self.load_cell(&mut text, cell, &pair, &word, false);
        }
        let copies = self.per_cell();
        text += "    switch half {\n    default: {}\n";
        for k in 1..=bits {
            let half = 1 << (k - 1);
            let _ = writeln!(text, "    case {half}u: {{");
            let network = Network::bitonic_cross(CELLS, k);
            self.comparators(&mut text, network.first_stage(), copies, true);
            text += "    }\n";
        }
        text += "    }\n";
        for k in (0..bits).rev() {
            let _ = writeln!(text, "    if straight >= {}u {{", 1 << k);
            let network = Network::half_cleaners(CELLS, k + 1);
            self.comparators(&mut text, network.first_stage(), copies, false);
            text += "    }\n";
        }
        for cell in 0..CELLS {
            let (pair, word) = positions(cell);
            self.store_cell(&mut text, cell, &pair, &word, false);
        }
        let _ = writeln!(
            text,
            "}}\n\n\
             fn merge_columns(k: u32, lane: u32) {{\n    \
             let is_far = k > {bits}u;\n    \
             // In a loop, as each call is a copy of the function for some compilers.\n    \
             for (var i = 0u; i <= select(0u, 1u, is_far); i++) {{\n        \
             var stride = 1u;\n        \
             var half = 1u << (k - 1u);\n        \
             var straight = half / 2u;\n        \
             if is_far {{\n            \
             stride = select({stride}u, 1u, i == 1u);\n            \
             half = select(half >> {far_bits}u, 0u, i == 1u);\n            \
             straight = select(half / 2u, {middle}u, i == 1u);\n        \
             }}\n        \
             workgroupBarrier();\n        \
             column_pass(lane, stride, half, straight);\n    \
             }}\n}}\n",
            stride = self.lines / CELLS,
            far_bits = self.far_bits(),
            middle = (1 << self.far_bits()) >> 1,
        );
        text
    }

    /// The arrays of the tile, and the functions that give a cell's position in each.
    ///
    /// Pairs are accessed by half a warp at a time: the 16 cells of a line, or one cell of each of
    /// 16 lines, are in different banks. Words are accessed by a whole warp: two lines whose
    /// numbers differ in bit 0 or in bit 4, or one cell of each of 32 lines, are in different
    /// banks.
    fn arrays(&self) -> String {
        let cells = self.lines * CELLS;
        let mut text = String::new();
        if self.has_pairs() {
            let _ = writeln!(
                text,
                "var<workgroup> tile_pairs: array<vec2<u32>, {cells}>;\n\n\
                 fn pair_at(line: u32, cell: u32) -> u32 {{\n    \
                 return line * 16u + (cell ^ (line & 15u));\n}}\n"
            );
        }
        if self.has_words() {
            let _ = writeln!(
                text,
                "var<workgroup> tile_words: array<u32, {cells}>;\n\n\
                 fn word_at(line: u32, cell: u32) -> u32 {{\n    \
                 return (line ^ ((line >> 4u) & 1u)) * 16u + (cell ^ ((line >> 1u) & 15u));\n}}\n"
            );
        }
        text
    }

    fn comparator(&self, text: &mut String, low: u32, high: u32) {
        let _ = if self.words == 1 {
            writeln!(
                text,
                "    {{ let x = r{low}; r{low} = min(x, r{high}); r{high} = max(x, r{high}); }}"
            )
        } else {
            writeln!(
                text,
                "    {{ let s = is_greater(r{low}, r{high}); let x = r{low}; \
                 r{low} = select(x, r{high}, s); r{high} = select(r{high}, x, s); }}"
            )
        };
    }

    fn network(&self, text: &mut String, network: &Network, copies: u32) {
        self.comparators(text, network.comparators(), copies, false);
    }

    /// Comparators of cells, or of lines, with `copies` records each. `opposite`: the records of
    /// the second cell are compared in reverse order.
    fn comparators(&self, text: &mut String, pairs: &[(u32, u32)], copies: u32, opposite: bool) {
        for &(low, high) in pairs {
            for copy in 0..copies {
                let other = if opposite { copies - 1 - copy } else { copy };
                self.comparator(text, low * copies + copy, high * copies + other);
            }
        }
    }

    /// Loads a cell. `swapped`: exchanges its records if there are two.
    fn load_cell(&self, text: &mut String, cell: u32, pair: &str, word: &str, swapped: bool) {
        let _ = match (self.words, self.per_cell()) {
            (1, 1) => writeln!(text, "    var r{cell} = tile_words[{word}];"),
            (1, _) => {
                let (first, second) = if swapped { ("y", "x") } else { ("x", "y") };
                writeln!(
                    text,
                    "    let c{cell} = tile_pairs[{pair}];\n    var r{} = c{cell}.{first};\n    \
                     var r{} = c{cell}.{second};",
                    2 * cell,
                    2 * cell + 1
                )
            }
            (2, _) => writeln!(text, "    var r{cell} = tile_pairs[{pair}];"),
            _ => writeln!(
                text,
                "    var r{cell} = vec3<u32>(tile_pairs[{pair}], tile_words[{word}]);"
            ),
        };
    }

    /// Stores a cell.
    fn store_cell(&self, text: &mut String, cell: u32, pair: &str, word: &str, swapped: bool) {
        let _ = match (self.words, self.per_cell()) {
            (1, 1) => writeln!(text, "    tile_words[{word}] = r{cell};"),
            (1, _) => {
                let first = 2 * cell + u32::from(swapped);
                let second = first ^ 1;
                writeln!(
                    text,
                    "    tile_pairs[{pair}] = vec2<u32>(r{first}, r{second});"
                )
            }
            (2, _) => writeln!(text, "    tile_pairs[{pair}] = r{cell};"),
            _ => writeln!(
                text,
                "    tile_pairs[{pair}] = r{cell}.xy;\n    tile_words[{word}] = r{cell}.z;"
            ),
        };
    }

    fn line_base(&self, text: &mut String) {
        if self.has_pairs() {
            *text += "    let p = pair_at(lane, 0u);\n";
        }
        if self.has_words() {
            *text += "    let w = word_at(lane, 0u);\n";
        }
    }

    fn store_line(&self, text: &mut String) {
        for cell in 0..CELLS {
            let (pair, word) = (format!("p ^ {cell}u"), format!("w ^ {cell}u"));
            self.store_cell(text, cell, &pair, &word, false);
        }
    }

    /// Fetches records in any order, and stores a sorted line for each lane.
    fn first_pass(&self, fill: Fill) -> String {
        let Self { each, lines, .. } = *self;
        let mut text = String::from("fn sort_lines(blocks: Blocks, lane: u32) {\n");
        let position = |j: u32| match (fill, j < each / 2) {
            (Fill::Samples, _) => format!("lane * {each}u + {j}u"),
            (_, true) => format!("blocks.low + {}u + lane", j * lines),
            (_, false) => format!("blocks.high + {}u + lane", j * lines),
        };
        for j in 0..each {
            let _ = writeln!(text, "    var r{j} = fetch(blocks, {});", position(j));
        }
        if fill == Fill::MappedRows {
            text += "    if maps_source() {\n";
            for j in 0..each {
                let _ = writeln!(text, "        r{j} = encode_source(r{j});");
            }
            text += "    }\n";
        }
        for j in 0..each {
            let padded = if j * lines < 32 {
                "padded_first"
            } else {
                "padded"
            };
            let _ = writeln!(text, "    r{j} = {padded}(blocks, {}, r{j});", position(j));
        }
        self.network(&mut text, &Network::odd_even_merge_sort(each), 1);
        self.line_base(&mut text);
        self.store_line(&mut text);
        text += "}\n\n";
        text
    }

    /// Merges each line by itself.
    fn line_pass(&self) -> String {
        let mut text = String::from("fn line_pass(lane: u32) {\n");
        self.line_base(&mut text);
        for cell in 0..CELLS {
            let (pair, word) = (format!("p ^ {cell}u"), format!("w ^ {cell}u"));
            self.load_cell(&mut text, cell, &pair, &word, false);
        }
        self.network(&mut text, &Network::bitonic_merger(self.each), 1);
        self.store_line(&mut text);
        text += "}\n\n";
        text
    }

    /// Positions of the cells of a lane's column. Cells with the bit `half` in their number are in
    /// the second half of a block, which is read backwards.
    fn column(&self, text: &mut String, columns: Columns, half: u32) -> Vec<ColumnCell> {
        let stride = match columns {
            Columns::Near => 1,
            Columns::Far => self.lines / CELLS,
        };
        let (low, mirrored) = match columns {
            Columns::Near => ("lane / 16u * 16u", "low0".to_owned()),
            Columns::Far => ("lane / 16u", format!("{}u - low0", stride - 1)),
        };
        let _ = writeln!(
            text,
            "    let column0 = lane % 16u;\n    let low0 = {low};\n    \
             let column1 = 15u - column0;\n    let low1 = {mirrored};"
        );
        let sides = 1 + u32::from(half > 0);
        for side in 0..sides {
            if self.has_pairs() {
                let _ = writeln!(text, "    let p{side} = pair_at(low{side}, column{side});");
            }
            if self.has_words() {
                let _ = writeln!(text, "    let w{side} = word_at(low{side}, column{side});");
            }
        }
        // Lines `low + line`, whose addends have no bit in common. So a position is a base, with
        // the permuted bits flipped by the line's number, plus the cells of `line` lines.
        let mut known = std::collections::BTreeSet::new();
        let mut position = |text: &mut String, array: char, side: u32, flipped: u32, line: u32| {
            let name = format!("{array}{side}_{flipped}");
            if known.insert(name.clone()) {
                let _ = writeln!(text, "    let {name} = {array}{side} ^ {flipped}u;");
            }
            format!("{name} + {}u", line * CELLS)
        };
        (0..CELLS)
            .map(|j| {
                let side = u32::from(j & half != 0);
                let line = j * stride;
                let mut cell = ColumnCell {
                    pair: String::new(),
                    word: String::new(),
                    swapped: side == 1,
                };
                if self.has_pairs() {
                    cell.pair = position(text, 'p', side, line % 16, line);
                }
                if self.has_words() {
                    let flipped = ((line >> 1) % 16) | (((line ^ (line >> 4)) & 1) * 16);
                    cell.word = position(text, 'w', side, flipped, line & !1);
                }
                cell
            })
            .collect()
    }

    /// Applies a network to columns of lines.
    fn column_pass(&self, name: &str, columns: Columns, half: u32, network: &Network) -> String {
        let mut text = format!("fn {name}(lane: u32) {{\n");
        let cells = self.column(&mut text, columns, half);
        for (j, cell) in (0..).zip(&cells) {
            self.load_cell(&mut text, j, &cell.pair, &cell.word, cell.swapped);
        }
        self.network(&mut text, network, self.per_cell());
        for (j, cell) in (0..).zip(&cells) {
            self.store_cell(&mut text, j, &cell.pair, &cell.word, cell.swapped);
        }
        text += "}\n\n";
        text
    }

    /// Loads a record of the tile.
    fn load(&self) -> String {
        let each = self.each;
        let record = match (self.words, self.per_cell()) {
            (1, 1) => format!("tile_words[word_at(i / {each}u, i % {each}u)]"),
            (1, _) => format!("tile_pairs[pair_at(i / {each}u, i % {each}u / 2u)][i % 2u]"),
            (2, _) => format!("tile_pairs[pair_at(i / {each}u, i % {each}u)]"),
            _ => format!(
                "vec3<u32>(tile_pairs[pair_at(i / {each}u, i % {each}u)], \
                 tile_words[word_at(i / {each}u, i % {each}u)])"
            ),
        };
        format!("fn tile_load(i: u32) -> Record {{\n    return {record};\n}}\n\n")
    }

    /// Writes the sorted records to the target, contiguous records per warp.
    fn last_pass(&self) -> String {
        let Self { each, lines, .. } = *self;
        let mut text = String::from("fn put_tile(blocks: Blocks, lane: u32) {\n");
        if self.per_cell() == 1 {
            let cells = self.column(&mut text, Columns::Far, 0);
            for (j, cell) in (0..).zip(&cells) {
                self.load_cell(&mut text, j, &cell.pair, &cell.word, false);
            }
        } else {
            // Lane by lane consecutive records, so that a warp writes contiguous memory.
            let _ = writeln!(
                text,
                "    let p = pair_at(lane / {each}u, lane % {each}u / 2u);\n    let e = lane % 2u;"
            );
            for j in 0..each {
                let line = j * (lines / each);
                let _ = writeln!(
                    text,
                    "    var r{j} = tile_pairs[(p ^ {}u) + {}u][e];",
                    line % 16,
                    line * CELLS
                );
            }
        }
        text += "    if maps_target() && !blocks.is_large {\n";
        for j in 0..each {
            let _ = writeln!(text, "        r{j} = decode_target(r{j});");
        }
        text += "    }\n";
        for j in 0..each {
            let put = if j * lines < 32 { "put_first" } else { "put" };
            let block = if j < each / 2 { "low" } else { "high" };
            let _ = writeln!(
                text,
                "    {put}(blocks, blocks.{block} + {}u + lane, r{j});",
                j * lines
            );
        }
        text += "}\n\n";
        text
    }
}

/// `rank_in_others`: the number of records in the other sorted tiles that precede a record. The
/// searches are interleaved; in a loop over the tiles each would wait for the one before.
pub(super) fn rank_in_others(others: u32) -> String {
    let mut text = String::from("fn rank_in_others(own: u32, r: Record) -> u32 {\n");
    for i in 0..others {
        let _ = writeln!(text, "    let start{i} = other_tile({i}u, own);");
        let _ = writeln!(text, "    var at{i} = start{i};");
    }
    let step = |text: &mut String, step: &str| {
        for i in 0..others {
            let _ = writeln!(text, "        let p{i} = probe(at{i} + {step} - 1u);");
        }
        for i in 0..others {
            let _ = writeln!(
                text,
                "        at{i} += select(0u, {step}, precedes(p{i}, r, {i}u < own));"
            );
        }
    };
    text += "    for (var step = params.tile / 2u; step > 0u; step /= 2u) {\n";
    step(&mut text, "step");
    text += "    }\n";
    text += "    {\n";
    step(&mut text, "1u");
    text += "    }\n";
    let sum: Vec<_> = (0..others)
        .map(|i| format!("records_from(start{i}, at{i})"))
        .collect();
    let _ = writeln!(text, "    return {};\n}}", sum.join("\n        + "));
    text
}
