//! Rows of CSV and TSV files.

use super::decimal::Decimal;
use super::key::{order, push_last_string, push_number, push_string};
use super::lines::{count_lines, line_bounds, partition_lines};
use super::{Bounds, Layout, Wrong};
use memchr::{memchr, memchr_iter, memchr2};
use std::borrow::Cow;
use std::str::FromStr;
use wgpu_bcfsort::{KeyType, Order, SortKey};

/// Rows of cells, and the columns that they are sorted by.
///
/// A cell that begins with `"` ends with the next single one. Separators and line ends in it belong
/// to the cell, and `""` is one quote. Elsewhere quotes have no meaning.
pub(crate) struct Table {
    separator: u8,
    columns: Vec<Column>,
}

/// A column, and how its cells compare.
#[derive(Debug, PartialEq, Eq)]
struct Column {
    /// From 0.
    index: usize,
    name: String,
    kind: Kind,
    order: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By bytes.
    Str,
    /// Any decimal number, by its exact value.
    Num,
    Number(KeyType),
}

impl Kind {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "str" => Some(Self::Str),
            "num" => Some(Self::Num),
            _ => KeyType::WHOLE_WORDS
                .into_iter()
                .find(|number| number.name() == name)
                .map(Self::Number),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Str => "str",
            Self::Num => "num",
            Self::Number(number) => number.name(),
        }
    }
}

impl Table {
    /// Rows without columns to sort by: for reading the header.
    pub(crate) const fn rows(separator: u8) -> Self {
        Self {
            separator,
            columns: Vec::new(),
        }
    }

    /// Rows sorted by `COL[:TYPE][:desc],...`. With `reverse` each is in the other order. Without a
    /// header, columns have numbers only.
    pub(crate) fn new(
        separator: u8,
        by: &str,
        header: Option<&[u8]>,
        reverse: bool,
    ) -> Result<Self, String> {
        let rows = Self::rows(separator);
        let names = header.map(|header| rows.names(header));
        let columns = by.split(',').map(|column| {
            Column::parse(column, names.as_deref(), reverse)
                .map_err(|why| format!("--by {column}: {why}"))
        });
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            ..rows
        })
    }

    /// The cells of a header.
    fn names(&self, header: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        while let Some((_, cell)) = self.cell(header, names.len()) {
            names.push(String::from_utf8_lossy(&unquoted(cell)).into_owned());
        }
        names
    }

    /// One cell of a row, with its quotes, and where it begins.
    #[inline]
    fn cell<'a>(&self, row: &'a [u8], index: usize) -> Option<(usize, &'a [u8])> {
        let row = without_end(row);
        if memchr(b'"', row).is_some() {
            return self.cell_of_quoted(row, index);
        }
        let mut ends = memchr_iter(self.separator, row);
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => ends.nth(before)? + 1,
        };
        let end = ends.next().unwrap_or(row.len());
        Some((start, &row[start..end]))
    }

    fn cell_of_quoted<'a>(&self, row: &'a [u8], index: usize) -> Option<(usize, &'a [u8])> {
        let mut start = 0;
        for _ in 0..index {
            start = self.cell_end(row, start);
            if start == row.len() {
                return None;
            }
            start += 1;
        }
        Some((start, &row[start..self.cell_end(row, start)]))
    }

    /// The end of the cell that begins at `start`.
    fn cell_end(&self, row: &[u8], start: usize) -> usize {
        let rest = match row.get(start) {
            Some(b'"') => quoted_end(row, start).unwrap_or(row.len()),
            _ => start,
        };
        memchr(self.separator, &row[rest..]).map_or(row.len(), |length| rest + length)
    }

    /// The end of the row that begins at `start`, or `None` if it is not in `bytes`.
    fn row_end(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            let found = at + memchr2(b'"', b'\n', &bytes[at..])?;
            if bytes[found] == b'\n' {
                return Some(found + 1);
            }
            let begins_cell = found == start || bytes[found - 1] == self.separator;
            at = if begins_cell {
                quoted_end(bytes, found)?
            } else {
                found + 1
            };
        }
    }

    fn row_ends<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let mut start = 0;
        std::iter::from_fn(move || {
            start = self.row_end(bytes, start)?;
            Some(start)
        })
    }
}

/// The end of the quoted part that begins at `start`, or `None` if it is not in `bytes`.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        let quote = at + memchr(b'"', &bytes[at..])?;
        match bytes.get(quote + 1) {
            Some(b'"') => at = quote + 2,
            _ => return Some(quote + 1),
        }
    }
}

fn without_end(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// The content of a cell.
#[inline]
fn unquoted(cell: &[u8]) -> Cow<'_, [u8]> {
    if cell.first() != Some(&b'"') {
        return Cow::Borrowed(cell);
    }
    let end = quoted_end(cell, 0).unwrap_or(cell.len() + 1);
    let quoted = &cell[1..end - 1];
    let behind = cell.get(end..).unwrap_or_default();
    if behind.is_empty() && memchr(b'"', quoted).is_none() {
        return Cow::Borrowed(quoted);
    }
    let mut content = Vec::with_capacity(cell.len());
    let mut rest = quoted;
    while let Some(quote) = memchr(b'"', rest) {
        content.extend_from_slice(&rest[..=quote]);
        rest = &rest[quote + 2..];
    }
    content.extend_from_slice(rest);
    content.extend_from_slice(behind);
    Cow::Owned(content)
}

impl Column {
    /// Parses `COL[:TYPE][:desc]`. The name may have colons itself.
    fn parse(text: &str, names: Option<&[String]>, reverse: bool) -> Result<Self, String> {
        let (text, descending) = match text.strip_suffix(":desc") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let typed = text.rsplit_once(':');
        let typed = typed.and_then(|(name, kind)| Some((name, Kind::parse(kind)?)));
        let (name, kind) = typed.unwrap_or((text, Kind::Str));
        Ok(Self {
            index: find(name, names)?,
            name: name.to_owned(),
            kind,
            order: order(descending != reverse),
        })
    }

    /// The bits of the number that a cell of this column holds.
    fn number(kind: Kind, cell: &[u8]) -> Option<(u64, KeyType)> {
        fn bits<T: SortKey + FromStr>(text: &str) -> Option<(u64, KeyType)> {
            let number = text.parse::<T>().ok()?;
            Some((number.to_bits64(), T::KEY_TYPE))
        }
        let text = std::str::from_utf8(cell.trim_ascii()).ok()?;
        match kind {
            Kind::Number(KeyType::U32) => bits::<u32>(text),
            Kind::Number(KeyType::I32) => bits::<i32>(text),
            Kind::Number(KeyType::F32) => bits::<f32>(text),
            Kind::Number(KeyType::U64) => bits::<u64>(text),
            Kind::Number(KeyType::I64) => bits::<i64>(text),
            Kind::Number(KeyType::F64) => bits::<f64>(text),
            Kind::Number(_) | Kind::Num | Kind::Str => None,
        }
    }

    /// True if a cell has a key.
    fn is_key(&self, cell: &[u8]) -> bool {
        match self.kind {
            Kind::Str => true,
            Kind::Num => decimal(cell).is_some(),
            kind @ Kind::Number(_) => Self::number(kind, cell).is_some(),
        }
    }
}

/// The decimal number that a cell holds.
fn decimal(cell: &[u8]) -> Option<Decimal<'_>> {
    let (number, rest) = Decimal::scientific(cell.trim_ascii())?;
    rest.is_empty().then_some(number)
}

/// The index of a column by its name or its number.
fn find(name: &str, names: Option<&[String]>) -> Result<usize, String> {
    let mut named = names.unwrap_or_default().iter().zip(0..);
    if let Some((_, index)) = named.find(|(other, _)| *other == name) {
        if named.any(|(other, _)| other == name) {
            return Err("several columns have this name: give the column's number".to_owned());
        }
        return Ok(index);
    }
    let number = name
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    match (number, names) {
        (Some(index), None) => Ok(index),
        (Some(index), Some(names)) if index < names.len() => Ok(index),
        (None, None) => Err("without a header, columns have numbers, from 1".to_owned()),
        (_, Some(names)) => Err(format!(
            "there is no such column: the header has {}",
            names.join(", ")
        )),
    }
}

impl Layout for Table {
    fn bounds(&self, bytes: &[u8]) -> Bounds {
        match memchr(b'"', bytes) {
            None => line_bounds(bytes, b'\n'),
            Some(_) => Bounds::Ends(self.row_ends(bytes).collect()),
        }
    }

    fn count(&self, bytes: &[u8]) -> usize {
        match memchr(b'"', bytes) {
            None => count_lines(bytes, b'\n'),
            Some(_) => self.row_ends(bytes).count(),
        }
    }

    fn cut(&self, bytes: &[u8], limit: usize) -> usize {
        if limit >= bytes.len() {
            return bytes.len();
        }
        let quotes = memchr(b'"', &bytes[..limit]).is_some();
        if !quotes && let Some(end) = memchr::memrchr(b'\n', &bytes[..limit]) {
            return end + 1;
        }
        let fitting = self.row_ends(bytes).take_while(|&end| end <= limit).last();
        fitting
            .or_else(|| self.row_end(bytes, 0))
            .unwrap_or(bytes.len())
    }

    fn partition(&self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        if memchr(b'"', sorted).is_none() {
            return partition_lines(sorted, b'\n', precedes);
        }
        self.bounds(sorted).partition(sorted, precedes)
    }

    fn parts(&self) -> usize {
        self.columns.len()
    }

    fn push_part(&self, record: &[u8], part: usize, key: &mut Vec<u8>) {
        let column = &self.columns[part];
        // Rows are checked when they are read: all have their cells.
        let cell = self
            .cell(record, column.index)
            .map_or(&[][..], |(_, cell)| cell);
        let content = unquoted(cell);
        match column.kind {
            Kind::Str if part + 1 == self.columns.len() => {
                push_last_string(&content, column.order, key);
            }
            Kind::Str => push_string(&content, column.order, key),
            Kind::Num => {
                if let Some(number) = decimal(&content) {
                    number.push(column.order, key);
                }
            }
            kind @ Kind::Number(_) => {
                let number = Column::number(kind, &content);
                let (bits, number) = number.unwrap_or((0, KeyType::U64));
                push_number(bits, number, column.order, key);
            }
        }
    }

    fn is_prefix_free(&self) -> bool {
        let last = self.columns.last();
        last.is_some_and(|last| last.kind != Kind::Str || last.order == Order::Descending)
    }

    fn line_end(&self) -> Option<u8> {
        Some(b'\n')
    }

    fn terminator(&self, crlf: bool) -> &'static [u8] {
        if crlf { b"\r\n" } else { b"\n" }
    }

    fn is_checked(&self) -> bool {
        !self.columns.is_empty()
    }

    fn check(&self, record: &[u8]) -> Result<(), Wrong> {
        for column in &self.columns {
            let Some((at, cell)) = self.cell(record, column.index) else {
                let cells = (0..).take_while(|&index| self.cell(record, index).is_some());
                let what = format!(
                    "the row has {} cells, but column '{}' is number {}",
                    cells.count(),
                    column.name,
                    column.index + 1
                );
                return Err(Wrong { at: 0, what });
            };
            let content = unquoted(cell);
            if !column.is_key(&content) {
                let what = format!(
                    "'{}' in column '{}' is no {}",
                    clipped(&content),
                    column.name,
                    column.kind.name()
                );
                return Err(Wrong { at, what });
            }
        }
        Ok(())
    }
}

/// The text of a cell for a message.
fn clipped(cell: &[u8]) -> String {
    const MOST: usize = 40;
    let text = cell[..cell.len().min(MOST)].escape_ascii().to_string();
    if cell.len() > MOST {
        text + "..."
    } else {
        text
    }
}
