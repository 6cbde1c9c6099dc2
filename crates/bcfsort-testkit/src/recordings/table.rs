//! The table of kernels, as Markdown.

use wgpu_bcfsort::internals::kernel::Specialised;
use wgsl_lockstep::{Fault, Report, Space};

const HEAD: [&str; 8] = [
    "kernel",
    "workgroup accesses",
    "conflict-free",
    "max degree",
    "oblivious",
    "races",
    "out of bounds",
    "sectors / least",
];

/// What the kernels of one name did.
#[derive(Default)]
struct Row {
    accesses: u64,
    conflict_free: u64,
    max_degree: u32,
    max_degree_by_word: u32,
    depends_on_data: bool,
    races: u64,
    out_of_bounds: u64,
    sectors: u64,
    min_sectors: u64,
}

impl Row {
    fn add(&mut self, report: &Report) {
        for site in report.in_space(Space::Workgroup) {
            self.accesses += site.accesses;
            self.conflict_free += site.banks.conflict_free;
            self.max_degree = self.max_degree.max(site.banks.max_degree);
            let by_word = site.banks_by_word.max_degree;
            self.max_degree_by_word = self.max_degree_by_word.max(by_word);
        }
        for site in report.in_space(Space::Storage) {
            self.sectors += site.sectors;
            self.min_sectors += site.min_sectors;
        }
        self.depends_on_data |= !report.is_oblivious(Space::Workgroup);
        self.races += report.count(Fault::Race);
        self.out_of_bounds += report.count(Fault::OutOfBounds);
    }

    fn cells(&self, kernel: &str) -> [String; 8] {
        let if_accessed = |cell: String| {
            if self.accesses == 0 {
                "-".to_owned()
            } else {
                cell
            }
        };
        // (Less than all of it is not rounded up to 100 %.)
        let share = match self.conflict_free {
            free if free == self.accesses => "100 %".to_owned(),
            free => {
                let tenths = free * 1000 / self.accesses;
                format!("{}.{} %", tenths / 10, tenths % 10)
            }
        };
        let degree = if self.max_degree == self.max_degree_by_word {
            self.max_degree.to_string()
        } else {
            format!("{} (by word {})", self.max_degree, self.max_degree_by_word)
        };
        let oblivious = if self.depends_on_data {
            "no".to_owned()
        } else {
            if_accessed("yes".to_owned())
        };
        let ratio = match self.min_sectors {
            0 => "-".to_owned(),
            least => format!("{:.2}x", self.sectors as f64 / least as f64),
        };
        [
            format!("`{kernel}`"),
            self.accesses.to_string(),
            if_accessed(share),
            if_accessed(degree),
            oblivious,
            self.races.to_string(),
            self.out_of_bounds.to_string(),
            ratio,
        ]
    }
}

/// A Markdown table with a row for each kernel: all that share a name, for whichever keys, together.
/// Kernels of one name are to stand side by side, as in a
/// [`CorpusReport`](super::CorpusReport::kernels).
#[must_use]
pub fn kernels_markdown(kernels: &[(Specialised, Report)]) -> String {
    let mut rows: Vec<(String, Row)> = Vec::new();
    for (kernel, report) in kernels {
        let name = kernel.kernel().name();
        if rows.last().is_none_or(|last| last.0 != name) {
            rows.push((name, Row::default()));
        }
        if let Some((_, row)) = rows.last_mut() {
            row.add(report);
        }
    }
    let mut cells = vec![HEAD.map(String::from)];
    cells.extend(rows.iter().map(|(name, row)| row.cells(name)));
    let widths: [usize; 8] = std::array::from_fn(|column| {
        let lengths = cells.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    });
    let mut table = String::new();
    for (number, row) in cells.iter().enumerate() {
        for ((column, cell), width) in row.iter().enumerate().zip(widths) {
            table += &if column == 0 {
                format!("| {cell:width$} ")
            } else {
                format!("| {cell:>width$} ")
            };
        }
        table += "|\n";
        if number == 0 {
            for (column, width) in widths.into_iter().enumerate() {
                let end = if column == 0 { '-' } else { ':' };
                table += &format!("|{}{end}", "-".repeat(width + 1));
            }
            table += "|\n";
        }
    }
    table
}
