//! Rows of CSV and TSV files.

mod args;
mod column;
mod date;
mod dialect;
mod header;
mod union;

use super::{Bounds, Layout, Prefix, Wrong};
use bcfsort_data::clipped;
use column::{Column, Value};
use dialect::unquoted;
use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

pub(crate) use args::{TableArgs, TablePlan};
pub(crate) use dialect::Dialect;

/// Rows of cells, and the columns that they are sorted by.
pub(crate) struct Table {
    dialect: Dialect,
    columns: Vec<Column>,
    /// The parts of the key from the leftmost column to the rightmost one.
    from_left: Vec<usize>,
}

impl Table {
    /// Rows without columns to sort by: for reading the header.
    const fn rows(dialect: Dialect) -> Self {
        Self {
            dialect,
            columns: Vec::new(),
            from_left: Vec::new(),
        }
    }

    fn new(dialect: Dialect, columns: Vec<Column>) -> Self {
        let mut from_left: Vec<usize> = (0..columns.len()).collect();
        from_left.sort_by_key(|&part| columns[part].index);
        Self {
            dialect,
            columns,
            from_left,
        }
    }

    /// Finds the cells of all columns in one pass, from left to right.
    fn visit<E>(
        &self,
        row: &[u8],
        mut visit: impl FnMut(usize, Option<Range<usize>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut cells = self.dialect.cells(row);
        let mut next = 0;
        let mut cell = None;
        for &part in &self.from_left {
            // Otherwise, it is the column of the part before.
            if let Some(skipped) = self.columns[part].index.checked_sub(next) {
                cell = cells.nth(skipped);
                next += skipped + 1;
            }
            visit(part, cell.clone())?;
        }
        Ok(())
    }

    fn content<'a>(&self, row: &'a [u8], cell: Range<usize>) -> Cow<'a, [u8]> {
        unquoted(&row[cell], self.dialect.quote)
    }

    /// Calls `with` with what the cell of a column holds.
    #[inline]
    fn with_value<T>(
        &self,
        row: &[u8],
        column: &Column,
        cell: Option<Range<usize>>,
        with: impl FnOnce(&Value) -> T,
    ) -> T {
        let content = cell.and_then(|cell| column.normal(self.content(row, cell)));
        // Rows are checked when they are read: all cells have values.
        let value = content.as_deref().and_then(|content| column.value(content));
        with(&value.unwrap_or(Value::Missing))
    }

    fn push(&self, row: &[u8], part: usize, cell: Option<Range<usize>>, key: &mut Vec<u8>) {
        let column = &self.columns[part];
        let is_last = part + 1 == self.columns.len();
        self.with_value(row, column, cell, |value| column.push(value, is_last, key));
    }

    /// What is wrong with a cell, and at which byte of the row.
    fn wrong(&self, row: &[u8], column: &Column, cell: Option<Range<usize>>) -> Wrong {
        let name = clipped(column.name.as_bytes());
        let Some(cell) = cell else {
            return Wrong {
                at: 0,
                what: format!(
                    "the row has {}, but column '{name}' is number {}",
                    count_of_cells(self.dialect.cells(row).count()),
                    column.index + 1
                ),
            };
        };
        let at = cell.start;
        let content = self.content(row, cell);
        Wrong {
            at,
            what: format!(
                "column '{name}': '{}' is not {}{}",
                clipped(&content),
                column.type_name(),
                column.hint(&content)
            ),
        }
    }
}

impl Layout for Table {
    fn bounds(&self, bytes: &[u8]) -> Bounds {
        self.dialect.bounds(bytes)
    }

    fn count(&self, bytes: &[u8]) -> usize {
        self.dialect.count(bytes)
    }

    fn cut(&self, bytes: &[u8], limit: usize) -> usize {
        self.dialect.cut(bytes, limit)
    }

    fn partition(&self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        self.dialect.partition(sorted, precedes)
    }

    fn parts(&self) -> usize {
        self.columns.len()
    }

    fn push_part(&self, record: &[u8], part: usize, key: &mut Vec<u8>) {
        let cell = self.dialect.cells(record).nth(self.columns[part].index);
        self.push(record, part, cell, key);
    }

    fn push_key(&self, record: &[u8], key: &mut Vec<u8>) {
        if self.columns.len() == 1 {
            return self.push_part(record, 0, key);
        }
        let mut cells = vec![None; self.columns.len()];
        let Ok(()) = self.visit::<Infallible>(record, |part, cell| {
            cells[part] = cell;
            Ok(())
        });
        for (part, cell) in cells.into_iter().enumerate() {
            self.push(record, part, cell, key);
        }
    }

    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> Prefix {
        scratch.clear();
        let mut part = 0;
        while let Some(column) = self.columns.get(part).filter(|_| scratch.len() <= 8) {
            let cell = self.dialect.cells(record).nth(column.index);
            // The key of a number has a byte more than its prefix, which is exact without it.
            let number = self.with_value(record, column, cell, |value| match value {
                Value::Decimal(number) if part == 0 => Some(number.prefix(column.order())),
                value => {
                    column.push(value, part + 1 == self.columns.len(), scratch);
                    None
                }
            });
            part += 1;
            if let Some(prefix) = number {
                let exact = prefix.exact && self.columns.len() == 1;
                return Prefix { exact, ..prefix };
            }
        }
        let prefix = Prefix::of(scratch, self.is_prefix_free());
        Prefix {
            exact: prefix.exact && part == self.columns.len(),
            ..prefix
        }
    }

    fn is_prefix_free(&self) -> bool {
        self.columns.last().is_some_and(Column::is_prefix_free)
    }

    fn line_end(&self) -> Option<u8> {
        Some(self.dialect.line_end)
    }

    fn terminator(&self, crlf: bool) -> &'static [u8] {
        match self.dialect.line_end {
            b'\r' => b"\r",
            _ if crlf => b"\r\n",
            _ => b"\n",
        }
    }

    fn is_checked(&self) -> bool {
        !self.columns.iter().all(Column::takes_all)
    }

    fn check(&self, record: &[u8]) -> Result<(), Wrong> {
        self.visit(record, |part, cell| {
            let column = &self.columns[part];
            let content = cell.clone().map(|cell| self.content(record, cell));
            if column.accepts(content) {
                Ok(())
            } else {
                Err(self.wrong(record, column, cell))
            }
        })
    }
}

fn count_of_cells(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} cell{s}")
}
