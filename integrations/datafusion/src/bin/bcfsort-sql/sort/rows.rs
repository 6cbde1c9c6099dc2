//! Rows and cells of CSV and TSV files, as ranges of the file's bytes.

use anyhow::{Result, bail};
use memchr::{memchr, memchr2, memchr3};
use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The least number of bytes to read at a time.
const BLOCK: usize = 1 << 20;

/// The bytes that separate cells and rows.
///
/// A cell that begins with a quote ends with the next quote that is not doubled. In between,
/// separators and line ends belong to the cell, and a doubled quote stands for one. Elsewhere
/// quotes have no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) separator: u8,
    /// `None`: no cell is quoted.
    pub(crate) quote: Option<u8>,
    /// The last byte of a row: a carriage return, or a line feed, which may follow one.
    pub(crate) line_end: u8,
}

impl Dialect {
    /// The end of the row that `bytes` begin with. An error if it is not in `bytes`: true if a
    /// quoted cell is open.
    fn row_end(self, bytes: &[u8]) -> Result<usize, bool> {
        let Some(quote) = self.quote else {
            return memchr(self.line_end, bytes).map_or(Err(false), |end| Ok(end + 1));
        };
        let mut at = 0;
        while let Some(found) = memchr2(quote, self.line_end, &bytes[at..]) {
            let found = at + found;
            if bytes[found] == self.line_end {
                return Ok(found + 1);
            }
            at = if found == 0 || bytes[found - 1] == self.separator {
                quoted_end(bytes, found).ok_or(true)?
            } else {
                found + 1
            };
        }
        Err(false)
    }

    /// The line end of a file that begins with `bytes`. `None` if more of it has to be read.
    ///
    /// Carriage returns end rows if one ends the first row and no line feed follows in `bytes`.
    fn detect(self, bytes: &[u8]) -> Option<u8> {
        let returns = Self {
            line_end: b'\r',
            ..self
        };
        let feeds = Self {
            line_end: b'\n',
            ..self
        };
        match (returns.row_end(bytes), feeds.row_end(bytes)) {
            (_, Ok(_)) => Some(b'\n'),
            (Ok(_), Err(_)) => Some(b'\r'),
            (Err(_), Err(_)) => None,
        }
    }

    /// The cells of a row. A blank line has none.
    pub(crate) fn cells(self, row: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let row = self.content(row);
        let mut next = (!row.is_empty()).then_some(0);
        std::iter::from_fn(move || {
            let start = next?;
            let quoted = match row.get(start) {
                Some(first) if Some(*first) == self.quote => quoted_end(row, start),
                _ => None,
            };
            let from = quoted.unwrap_or(start);
            let end = memchr(self.separator, &row[from..]).map_or(row.len(), |end| from + end);
            next = (end < row.len()).then_some(end + 1);
            Some(start..end)
        })
    }

    /// The row without its line end.
    pub(crate) fn content(self, row: &[u8]) -> &[u8] {
        let row = row.strip_suffix(&[self.line_end]).unwrap_or(row);
        match self.line_end {
            b'\n' => row.strip_suffix(b"\r").unwrap_or(row),
            _ => row,
        }
    }

    /// The content of a cell, without its quotes.
    pub(crate) fn unquoted<'a>(self, cell: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(quote) = self.quote.filter(|quote| cell.first() == Some(quote)) else {
            return Cow::Borrowed(cell);
        };
        let mut content = Vec::with_capacity(cell.len());
        let mut rest = &cell[1..];
        while let Some(at) = memchr(quote, rest) {
            content.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            if rest.first() != Some(&quote) {
                break;
            }
            content.push(quote);
            rest = &rest[1..];
        }
        content.extend_from_slice(rest);
        Cow::Owned(content)
    }

    /// Appends a cell that holds `content`. Returns false if it needs quotes and there are none.
    pub(crate) fn push_cell(self, content: &[u8], out: &mut Vec<u8>) -> bool {
        let needs_quotes = memchr3(self.separator, b'\n', b'\r', content).is_some()
            || self.quote.is_some() && content.first().copied() == self.quote;
        let quote = match self.quote {
            Some(quote) if needs_quotes => quote,
            _ => {
                out.extend_from_slice(content);
                return !needs_quotes;
            }
        };
        out.push(quote);
        for &byte in content {
            if byte == quote {
                out.push(quote);
            }
            out.push(byte);
        }
        out.push(quote);
        true
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

/// Reads the rows of a file, one after the other.
pub(crate) struct RowReader<R> {
    file: R,
    pub(crate) dialect: Dialect,
    /// The byte order mark of the file, or nothing.
    pub(crate) mark: &'static [u8],
    buffer: Vec<u8>,
    start: usize,
    is_all: bool,
    /// Rows that were read: for messages.
    pub(crate) rows: u64,
}

impl<R: Read> RowReader<R> {
    pub(crate) fn open(file: R, dialect: Dialect) -> Result<Self> {
        let mut reader = Self {
            file,
            dialect,
            mark: b"",
            buffer: Vec::new(),
            start: 0,
            is_all: false,
            rows: 0,
        };
        reader.fill()?;
        if reader.buffer.starts_with(MARK) {
            reader.mark = MARK;
            reader.start = MARK.len();
        }
        loop {
            match dialect.detect(&reader.buffer[reader.start..]) {
                Some(line_end) => reader.dialect.line_end = line_end,
                None if !reader.is_all => {
                    reader.fill()?;
                    continue;
                }
                None => {}
            }
            return Ok(reader);
        }
    }

    /// The next row, with its line end. The last one may have none.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let rest = &self.buffer[self.start..];
            let length = match self.dialect.row_end(rest) {
                Ok(length) => length,
                Err(_) if !self.is_all => {
                    self.fill()?;
                    continue;
                }
                Err(true) => bail!("row {}: a quoted cell has no closing quote", self.rows + 1),
                Err(false) if rest.is_empty() => return Ok(None),
                Err(false) => rest.len(),
            };
            let row = self.start..self.start + length;
            self.start = row.end;
            self.rows += 1;
            return Ok(Some(&self.buffer[row]));
        }
    }

    /// Reads at least as many bytes as there are, so that long rows take linear time.
    fn fill(&mut self) -> Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let wanted = self.buffer.len().max(BLOCK) as u64;
        let read = (&mut self.file)
            .take(wanted)
            .read_to_end(&mut self.buffer)?;
        self.is_all = (read as u64) < wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, quote: Option<u8>) -> Vec<String> {
        let dialect = Dialect {
            separator: b',',
            quote,
            line_end: b'\n',
        };
        let mut reader = RowReader::open(text.as_bytes(), dialect).expect(text);
        let mut rows = Vec::new();
        while let Some(row) = reader.next().expect(text) {
            rows.push(String::from_utf8_lossy(row).into_owned());
        }
        rows
    }

    #[test]
    fn rows_end_where_the_file_says() {
        let quote = Some(b'"');
        assert_eq!(
            rows("a,b\r\n1,\"x\ny\"\n\n2", quote),
            ["a,b\r\n", "1,\"x\ny\"\n", "\n", "2"]
        );
        assert_eq!(
            rows("\u{feff}\"a\nb\",c\n1,2\n", quote),
            ["\"a\nb\",c\n", "1,2\n"]
        );
        assert_eq!(rows("a\r2\r1", quote), ["a\r", "2\r", "1"]);
        assert_eq!(rows("a\"b\n\"1\n2\n", None), ["a\"b\n", "\"1\n", "2\n"]);
        assert!(rows("", quote).is_empty());
    }

    #[test]
    fn cells_keep_and_lose_their_quotes() {
        let dialect = Dialect {
            separator: b',',
            quote: Some(b'"'),
            line_end: b'\n',
        };
        let row = b"1,\"a,\"\"b\"\"\",,x\"y\"\r\n";
        let cells: Vec<Vec<u8>> = dialect
            .cells(row)
            .map(|cell| dialect.unquoted(&row[cell]).into_owned())
            .collect();
        assert_eq!(cells, [&b"1"[..], b"a,\"b\"", b"", b"x\"y\""]);
        assert_eq!(dialect.cells(b"\r\n").count(), 0);
        let mut out = Vec::new();
        assert!(dialect.push_cell(b"a,\"b\"", &mut out));
        assert_eq!(out, b"\"a,\"\"b\"\"\"");
        let tsv = Dialect {
            separator: b'\t',
            quote: None,
            line_end: b'\n',
        };
        assert!(!tsv.push_cell(b"a\tb", &mut out));
        assert!(tsv.push_cell(b"\"a", &mut out));
    }
}
