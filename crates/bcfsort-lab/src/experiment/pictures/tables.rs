//! `experiment tables`: writes the documentation's tables of times anew, from the results.
//!
//! A table is known by the first column's name: `records` (of sorters, from `fast.csv`), `keys` (of
//! devices, from `auto.csv`) or `file` (from `file-sorts.csv`). Its other columns are named, too.
//! Only the rows that are there are written anew.

use super::{Auto, Fast, FileSort, RANDOM, rows, rows_if_any};
use crate::experiment::write;
use bcfsort_data::parse_count;
use bcfsort_term::fault::Fault;
use bcfsort_term::output::print;
use std::fs;
use std::path::Path;

/// Its name on the command line, where it is listed with the figures.
pub(in crate::experiment) const NAME: &str = "tables";

/// The documents with tables of times.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/performance.md"];

/// Columns of sorters: their names, and the contenders that sort keys, and pairs.
const COLUMNS: [(&str, &str, &str); 6] = [
    ("sample-sort", OURS, OURS),
    ("wgpu-bcfsort", OURS, OURS),
    ("CUB merge sort", "cub-merge", "cub-merge-pairs"),
    ("CUB radix sort", "cub-radix", "cub-radix-pairs"),
    ("lampshade", "lampshade", "lampshade-pairs"),
    ("wgpu_sort", "wgpu_sort-pairs", "wgpu_sort-pairs"),
];

const OURS: &str = "sample-sort";

/// The threads of the machine with a GPU.
const THREADS: usize = 16;

/// Rows of files: their names, what was measured, the file that was copied, and the contender.
const FILES: [(&str, &str, &str, &str); 8] = [
    ("2^28 `u32`", "2^28 u32", "2^28 u32", COMMAND),
    (
        "2^30 `u32`, `--memory 16G`",
        "2^30 u32 within 16G",
        "2^30 u32",
        COMMAND,
    ),
    (
        "2^30 `u32`, `--memory 2G`",
        "2^30 u32 within 2G",
        "2^30 u32",
        COMMAND,
    ),
    (
        "10 million lines of `u32`, `-f text`",
        LINES,
        LINES,
        COMMAND,
    ),
    (
        "the same, `-f lines -n`",
        LINES,
        LINES,
        "wgpu-bcfsort (as lines)",
    ),
    (
        "10^8 records of the sort benchmark, 10 GB, `--memory 4G`",
        "10^8 gensort records within 4G",
        RECORDS,
        COMMAND,
    ),
    (
        "the same, `--memory 60G`",
        "10^8 gensort records within 60G",
        RECORDS,
        COMMAND,
    ),
    ("100 `u32`", "100 u32", "100 u32", COMMAND),
];

const COMMAND: &str = "wgpu-bcfsort";
const LINES: &str = "10 M lines of u32";
const RECORDS: &str = "10^8 gensort records";

/// Writes the tables of the documents in the folder `out` anew.
pub(in crate::experiment) fn run(from: &Path, out: &Path, quiet: bool) -> Result<(), Fault> {
    let results = Results::read(from)?;
    for name in DOCUMENTS {
        let text = fs::read_to_string(out.join(name))
            .map_err(|error| Fault::io(name, "cannot read it", &error))?;
        write(out, name, &results.renewed(&text))?;
    }
    if quiet {
        return Ok(());
    }
    print(&format!("{}: {}\n", out.display(), DOCUMENTS.join(", ")))
}

/// What the tables have.
#[derive(Default)]
struct Results {
    fast: Vec<Fast>,
    auto: Vec<Auto>,
    files: Vec<FileSort>,
}

impl Results {
    /// Reads them from a folder. Without a file, its tables stay as they are.
    fn read(from: &Path) -> Result<Self, Fault> {
        Ok(Self {
            fast: rows(&from.join("fast.csv"))?,
            auto: rows_if_any(&from.join("auto.csv"))?.unwrap_or_default(),
            files: rows_if_any(&from.join("file-sorts.csv"))?.unwrap_or_default(),
        })
    }

    /// A document with the rows of its tables written anew.
    fn renewed(&self, text: &str) -> String {
        let lines = lines(text).map(|line| {
            let row = self.row(&line);
            row.unwrap_or_else(|| line.text.to_owned()) + "\n"
        });
        lines.collect()
    }

    /// The row of a line, if its table is one of these and the row is known.
    fn row(&self, line: &Line) -> Option<String> {
        let (of, columns) = line.columns.split_first()?;
        let name = line.cells.first()?;
        let cells = self.cells(of, name, columns)?;
        Some(format!("| {name} |{cells}"))
    }

    /// The cells of a row after its name.
    fn cells(&self, of: &str, name: &str, columns: &[&str]) -> Option<String> {
        match of {
            "records" => self.sorters(name, columns),
            "keys" => self.devices(name, columns),
            "file" => self.file(name),
            _ => None,
        }
    }

    /// The times of sorters, for records that are a number and a type: `2^26 u32`.
    fn sorters(&self, records: &str, columns: &[&str]) -> Option<String> {
        let (keys, of) = records.split_once(' ')?;
        let keys = parse_count(keys).ok()?;
        let pairs = of.ends_with(" and value");
        let key = of.trim_end_matches(" and value");
        let time = |name: &str| {
            let name = name.trim_matches('`');
            let (_, of_keys, of_pairs) = COLUMNS.iter().find(|column| column.0 == name)?;
            let contender = if pairs { of_pairs } else { of_keys };
            let mut same = self
                .fast
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
        Some(cells.collect())
    }

    /// The times of whole calls on both devices. Columns say what is called, and for which type:
    /// "argsort `u32`: GPU, CPU".
    fn devices(&self, keys: &str, columns: &[&str]) -> Option<String> {
        let keys = parse_count(keys).ok()?;
        let cell = |column: &&str| {
            let (work, of) = column.split_once(':')?.0.split_once(' ')?;
            let found = self.auto.iter().find(|row| {
                let is_called = row.work == work && row.r#type == of.trim_matches('`');
                is_called && row.keys == keys && row.threads == THREADS
            })?;
            Some(format!(" {}, {} |", short(found.gpu), short(found.cpu)))
        };
        let cells = columns
            .iter()
            .map(|column| cell(column).unwrap_or_else(|| " |".to_owned()));
        Some(cells.collect())
    }

    /// The time of a sort from file to file, that of a copy, and their quotient.
    fn file(&self, name: &str) -> Option<String> {
        let (_, work, copied, contender) = FILES.iter().find(|file| file.0 == name)?;
        let seconds = |work: &str, contender: &str| {
            let mut rows = self.files.iter();
            let found = rows.find(|row| row.work == work && row.contender == contender);
            Some(found?.seconds)
        };
        let (sort, copy) = (seconds(work, contender)?, seconds(copied, "cat")?);
        let shown = |seconds: f64| {
            let digits = if seconds < 0.01 { 4 } else { 3 };
            format!("{seconds:.digits$}")
        };
        let times = sort / copy;
        Some(format!(" {} | {} | {times:.2} |", shown(sort), shown(copy)))
    }
}

/// A line of a document.
struct Line<'a> {
    text: &'a str,
    /// The cells of the first line of its table; none if it is that line, or in no table.
    columns: Vec<&'a str>,
    /// Its own cells.
    cells: Vec<&'a str>,
}

/// The lines of a document.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut columns = Vec::new();
    text.lines().map(move |text| {
        let line = Line {
            text,
            columns: columns.clone(),
            cells: cells(text),
        };
        if line.cells.is_empty() || columns.is_empty() {
            columns.clone_from(&line.cells);
        }
        line
    })
}

/// The cells of a table's row; none in other lines.
fn cells(line: &str) -> Vec<&str> {
    let inner = line
        .strip_prefix('|')
        .and_then(|line| line.strip_suffix('|'));
    inner.map_or_else(Vec::new, |inner| inner.split('|').map(str::trim).collect())
}

/// Milliseconds with three digits, and whole from 100 on.
fn short(number: f64) -> String {
    let digits = match number {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$}")
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
        let results = Results::read(&root.join("benches/results/nvidia-h200"))?;
        for name in DOCUMENTS {
            let text = fs::read_to_string(root.join(name)).unwrap();
            let wrong = (text.lines().zip(results.renewed(&text).lines()))
                .find(|(shown, right)| shown != right)
                .map(|(shown, right)| format!("{shown}\n{right}"));
            assert_eq!(wrong, None, "{name}: 'experiment tables' writes it anew");
        }
        Ok(())
    }

    #[test]
    fn every_row_of_these_tables_has_results() -> Result<(), Fault> {
        let root = Path::new(ROOT);
        let results = Results::read(&root.join("benches/results/nvidia-h200"))?;
        let text = fs::read_to_string(root.join("docs/performance.md")).unwrap();
        let mut known = Vec::new();
        for line in lines(&text) {
            let is_row = line
                .cells
                .first()
                .is_some_and(|name| !name.starts_with('-'));
            let is_known = matches!(line.columns.first(), Some(&("records" | "keys" | "file")));
            if is_row && is_known {
                assert!(
                    results.row(&line).is_some(),
                    "{:?}: {}",
                    line.columns,
                    line.text
                );
                known.push(line.columns[0]);
            }
        }
        known.dedup();
        assert_eq!(known, ["records", "keys", "file"]);
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
        let fast = vec![
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
        let results = Results {
            fast,
            ..Results::default()
        };
        assert_eq!(results.renewed(text), shown);
    }
}
