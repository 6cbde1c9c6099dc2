//! The parts of kernels' texts that are written out: networks over named variables.
//!
//! A network over an array of registers compiles ten times slower on NVIDIA's driver than one over
//! named variables, and one in a loop falls out of the registers.

use crate::network::Network;
use std::fmt::Write;

/// Cells of a line.
const CELLS: u32 = 16;

/// A tile of records in workgroup memory, and the passes that sort it.
///
/// A line is what a lane holds in a line pass: 16 cells, each of them a record of one to three
/// words, or two records of one. Lanes access whole cells only: to write a component of a vector
/// that another lane uses is a race, by WGSL's rules and on Metal. Where the cells of a line lie is
/// permuted, line by line, so that neither lanes at their own lines nor lanes along a line meet in
/// a bank (`addresses`).
struct TileSort {
    words: u32,
    each: u32,
    lines: u32,
}

/// Which records a lane holds in a pass over columns.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    /// Those of one column of consecutive lines.
    Near,
    /// Those of one column of lines that differ in the upper bits of their number.
    Far,
}

/// Where a cell of a column lies in the array of pairs and in that of words, and whether its
/// records are in the other order.
struct ColumnCell {
    pair: String,
    word: String,
    swapped: bool,
}

/// What a tile is filled with.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fill {
    /// Records as they lie in memory: a warp fetches a row of it.
    Rows,
    /// The same, mapped when they are fetched.
    MappedRows,
    /// Samples, as many as are sorted: a lane fetches those of its line.
    Samples,
}

/// `sort_tile`, which fetches records of so many words and sorts `count` of them: a power of two;
/// of rows, all. A lane holds `each`, 16 or, of one word, 32.
pub(super) fn sort_tile(words: u32, tile: u32, each: u32, fill: Fill) -> String {
    TileSort::new(words, tile, each).sort(fill)
}

/// `put_tile`, which puts the sorted records where they are to be.
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

    /// Records of a cell.
    const fn per_cell(&self) -> u32 {
        self.each / CELLS
    }

    /// Whether there is an array of pairs of words, with two words of each cell.
    const fn has_pairs(&self) -> bool {
        self.words * self.per_cell() >= 2
    }

    /// Whether there is an array of words, with one of each cell.
    const fn has_words(&self) -> bool {
        self.words * self.per_cell() != 2
    }

    const fn log2_lines(&self) -> u32 {
        self.lines.ilog2()
    }

    /// Line bits that only passes over far columns reach.
    const fn far_bits(&self) -> u32 {
        self.log2_lines().saturating_sub(CELLS.ilog2())
    }

    fn sort(&self, fill: Fill) -> String {
        let log2_cells = CELLS.ilog2();
        let mut text = self.arrays();
        text += &self.first_pass(fill);
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
        text += &self.line_pass();
        text += "fn merge_lines(k: u32, lane: u32) {\n    switch k {\n";
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
        text += "    }\n}\n\n";
        let middle = if self.far_bits() > 0 {
            format!(
                "        if k > {log2_cells}u {{\n            workgroupBarrier();\n            \
                 middle(lane);\n        }}\n"
            )
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "fn sort_tile(blocks: Blocks, lane: u32, count: u32) {{\n    \
             sort_lines(blocks, lane);\n    \
             for (var k = 1u; ({}u << k) <= count; k++) {{\n        workgroupBarrier();\n        \
             merge_lines(k, lane);\n{middle}        workgroupBarrier();\n        \
             line_pass(lane);\n    \
             }}\n    workgroupBarrier();\n}}\n",
            self.each,
        );
        text
    }

    /// The tile, and where a cell of a line lies in each of its arrays.
    ///
    /// Half a warp at a time accesses pairs, and 16 cells of a line, or one of each of 16 lines,
    /// are in different banks. A whole warp accesses words: two lines, whose numbers differ in
    /// their least bit or in that of 16, or one cell of each of 32 lines.
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

    fn network(&self, text: &mut String, network: &Network, copies: u32) {
        for &(low, high) in network.comparators() {
            for copy in 0..copies {
                let (low, high) = (low * copies + copy, high * copies + copy);
                let _ = if self.words == 1 {
                    writeln!(
                        text,
                        "    {{ let x = r{low}; r{low} = min(x, r{high}); \
                         r{high} = max(x, r{high}); }}"
                    )
                } else {
                    writeln!(
                        text,
                        "    {{ let s = is_greater(r{low}, r{high}); let x = r{low}; \
                         r{low} = select(x, r{high}, s); r{high} = select(r{high}, x, s); }}"
                    )
                };
            }
        }
    }

    /// Reads a cell. `swapped`: its records, if there are two, in the other order.
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

    /// Writes it.
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

    /// Fetches records, any for a lane, and makes a sorted line of them.
    fn first_pass(&self, fill: Fill) -> String {
        let Self { each, lines, .. } = *self;
        let mut text = String::from("fn sort_lines(blocks: Blocks, lane: u32) {\n");
        let place = |j: u32| match (fill, j < each / 2) {
            (Fill::Samples, _) => format!("lane * {each}u + {j}u"),
            (_, true) => format!("blocks.low + {}u + lane", j * lines),
            (_, false) => format!("blocks.high + {}u + lane", j * lines),
        };
        for j in 0..each {
            let _ = writeln!(text, "    var r{j} = fetch(blocks, {});", place(j));
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
            let _ = writeln!(text, "    r{j} = {padded}(blocks, {}, r{j});", place(j));
        }
        self.network(&mut text, &Network::odd_even_merge_sort(each), 1);
        self.line_base(&mut text);
        self.store_line(&mut text);
        text += "}\n\n";
        text
    }

    /// Merges each line.
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

    /// Where the cells of a column are, as a lane holds them: those with a bit of `half` in their
    /// number are in the second half of a block, which is read backwards.
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
        // Lines `low + line`, no bit of which is in both: so places are a base, with the bits that
        // are permuted by the line's number turned, and the line's cells.
        let mut known = std::collections::BTreeSet::new();
        let mut place = |text: &mut String, array: char, side: u32, turned: u32, line: u32| {
            let name = format!("{array}{side}_{turned}");
            if known.insert(name.clone()) {
                let _ = writeln!(text, "    let {name} = {array}{side} ^ {turned}u;");
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
                    cell.pair = place(text, 'p', side, line % 16, line);
                }
                if self.has_words() {
                    let turned = ((line >> 1) % 16) | (((line ^ (line >> 4)) & 1) * 16);
                    cell.word = place(text, 'w', side, turned, line & !1);
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

    /// Reads a record of the tile.
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

    /// Puts the sorted records to the target, a row of memory a warp.
    fn last_pass(&self) -> String {
        let Self { each, lines, .. } = *self;
        let mut text = String::from("fn put_tile(blocks: Blocks, lane: u32) {\n");
        if self.per_cell() == 1 {
            let cells = self.column(&mut text, Columns::Far, 0);
            for (j, cell) in (0..).zip(&cells) {
                self.load_cell(&mut text, j, &cell.pair, &cell.word, false);
            }
        } else {
            // A lane a record, so that those of a warp are a row of memory.
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

/// `rank_in_others`: how many records of the other sorted tiles are before one, by searches side by
/// side. (In a loop over the tiles each would wait for the one before.)
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
