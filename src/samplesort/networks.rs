//! The networks of `shaders/samplesort/tile_sort.wgsl`, as functions over a line.
//!
//! A network over an array of registers compiles ten times slower on NVIDIA's driver than one over
//! named variables. In a loop, the array falls out of the registers.

use crate::shader::Network;
use std::fmt::Write;

/// Cells of a line, and lines of a column.
const CELLS: u32 = 16;

/// The networks that sort a tile of 2^(4 + `far_bits`) lines, of `each` records of `words` words.
/// `far_bits` is at most 4. In a compact kernel the networks of columns are stages.
pub(super) fn networks(words: u32, each: u32, far_bits: u32, is_compact: bool) -> String {
    let line = Line { words, each };
    let mut text = line.function(
        "sort_line",
        Network::odd_even_merge_sort(each).comparators(),
    );
    text += &line.function("merge_line", Network::bitonic_merger(each).comparators());
    let bits = CELLS.ilog2();
    if is_compact {
        for k in 1..=bits {
            let cross = Network::bitonic_cross(CELLS, k);
            let first = line.of_cells(cross.first_stage(), true);
            text += &line.function(&format!("cross_first_{k}"), &first);
            let cleaners = Network::half_cleaners(CELLS, k);
            let first = line.of_cells(cleaners.first_stage(), false);
            text += &line.function(&format!("compare_{}", 1 << (k - 1)), &first);
        }
        return text;
    }
    for k in 1..=bits {
        let cross = Network::bitonic_cross(CELLS, k);
        let first = cross.first_stage();
        let mut comparators = line.of_cells(first, true);
        comparators.extend(line.of_cells(&cross.comparators()[first.len()..], false));
        text += &line.function(&format!("cross_{k}"), &comparators);
    }
    let clean = Network::half_cleaners(CELLS, far_bits);
    text + &line.function("clean", &line.of_cells(clean.comparators(), false))
}

/// A line of `each` records of `words` words.
struct Line {
    words: u32,
    each: u32,
}

impl Line {
    /// Records of a cell: one, or two of one word.
    const fn in_a_cell(&self) -> u32 {
        self.each / CELLS
    }

    /// Comparators of cells, as those of their records. `opposite`: the records of the second cell
    /// are compared in reverse order.
    fn of_cells(&self, cells: &[(u32, u32)], opposite: bool) -> Vec<(u32, u32)> {
        let in_a_cell = self.in_a_cell();
        let of_cell = |&(low, high): &(u32, u32)| {
            (0..in_a_cell).map(move |record| {
                let other = if opposite {
                    in_a_cell - 1 - record
                } else {
                    record
                };
                (low * in_a_cell + record, high * in_a_cell + other)
            })
        };
        cells.iter().flat_map(of_cell).collect()
    }

    /// A function that applies comparators to the records of a line.
    fn function(&self, name: &str, comparators: &[(u32, u32)]) -> String {
        let mut text = format!(
            "\n// {} comparators, written by src/samplesort/networks.rs.\n\
             fn {name}(cells: Cells) -> Cells {{\n",
            comparators.len()
        );
        for cell in 0..CELLS {
            let _ = if self.in_a_cell() == 1 {
                writeln!(text, "    var r{cell} = cells.c{cell};")
            } else {
                let (first, second) = (2 * cell, 2 * cell + 1);
                writeln!(
                    text,
                    "    var r{first} = cells.c{cell}.x;\n    var r{second} = cells.c{cell}.y;"
                )
            };
        }
        for (low, high) in comparators {
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
        let cell = |i: u32| match self.in_a_cell() {
            1 => format!("r{i}"),
            _ => format!("vec2<u32>(r{}, r{})", 2 * i, 2 * i + 1),
        };
        let cells: Vec<String> = (0..CELLS).map(cell).collect();
        let _ = writeln!(text, "    return Cells({});\n}}", cells.join(", "));
        text
    }
}
