//! Where rows and cells begin and end.

use crate::records::Bounds;
use crate::records::lines::{count_lines, line_bounds, partition_lines};
use crate::records::reader::ChunkReader;
use bcfsort_term::fault::Fault;
use memchr::{memchr, memchr_iter, memchr2};
use std::borrow::Cow;
use std::ops::Range;

/// How many bytes of a file are searched for the end of a line if carriage returns seem to be it.
const PROBE: usize = 1 << 20;

/// How many bytes of a file tell whether it is in UTF-16.
const SAMPLE: usize = 1 << 12;

/// The bytes that separate cells and rows.
///
/// A cell that begins with a quote ends with the next single one. Separators and line ends in it
/// belong to the cell, and two quotes are one. Elsewhere quotes have no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) separator: u8,
    /// `None`: no cell is quoted.
    pub(crate) quote: Option<u8>,
    /// The last byte of a row: a line feed, which may follow a carriage return, or a carriage
    /// return.
    pub(crate) line_end: u8,
}

impl Dialect {
    /// True if cells may be quoted. If not, every line end is one of a row.
    #[inline]
    pub(super) fn has_quotes(self, bytes: &[u8]) -> bool {
        self.quote
            .is_some_and(|quote| memchr(quote, bytes).is_some())
    }

    /// The end of the row that begins at `start`, or `None` if it is not in `bytes`.
    pub(super) fn row_end(self, bytes: &[u8], start: usize) -> Option<usize> {
        let Some(quote) = self.quote else {
            return Some(start + memchr(self.line_end, &bytes[start..])? + 1);
        };
        let mut at = start;
        loop {
            let found = at + memchr2(quote, self.line_end, &bytes[at..])?;
            if bytes[found] == self.line_end {
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

    /// The ends of all whole rows.
    pub(super) fn row_ends(self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        let mut start = 0;
        std::iter::from_fn(move || {
            start = self.row_end(bytes, start)?;
            Some(start)
        })
    }

    pub(super) fn bounds(self, bytes: &[u8]) -> Bounds {
        if self.has_quotes(bytes) {
            Bounds::Ends(self.row_ends(bytes).collect())
        } else {
            line_bounds(bytes, self.line_end)
        }
    }

    pub(super) fn count(self, bytes: &[u8]) -> usize {
        if self.has_quotes(bytes) {
            self.row_ends(bytes).count()
        } else {
            count_lines(bytes, self.line_end)
        }
    }

    /// As [`Layout::cut`](crate::records::Layout::cut).
    pub(super) fn cut(self, bytes: &[u8], limit: usize) -> usize {
        if limit >= bytes.len() {
            return bytes.len();
        }
        if !self.has_quotes(&bytes[..limit]) {
            if let Some(end) = memchr::memrchr(self.line_end, &bytes[..limit]) {
                return end + 1;
            }
        }
        let fitting = self.row_ends(bytes).take_while(|&end| end <= limit).last();
        fitting
            .or_else(|| self.row_end(bytes, 0))
            .unwrap_or(bytes.len())
    }

    /// As [`Layout::partition`](crate::records::Layout::partition).
    pub(super) fn partition(self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        if self.has_quotes(sorted) {
            self.bounds(sorted).partition(sorted, precedes)
        } else {
            partition_lines(sorted, self.line_end, precedes)
        }
    }

    /// As [`of_file`](Self::of_file), for the file that comes next in a reader. One in UTF-16 is an
    /// error: its line ends have two bytes, and rows would be torn between them.
    pub(super) fn of_next(
        self,
        reader: &mut ChunkReader,
        memory: u64,
    ) -> Result<(Self, Vec<u8>), Fault> {
        let found = reader.look(
            |bytes, are_all| {
                let (dialect, row) = self.of_file(bytes, are_all)?;
                // In UTF-16, a byte more belongs to the line end; a second line tells more.
                let is_enough = are_all || bytes.len() > row.len() + row.len().min(SAMPLE);
                is_enough.then(|| (dialect, row, is_utf_16(bytes, are_all, self.separator)))
            },
            memory,
        )?;
        let (dialect, row, is_utf_16) = found.unwrap_or((self, Vec::new(), false));
        if is_utf_16 {
            return Err(Fault::Usage(format!(
                "{}: the file is in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it (-f \
                 UTF-16LE or -f UTF-16BE if it has no byte order mark)",
                reader.name()
            )));
        }
        Ok((dialect, row))
    }

    /// The dialect with the line ends of a file that begins with `bytes`, and its first row. `None`
    /// if it takes more bytes to say so, which there are unless these are all.
    ///
    /// Carriage returns end rows if one ends the first row, and there is no line feed in the first
    /// MiB of the file. Line ends in quotes do not count.
    pub(crate) fn of_file(self, bytes: &[u8], are_all: bool) -> Option<(Self, Vec<u8>)> {
        let feeds = self.with_line_end(b'\n');
        let returns = self.with_line_end(b'\r');
        let first_feed = feeds.row_end(bytes, 0);
        let first_return = returns.row_end(bytes, 0);
        let row = |end| bytes[..end].to_vec();
        match (first_return, first_feed) {
            (Some(end), feed) if feed.is_none_or(|feed| end + 1 < feed) => {
                let is_known = are_all || bytes.len() >= PROBE;
                if returns.holds(b'\n', bytes) {
                    Some((feeds, row(feed?)))
                } else {
                    is_known.then(|| (returns, row(end)))
                }
            }
            (_, Some(end)) => Some((feeds, row(end))),
            (_, None) => are_all.then(|| (feeds, row(bytes.len()))),
        }
    }

    const fn with_line_end(self, line_end: u8) -> Self {
        Self { line_end, ..self }
    }

    /// True if there is such a byte outside quotes.
    fn holds(self, byte: u8, bytes: &[u8]) -> bool {
        let mut start = 0;
        let ends = self.row_ends(bytes).chain([bytes.len()]);
        ends.into_iter().any(|end| {
            let row = &bytes[start..end];
            start = end;
            self.with_line_end(byte).row_end(row, 0).is_some()
        })
    }

    /// The cells of a row.
    #[inline]
    pub(super) fn cells(self, row: &[u8]) -> Cells<'_> {
        let row = self.without_end(row);
        Cells {
            dialect: self,
            row,
            // A blank line has no cell.
            next: (!row.is_empty()).then_some(0),
            has_quotes: self.has_quotes(row),
        }
    }

    fn without_end(self, row: &[u8]) -> &[u8] {
        let row = row.strip_suffix(&[self.line_end]).unwrap_or(row);
        match self.line_end {
            b'\n' => row.strip_suffix(b"\r").unwrap_or(row),
            _ => row,
        }
    }
}

/// True if a file that begins with these bytes is in UTF-16: it has the byte order mark, or its
/// start makes sense as such a text and not as an 8-bit one. Then separators and line ends have two
/// bytes, of which one is zero; but some other characters have a byte of theirs, too.
fn is_utf_16(bytes: &[u8], are_all: bool, separator: u8) -> bool {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return true;
    }
    if are_all && bytes.len() % 2 == 1 {
        return false;
    }
    let pairs = bytes[..bytes.len().min(SAMPLE)].chunks_exact(2);
    let is_ascii = |pair: &&[u8]| pair.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if 2 * pairs.clone().filter(is_ascii).count() > pairs.len() {
        return false;
    }
    [u16::from_le_bytes, u16::from_be_bytes].iter().any(|unit| {
        let mut units: Vec<u16> = pairs.clone().map(|pair| unit([pair[0], pair[1]])).collect();
        // The sample may end within a character.
        let _ = units.pop_if(|last| (0xd800..0xdc00).contains(last));
        let ends = [b'\n', b'\r', separator];
        let is_end = |unit: &&u16| ends.contains(&((**unit & 0xff) as u8));
        let similar = units.iter().filter(is_end).count();
        let real = units
            .iter()
            .filter(is_end)
            .filter(|unit| **unit < 0x100)
            .count();
        units.iter().any(|unit| matches!(unit, 0xa | 0xd))
            && real >= 2
            && 4 * real >= 3 * similar
            && String::from_utf16(&units).is_ok_and(|text| !text.contains('\0'))
    })
}

/// Where the cells of a row begin and end.
pub(super) struct Cells<'a> {
    dialect: Dialect,
    row: &'a [u8],
    /// Where the next cell begins.
    next: Option<usize>,
    has_quotes: bool,
}

impl Cells<'_> {
    /// The end of the cell that begins at `start`.
    fn end(&self, start: usize) -> usize {
        let rest = match self.row.get(start) {
            Some(first) if Some(*first) == self.dialect.quote => {
                quoted_end(self.row, start).unwrap_or(self.row.len())
            }
            _ => start,
        };
        memchr(self.dialect.separator, &self.row[rest..])
            .map_or(self.row.len(), |length| rest + length)
    }
}

impl Iterator for Cells<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.next?;
        let end = self.end(start);
        self.next = (end < self.row.len()).then_some(end + 1);
        Some(start..end)
    }

    #[inline]
    fn nth(&mut self, count: usize) -> Option<Range<usize>> {
        if self.has_quotes {
            for _ in 0..count {
                self.next()?;
            }
            return self.next();
        }
        let from = self.next.take()?;
        let mut ends = memchr_iter(self.dialect.separator, &self.row[from..]);
        let start = match count.checked_sub(1) {
            None => from,
            Some(before) => from + ends.nth(before)? + 1,
        };
        let end = ends.next().map_or(self.row.len(), |end| from + end);
        self.next = (end < self.row.len()).then_some(end + 1);
        Some(start..end)
    }
}

/// The end of the quoted part that begins at `start`, or `None` if it is not in `bytes`.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    loop {
        let found = at + memchr(quote, &bytes[at..])?;
        if bytes.get(found + 1) != Some(&quote) {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// The content of a cell.
#[inline]
pub(super) fn unquoted(cell: &[u8], quote: Option<u8>) -> Cow<'_, [u8]> {
    let Some(quote) = quote.filter(|quote| cell.first() == Some(quote)) else {
        return Cow::Borrowed(cell);
    };
    let end = quoted_end(cell, 0).unwrap_or(cell.len() + 1);
    let quoted = &cell[1..end - 1];
    let behind = cell.get(end..).unwrap_or_default();
    if behind.is_empty() && memchr(quote, quoted).is_none() {
        return Cow::Borrowed(quoted);
    }
    let mut content = Vec::with_capacity(cell.len());
    let mut rest = quoted;
    while let Some(double) = memchr(quote, rest) {
        content.extend_from_slice(&rest[..=double]);
        rest = &rest[double + 2..];
    }
    content.extend_from_slice(rest);
    content.extend_from_slice(behind);
    Cow::Owned(content)
}
