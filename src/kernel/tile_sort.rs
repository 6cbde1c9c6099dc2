//! The parts of kernels' texts that are written out: networks over named variables.
//!
//! A network over an array of registers compiles ten times slower on NVIDIA's driver than one over
//! named variables, and one in a loop falls out of the registers.

use crate::network::Network;
use std::fmt::Write;

/// A tile of records in workgroup memory, and the passes that sort it.
///
/// A line is what a lane holds in a line pass: 16 or 32 records, in groups of four that are read
/// and written at once. Where the groups of a line lie is permuted, line by line, so that neither
/// lanes at their own lines nor lanes along a line meet in a bank (`vector_of`).
struct TileSort {
    words: u32,
    each: u32,
    lines: u32,
    /// Whether records are mapped when they are fetched.
    is_mapped: bool,
}

/// Which records a lane holds in a pass over columns.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    /// Those of one column of consecutive lines.
    Near,
    /// Those of one column of lines that differ in the upper bits of their number.
    Far,
}

/// The passes that sort a tile of so many records, `each` of them a lane's, of so many words:
/// `sort_tile`, which fetches the records, and `put_tile`.
pub(super) fn tile_sort(words: u32, tile: u32, each: u32, is_mapped: bool) -> String {
    let sort = TileSort {
        words,
        each,
        lines: tile / each,
        is_mapped,
    };
    sort.wgsl()
}

impl TileSort {
    const fn log2_lines(&self) -> u32 {
        self.lines.ilog2()
    }

    /// Line bits that only passes over far columns reach.
    const fn far_bits(&self) -> u32 {
        self.log2_lines().saturating_sub(self.each.ilog2())
    }

    fn wgsl(&self) -> String {
        let Self { each, lines, .. } = *self;
        let groups = each / 4;
        let log2_each = each.ilog2();
        let mut text = String::new();
        for word in 0..self.words {
            let vectors = lines * groups;
            let _ = writeln!(
                text,
                "var<workgroup> tile_{word}: array<vec4<u32>, {vectors}>;"
            );
        }
        text += &self.addresses();
        text += &self.first_pass();
        for k in 1..=self.log2_lines().min(log2_each) {
            let network = Network::bitonic_cross(each, k);
            text += &self.column_pass(&format!("near_{k}"), Columns::Near, 1 << (k - 1), &network);
        }
        for k in log2_each + 1..=self.log2_lines() {
            let k = k - self.far_bits();
            let network = Network::bitonic_cross(each, k);
            text += &self.column_pass(&format!("far_{k}"), Columns::Far, 1 << (k - 1), &network);
        }
        if self.far_bits() > 0 {
            let network = Network::half_cleaners(each, self.far_bits());
            text += &self.column_pass("middle", Columns::Near, 0, &network);
        }
        text += &self.line_pass();
        text += &self.last_pass();
        text += "fn merge_lines(k: u32, lane: u32) {\n    switch k {\n";
        for k in 1..=self.log2_lines() {
            let pass = if k <= log2_each {
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
                "        if k > {log2_each}u {{\n            workgroupBarrier();\n            \
                 middle(lane);\n        }}\n"
            )
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "fn sort_tile(blocks: Blocks, lane: u32) {{\n    sort_lines(blocks, lane);\n    \
             for (var k = 1u; k <= {}u; k++) {{\n        workgroupBarrier();\n        \
             merge_lines(k, lane);\n{middle}        workgroupBarrier();\n        line_pass(lane);\n    \
             }}\n    workgroupBarrier();\n}}",
            self.log2_lines(),
        );
        text
    }

    /// Where a group of a line lies.
    fn addresses(&self) -> String {
        let vector = if self.each == 32 {
            "line * 8u + (group ^ (line & 7u))"
        } else {
            "(line ^ ((line >> 4u) & 1u)) * 4u + (group ^ ((line >> 1u) & 3u))"
        };
        format!("\nfn vector_of(line: u32, group: u32) -> u32 {{\n    return {vector};\n}}\n\n")
    }

    /// A record of its words.
    fn record(&self, word: impl Fn(u32) -> String) -> String {
        let words: Vec<_> = (0..self.words).map(word).collect();
        match self.words {
            1 => words[0].clone(),
            n => format!("vec{n}<u32>({})", words.join(", ")),
        }
    }

    /// A word of a record.
    fn word(&self, record: &str, word: u32) -> String {
        match self.words {
            1 => record.to_owned(),
            _ => format!("{record}.{}", ["x", "y", "z"][word as usize]),
        }
    }

    fn network(&self, text: &mut String, network: &Network) {
        for (low, high) in network.comparators() {
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
    }

    fn store_line(&self, text: &mut String) {
        for group in 0..self.each / 4 {
            for word in 0..self.words {
                let words: Vec<_> = (0..4)
                    .map(|i| self.word(&format!("r{}", 4 * group + i), word))
                    .collect();
                let _ = writeln!(
                    text,
                    "    tile_{word}[base ^ {group}u] = vec4<u32>({});",
                    words.join(", ")
                );
            }
        }
    }

    /// Fetches records, any for a lane, and makes a sorted line of them.
    fn first_pass(&self) -> String {
        let Self { each, lines, .. } = *self;
        let mut text = String::from("fn sort_lines(blocks: Blocks, lane: u32) {\n");
        let place = |j: u32| {
            let block = if j < each / 2 { "low" } else { "high" };
            format!("blocks.{block} + {}u + lane", j * lines)
        };
        for j in 0..each {
            let _ = writeln!(text, "    var r{j} = fetch(blocks, {});", place(j));
        }
        if self.is_mapped {
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
        self.network(&mut text, &Network::odd_even_merge_sort(each));
        text += "    let base = vector_of(lane, 0u);\n";
        self.store_line(&mut text);
        text += "}\n\n";
        text
    }

    /// Merges each line.
    fn line_pass(&self) -> String {
        let mut text =
            String::from("fn line_pass(lane: u32) {\n    let base = vector_of(lane, 0u);\n");
        for group in 0..self.each / 4 {
            for word in 0..self.words {
                let _ = writeln!(
                    text,
                    "    let v{group}_{word} = tile_{word}[base ^ {group}u];"
                );
            }
            for i in 0..4 {
                let record = self.record(|w| format!("v{group}_{w}.{}", ["x", "y", "z", "w"][i]));
                let _ = writeln!(text, "    var r{} = {record};", 4 * group + i as u32);
            }
        }
        self.network(&mut text, &Network::bitonic_merger(self.each));
        self.store_line(&mut text);
        text += "}\n\n";
        text
    }

    /// Writes the bases of the vectors of columns, and says which vector, and which element of it,
    /// is a register's. Registers with a bit of `half` in their number hold the records of lines in
    /// the second half of a block, which are read backwards.
    fn column_places(&self, text: &mut String, columns: Columns, half: u32) -> Vec<String> {
        let Self { each, lines, .. } = *self;
        let (groups, stride) = match columns {
            Columns::Near => (each / 4, 1),
            Columns::Far => (each / 4, lines / each),
        };
        let low = match columns {
            Columns::Near => format!("lane / {each}u * {each}u"),
            Columns::Far => format!("lane / {each}u"),
        };
        let _ = writeln!(
            text,
            "    let column = lane % {each}u;\n    let e0 = column % 4u;\n    let e1 = 3u - e0;\n    \
             let g0 = column / 4u;\n    let g1 = {}u - g0;\n    let low0 = {low};",
            groups - 1
        );
        let _ = match columns {
            Columns::Near => writeln!(text, "    let low1 = low0;"),
            Columns::Far => writeln!(text, "    let low1 = {}u - low0;", stride - 1),
        };
        // Lines `low + line` share a base and differ by a constant where they are permuted alike:
        // the least of them.
        let least = |line: u32| match (each, columns) {
            (32, _) | (_, Columns::Near) => line % 8,
            (_, Columns::Far) => line % 8 + (line >> 4 & 1) * 16,
        };
        let mut known = std::collections::BTreeSet::new();
        (0..each)
            .map(|j| {
                let side = u32::from(j & half != 0);
                let line = j * stride;
                let least = least(line);
                if known.insert((side, least)) {
                    let _ = writeln!(
                        text,
                        "    let a{side}_{least} = vector_of(low{side} + {least}u, g{side});"
                    );
                }
                format!("[a{side}_{least} + {}u][e{side}]", (line - least) * groups)
            })
            .collect()
    }

    fn load_columns(&self, text: &mut String, places: &[String]) {
        for (j, place) in places.iter().enumerate() {
            let record = self.record(|word| format!("tile_{word}{place}"));
            let _ = writeln!(text, "    var r{j} = {record};");
        }
    }

    /// Applies a network to columns of lines.
    fn column_pass(&self, name: &str, columns: Columns, half: u32, network: &Network) -> String {
        let mut text = format!("fn {name}(lane: u32) {{\n");
        let places = self.column_places(&mut text, columns, half);
        self.load_columns(&mut text, &places);
        self.network(&mut text, network);
        for (j, place) in places.iter().enumerate() {
            for word in 0..self.words {
                let value = self.word(&format!("r{j}"), word);
                let _ = writeln!(text, "    tile_{word}{place} = {value};");
            }
        }
        text += "}\n\n";
        text
    }

    /// Puts the sorted records to the target, a row of memory a warp.
    fn last_pass(&self) -> String {
        let Self { each, lines, .. } = *self;
        let mut text = String::from("fn put_tile(blocks: Blocks, lane: u32) {\n");
        let places = self.column_places(&mut text, Columns::Far, 0);
        self.load_columns(&mut text, &places);
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
        let _ = writeln!(
            text,
            "    let o{i} = other_tile({i}u, own);\n    var n{i} = 0u;"
        );
    }
    text += "    for (var step = params.tile; step > 0u; step /= 2u) {\n";
    for i in 0..others {
        let _ = writeln!(text, "        let p{i} = probe(o{i}, n{i} + step - 1u);");
    }
    for i in 0..others {
        let _ = writeln!(text, "        n{i} = further(o{i}, r, n{i}, step, p{i});");
    }
    let sum: Vec<_> = (0..others).map(|i| format!("n{i}")).collect();
    let _ = writeln!(text, "    }}\n    return {};\n}}", sum.join(" + "));
    text
}
