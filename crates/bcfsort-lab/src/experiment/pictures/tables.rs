//! `experiment tables`: writes the documentation's tables of sorters anew from `fast.csv`.
//!
//! A row of such a table begins with the records of its sort, as `2^26 u32 and value`; its columns
//! are named in the table's first line. Only the rows that are there are written anew.

use super::{Fast, RANDOM, rows};
use crate::experiment::write;
use bcfsort_term::fault::Fault;
use bcfsort_term::output::print;
use std::fs;
use std::path::Path;

/// Its name on the command line, where it is listed with the figures.
pub(in crate::experiment) const NAME: &str = "tables";

/// The documents with tables of sorters.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/performance.md"];

/// Columns: their names, and the contenders that sort keys, and pairs.
const COLUMNS: [(&str, &str, &str); 6] = [
    ("sample-sort", OURS, OURS),
    ("wgpu-bcfsort", OURS, OURS),
    ("CUB merge sort", "cub-merge", "cub-merge-pairs"),
    ("CUB radix sort", "cub-radix", "cub-radix-pairs"),
    ("lampshade", "lampshade", "lampshade-pairs"),
    ("wgpu_sort", "wgpu_sort-pairs", "wgpu_sort-pairs"),
];

const OURS: &str = "sample-sort";

/// Writes the tables of the documents in the folder `out` anew.
pub(in crate::experiment) fn run(from: &Path, out: &Path, quiet: bool) -> Result<(), Fault> {
    let fast: Vec<Fast> = rows(&from.join("fast.csv"))?;
    for name in DOCUMENTS {
        let text = fs::read_to_string(out.join(name))
            .map_err(|error| Fault::io(name, "cannot read it", &error))?;
        write(out, name, &renewed(&text, &fast))?;
    }
    if quiet {
        return Ok(());
    }
    print(&format!("{}: {}\n", out.display(), DOCUMENTS.join(", ")))
}

/// A document with the rows of its tables of sorters written anew.
fn renewed(text: &str, fast: &[Fast]) -> String {
    let mut columns = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let cells = cells(line);
        if cells.first() == Some(&"records") {
            columns = cells[1..]
                .iter()
                .map(|name| name.trim_matches('`'))
                .collect();
        } else if cells.is_empty() {
            columns.clear();
        }
        let row = match cells.first() {
            Some(records) if !columns.is_empty() => row(records, &columns, fast),
            _ => None,
        };
        lines.push(row.unwrap_or_else(|| line.to_owned()) + "\n");
    }
    lines.concat()
}

/// The cells of a table's row; none in other lines.
fn cells(line: &str) -> Vec<&str> {
    let inner = line
        .strip_prefix('|')
        .and_then(|line| line.strip_suffix('|'));
    inner.map_or_else(Vec::new, |inner| inner.split('|').map(str::trim).collect())
}

/// The row of these records, if they are a number and a type: `2^26 u32`.
fn row(records: &str, columns: &[&str], fast: &[Fast]) -> Option<String> {
    let (power, of) = records.strip_prefix("2^")?.split_once(' ')?;
    let keys = 1_u64 << power.parse::<u32>().ok()?;
    let pairs = of.ends_with(" and value");
    let key = of.trim_end_matches(" and value");
    let time = |name: &str| {
        let (_, of_keys, of_pairs) = COLUMNS.iter().find(|column| column.0 == name)?;
        let contender = if pairs { of_pairs } else { of_keys };
        let mut same = fast
            .iter()
            .filter(|row| row.pattern == RANDOM && row.keys == keys);
        let found = same.find(|row| {
            let is_of_type = row.r#type == key && (row.moves == "values") == pairs;
            // The part in brackets says what it moves.
            is_of_type && row.contender.split(" (").next() == Some(*contender)
        });
        Some(found?.median_s * 1e3)
    };
    let ours = time(OURS)?;
    let cells = columns.iter().map(|&name| match time(name) {
        Some(ms) if name == columns[0] => format!(" {} |", milliseconds(ms)),
        Some(ms) => {
            let ratio = ms / ours;
            let digits = if ratio < 10.0 { 2 } else { 1 };
            format!(" {} ({ratio:.digits$}) |", milliseconds(ms))
        }
        None => " |".to_owned(),
    });
    Some(format!("| {records} |{}", cells.collect::<String>()))
}

fn milliseconds(number: f64) -> String {
    let digits = if number < 10.0 { 3 } else { 2 };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    #[test]
    fn the_tables_of_the_documentation_are_those_of_the_committed_results() -> Result<(), Fault> {
        let root = Path::new(ROOT);
        let fast: Vec<Fast> = rows(&root.join("benches/results/nvidia-h200/fast.csv"))?;
        for name in DOCUMENTS {
            let text = fs::read_to_string(root.join(name)).unwrap();
            let wrong = (text.lines().zip(renewed(&text, &fast).lines()))
                .find(|(shown, right)| shown != right)
                .map(|(shown, right)| format!("{shown}\n{right}"));
            assert_eq!(wrong, None, "{name}: 'experiment tables' writes it anew");
        }
        Ok(())
    }

    #[test]
    fn rows_that_are_there_are_written_anew() {
        let row = |r#type: &str, moves: &str, contender: &str, median_s| Fast {
            keys: 1024,
            r#type: r#type.to_owned(),
            moves: moves.to_owned(),
            pattern: RANDOM.to_owned(),
            contender: contender.to_owned(),
            device: String::new(),
            median_s,
        };
        let fast = [
            row("u32", "keys", OURS, 1e-5),
            row("u32", "keys", "cub-radix", 2.004e-5),
            row("u32", "values", OURS, 2e-2),
            row("u32", "values", "cub-radix-pairs (pairs of 8 bytes)", 1e-2),
        ];
        let text = "| records | `sample-sort` | CUB radix sort | lampshade |\n|---|---|---|---|\n\
                    | 2^10 u32 | 1 | 2 (3) | |\n| 2^10 u32 and value | | | |\n| 2^9 u32 | 7 | |\n\
                    \n| 2^10 u32 | 1 | 2 |\n";
        let shown = "| records | `sample-sort` | CUB radix sort | lampshade |\n|---|---|---|---|\n\
                     | 2^10 u32 | 0.010 | 0.020 (2.00) | |\n\
                     | 2^10 u32 and value | 20.00 | 10.00 (0.50) | |\n| 2^9 u32 | 7 | |\n\
                     \n| 2^10 u32 | 1 | 2 |\n";
        assert_eq!(renewed(text, &fast), shown);
    }
}
