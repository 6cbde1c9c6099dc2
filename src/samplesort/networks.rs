//! The networks of `shaders/samplesort/tile_sort.wgsl`, as functions over a line.
//!
//! A network over an array of registers compiles ten times slower on NVIDIA's driver than one over
//! named variables. In a loop, the array falls out of the registers.

use crate::shader::Network;
use std::fmt::Write;

/// Records of a line, and lines of a column.
const LINE: u32 = 16;

/// The networks that sort a tile of 2^(4 + `far_bits`) lines of records of `words` words.
/// `far_bits` is at most 4. In a compact kernel the networks of columns are stages.
pub(super) fn networks(words: u32, far_bits: u32, is_compact: bool) -> String {
    let mut text = String::new();
    let mut add =
        |name: &str, comparators: &[(u32, u32)]| text += &function(words, name, comparators);
    add(
        "sort_line",
        Network::odd_even_merge_sort(LINE).comparators(),
    );
    add("merge_line", Network::bitonic_merger(LINE).comparators());
    for k in 1..=LINE.ilog2() {
        let cross = Network::bitonic_cross(LINE, k);
        if is_compact {
            add(&format!("cross_first_{k}"), cross.first_stage());
            let cleaners = Network::half_cleaners(LINE, k);
            add(&format!("compare_{}", 1 << (k - 1)), cleaners.first_stage());
        } else {
            add(&format!("cross_{k}"), cross.comparators());
        }
    }
    if !is_compact {
        add(
            "clean",
            Network::half_cleaners(LINE, far_bits).comparators(),
        );
    }
    text
}

/// A function that applies comparators to the records of a line.
fn function(words: u32, name: &str, comparators: &[(u32, u32)]) -> String {
    let mut text = format!(
        "\n// {} comparators, written by src/samplesort/networks.rs.\n\
         fn {name}(cells: Cells) -> Cells {{\n",
        comparators.len()
    );
    for i in 0..LINE {
        let _ = writeln!(text, "    var r{i} = cells.c{i};");
    }
    for (low, high) in comparators {
        let _ = if words == 1 {
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
    let records: Vec<String> = (0..LINE).map(|i| format!("r{i}")).collect();
    let _ = writeln!(text, "    return Cells({});\n}}", records.join(", "));
    text
}
