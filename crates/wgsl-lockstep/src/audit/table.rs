//! Tables for terminals and in Markdown.

/// A table. The first `left` columns are text, aligned to the left; the others are numbers.
pub(super) struct Table {
    left: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(left: usize, head: &[&str]) -> Self {
        Self {
            left,
            rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()],
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }

    fn cells<'a>(&self, row: &'a [String], widths: &'a [usize]) -> impl Iterator<Item = String> {
        let left = self.left;
        row.iter()
            .zip(widths)
            .enumerate()
            .map(move |(i, (cell, &width))| {
                if i < left {
                    format!("{cell:width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
    }

    pub(super) fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = self.cells(row, &widths).collect();
            text += cells.join("  ").trim_end();
            text.push('\n');
        }
        text
    }

    pub(super) fn markdown(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = self.cells(row, &widths).collect();
            text += &format!("| {} |\n", cells.join(" | "));
            if i == 0 {
                let rules = widths.iter().enumerate().map(|(i, &width)| {
                    let end = if i < self.left { '-' } else { ':' };
                    format!("{}{end}", "-".repeat(width + 1))
                });
                text += &format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
            }
        }
        text
    }
}

/// A fraction in percent; `-` if `whole` is 0. Only the whole itself is 100 %.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        // Rounded down.
        whole if part < whole => {
            let tenths = (u128::from(part) * 1000 / u128::from(whole)) as u64;
            format!("{}.{} %", tenths / 10, tenths % 10)
        }
        _ => "100 %".to_owned(),
    }
}

/// The quotient of two counts, such as `1.25x`; `-` if `min` is 0.
#[must_use]
pub fn ratio(value: u64, min: u64) -> String {
    if min == 0 {
        return "-".to_owned();
    }
    format!("{:.2}x", value as f64 / min as f64)
}

/// A number, or `-` if it counts a property of no items.
pub(super) fn number(value: u64, of: u64) -> String {
    if of == 0 {
        "-".to_owned()
    } else {
        value.to_string()
    }
}

/// A large number with a unit prefix, such as `1.5 M`.
#[must_use]
pub fn short(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{:.2} G", v / 1e9),
        v if v >= 1e6 => format!("{:.1} M", v / 1e6),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

/// A count with its noun, such as `2 words`.
#[must_use]
pub fn plural(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let mut table = Table::new(1, &["name", "n"]);
        table.row(vec!["a".to_owned(), "10".to_owned()]);
        table.row(vec!["longer".to_owned(), "9".to_owned()]);
        assert_eq!(table.text(), "name     n\na       10\nlonger   9\n");
        assert_eq!(
            table.markdown(),
            "| name   |  n |\n|--------|---:|\n| a      | 10 |\n| longer |  9 |\n"
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(share(0, 0), "-");
        assert_eq!(share(99_999, 100_000), "99.9 %");
        assert_eq!(share(5, 5), "100 %");
        assert_eq!(ratio(5, 4), "1.25x");
        assert_eq!(ratio(5, 0), "-");
        assert_eq!(short(12.0), "12");
        assert_eq!(short(1.25e9), "1.25 G");
    }
}
