//! The output: a table with kernels in rows, gates in columns and the number of variants that
//! passed, and the failures.

use std::fmt;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Table {
    /// The name of each kernel, with its number of variants.
    rows: Vec<(String, usize)>,
    columns: Vec<Column>,
}

#[derive(Default)]
struct Column {
    title: &'static str,
    skipped: bool,
    /// One entry for each variant that passed.
    passed: Vec<String>,
    /// The number of variants that passed in an earlier run.
    again: usize,
    /// One entry for each variant that the gate leaves out.
    left_out: Vec<String>,
    time: Duration,
}

impl Table {
    /// Adds a variant that must pass every gate.
    pub(crate) fn expect(&mut self, kernel: &str) {
        match self.rows.iter_mut().find(|(row, _)| *row == kernel) {
            Some((_, variants)) => *variants += 1,
            None => self.rows.push((kernel.to_owned(), 1)),
        }
    }

    /// Adds a gate.
    pub(crate) fn column(&mut self, title: &'static str) -> usize {
        self.columns.push(Column {
            title,
            ..Column::default()
        });
        self.columns.len() - 1
    }

    pub(crate) fn skip(&mut self, column: usize) {
        self.columns[column].skipped = true;
    }

    /// True if no gate is skipped.
    pub(crate) fn is_whole(&self) -> bool {
        !self.columns.iter().any(|column| column.skipped)
    }

    pub(crate) fn pass(&mut self, column: usize, kernel: &str) {
        self.columns[column].passed.push(kernel.to_owned());
    }

    /// Adds a variant that passed in an earlier run with the same sources.
    pub(crate) fn pass_again(&mut self, column: usize, kernel: &str) {
        self.columns[column].again += 1;
        self.pass(column, kernel);
    }

    pub(crate) fn passed_again(&self, column: usize) -> usize {
        self.columns[column].again
    }

    pub(crate) fn leave_out(&mut self, column: usize, kernel: &str) {
        self.columns[column].left_out.push(kernel.to_owned());
    }

    /// Adds to the time of a gate.
    pub(crate) fn took(&mut self, column: usize, time: Duration) {
        self.columns[column].time += time;
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = std::iter::once("kernel".to_owned())
            .chain(self.columns.iter().map(|column| column.title.to_owned()));
        let mut lines: Vec<Vec<String>> = vec![head.collect()];
        for (kernel, variants) in &self.rows {
            let cells = self.columns.iter().map(|column| {
                let count =
                    |kernels: &[String]| kernels.iter().filter(|&row| row == kernel).count();
                let passed = count(&column.passed);
                let variants = variants - count(&column.left_out);
                if column.skipped || variants == 0 {
                    "-".to_owned()
                } else if passed < variants {
                    format!("FAIL {passed}/{variants}")
                } else {
                    format!("{passed}/{variants}")
                }
            });
            lines.push(std::iter::once(kernel.clone()).chain(cells).collect());
        }
        let seconds = self
            .columns
            .iter()
            .map(|column| format!("{:.1}", column.time.as_secs_f64()));
        lines.push(
            std::iter::once("seconds, one by one".to_owned())
                .chain(seconds)
                .collect(),
        );

        let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
        let widths: Vec<_> = (0..=self.columns.len()).filter_map(width).collect();
        for line in &lines {
            write!(f, "{:<1$}", line[0], widths[0])?;
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The failures with their reasons; equal ones are listed once.
#[derive(Default)]
pub(crate) struct Failures(Vec<Failure>);

struct Failure {
    gate: &'static str,
    of: Vec<String>,
    why: String,
}

impl Failures {
    pub(crate) fn add(&mut self, gate: &'static str, of: &str, why: String) {
        let alike = |failure: &&mut Failure| failure.gate == gate && failure.why == why;
        match self.0.iter_mut().find(alike) {
            Some(failure) => failure.of.push(of.to_owned()),
            None => self.0.push(Failure {
                gate,
                of: vec![of.to_owned()],
                why,
            }),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|failure| failure.of.len()).sum()
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Failure { gate, of, why } in &self.0 {
            writeln!(f, "FAILED {gate}: {}", of.join(", "))?;
            for line in why.trim_end().lines() {
                writeln!(f, "    {line}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
