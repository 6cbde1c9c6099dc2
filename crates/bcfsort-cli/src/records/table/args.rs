//! The options of tables.

use super::column::Column;
use super::dialect::Dialect;
use super::header::Header;
use super::union::Union;
use super::{Table, count_of_cells};
use crate::records::args::RecordKind;
use crate::records::reader::ChunkReader;
use bcfsort_term::fault::Fault;
use std::ffi::OsString;

/// What the rows of tables are sorted by, and what separates their cells.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct TableArgs {
    /// csv, tsv: COLUMN[:TYPE][:desc],...; npy: FIELD[:desc],...
    ///
    /// csv, tsv: COLUMN is a name, or a number from 1, which columns whose names have a comma need;
    /// TYPE is str (the default: by bytes), natural (digits as numbers), version (as sort -V), num
    /// (any decimal number, exactly), date (ISO 8601, with or without a time and its offset,
    /// exactly), u32, i32, f32, u64, i64 or f64; desc: largest first; nocase: uppercase and
    /// lowercase of ASCII are one. Rows with equal cells keep their order. A row without the cell,
    /// and a number or date that is empty, NA, N/A, null, None or NaN, is last in both orders:
    /// first with :missing=first, refused with :missing=error. npy: of a structured array, which
    /// needs this option; the file has the types.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) by: Option<String>,
    /// csv, tsv: the first row is no header
    #[arg(long, hide_short_help = true)]
    pub(crate) no_header: bool,
    /// csv, tsv: what cells may be quoted with, or none [default: csv '"', tsv none]
    ///
    /// Separators and line ends in a quoted cell belong to it, and two quotes in it are one. A
    /// quote that does not begin a cell has no meaning.
    #[arg(long, value_name = "CHAR", hide_short_help = true)]
    pub(crate) quote: Option<OsString>,
    /// csv, tsv: numbers are written as 1.234,5
    ///
    /// Points may be in front of every third digit before the comma.
    #[arg(long, hide_short_help = true)]
    pub(crate) decimal_comma: bool,
}

impl TableArgs {
    /// The options of this group, with the formats that have them, and whether they are given.
    pub(crate) fn given(&self) -> [(&'static str, &'static [RecordKind], bool); 4] {
        const TABLES: &[RecordKind] = &[RecordKind::Csv, RecordKind::Tsv];
        const BY: &[RecordKind] = &[RecordKind::Csv, RecordKind::Tsv, RecordKind::Npy];
        [
            ("--by", BY, self.by.is_some()),
            ("--no-header", TABLES, self.no_header),
            ("--quote", TABLES, self.quote.is_some()),
            ("--decimal-comma", TABLES, self.decimal_comma),
        ]
    }

    /// What to sort the rows of a table by.
    pub(crate) fn plan(
        &self,
        kind: RecordKind,
        separator: Option<u8>,
        reverse: bool,
    ) -> Result<TablePlan, Fault> {
        let (default_separator, default_quote) = match kind {
            RecordKind::Tsv => (b'\t', None),
            _ => (b',', Some(b'"')),
        };
        let by = self
            .by
            .clone()
            .ok_or_else(|| Fault::Usage(format!("-f {} needs --by COLUMN", kind.name())))?;
        let separator = separator.unwrap_or(default_separator);
        let quote = match self.quote.as_deref() {
            None => default_quote,
            Some(text) if text == "none" => None,
            Some(text) => match text.as_encoded_bytes() {
                &[quote] if !matches!(quote, b'\n' | b'\r') => Some(quote),
                _ => {
                    return Err(Fault::Usage(format!(
                        "--quote '{}' is no quote: give one byte, or none",
                        text.to_string_lossy().escape_debug()
                    )));
                }
            },
        };
        if separator == b'\r' {
            return Err(Fault::Usage(
                "--field-separator '\\r' is a line end, so it cannot separate cells".to_owned(),
            ));
        }
        if quote == Some(separator) {
            return Err(Fault::Usage(format!(
                "cells are quoted with '{}', so it cannot separate them: --quote none, or another \
                 separator",
                char::from(separator).escape_debug()
            )));
        }
        Ok(TablePlan {
            dialect: Dialect {
                separator,
                quote,
                line_end: b'\n',
            },
            by,
            has_header: !self.no_header,
            decimal_comma: self.decimal_comma,
            reverse,
        })
    }
}

/// What to sort the rows of a table by, before its first row is known.
pub(crate) struct TablePlan {
    /// Line ends are those of the file.
    dialect: Dialect,
    by: String,
    has_header: bool,
    decimal_comma: bool,
    reverse: bool,
}

impl TablePlan {
    /// Reads what stays in front, and returns the layout and these bytes.
    pub(crate) fn open(
        &self,
        reader: &mut ChunkReader,
        memory: u64,
    ) -> Result<(Table, Vec<u8>), Fault> {
        let mut front = Vec::new();
        let dialect = loop {
            let mark = reader.take_mark()?;
            if front.is_empty() {
                front = mark;
            }
            let (found, row) = self.dialect.of_next(reader, memory)?;
            // The first file is the first one that is not empty.
            if !row.is_empty() || !reader.skip_ended()? {
                break found;
            }
        };
        let name = reader.name().to_owned();
        let set_front = |reader: &mut ChunkReader, header| {
            reader.set_front(Union {
                dialect,
                header,
                name,
                memory,
            });
        };
        let failed = |reader: &ChunkReader, why| Fault::Usage(format!("{}: {why}", reader.name()));
        if !self.has_header {
            let columns = self.columns(None).map_err(Fault::Usage)?;
            if let Some(why) = absent(dialect, &columns, reader, memory)? {
                return Err(failed(reader, why));
            }
            set_front(reader, None);
            return Ok((Table::new(dialect, columns), front));
        }
        let rows = Table::rows(dialect);
        let Some(header) = reader.next_record(&rows, memory)? else {
            return Ok((rows, front));
        };
        let columns = self.columns(Some(&Header::new(dialect, &header)));
        let columns = columns.map_err(|why| failed(reader, why))?;
        front.extend_from_slice(&header);
        set_front(reader, Some(header));
        Ok((Table::new(dialect, columns), front))
    }

    fn columns(&self, header: Option<&Header>) -> Result<Vec<Column>, String> {
        let columns = self.by.split(',').map(|column| {
            Column::parse(column, header, self.reverse, self.decimal_comma).map_err(|why| {
                match column.trim() {
                    name if name == column && !name.is_empty() => format!("--by {column}: {why}"),
                    _ => format!("--by '{column}': {why}"),
                }
            })
        });
        columns.collect()
    }
}

/// Bytes of a file without a header in which a row must have all columns.
const FIRST_ROWS: u64 = 1 << 20;

/// Says which column none of the first rows has, if there is one. Rows may be short, also the first
/// one. A file without rows does not tell how many columns there are.
fn absent(
    dialect: Dialect,
    columns: &[Column],
    reader: &mut ChunkReader,
    memory: u64,
) -> Result<Option<String>, Fault> {
    let Some(last) = columns.iter().max_by_key(|column| column.index) else {
        return Ok(None);
    };
    let longest = |bytes: &[u8], are_all: bool| {
        let mut start = 0;
        let mut ends: Vec<usize> = dialect.row_ends(bytes).collect();
        ends.extend(are_all.then_some(bytes.len()));
        let rows = ends.into_iter().map(|end| {
            let row = &bytes[std::mem::replace(&mut start, end)..end];
            dialect.cells(row).count()
        });
        let longest = rows.max().unwrap_or(0);
        (are_all || longest > last.index).then_some(longest)
    };
    let most = memory.min(FIRST_ROWS);
    let rows = match reader.look(longest, most)? {
        Some(0) => return Ok(None),
        Some(cells) if cells > last.index => return Ok(None),
        Some(cells) => format!("the longest row has {}", count_of_cells(cells)),
        None => format!("no row in the first {most} bytes has that many"),
    };
    let name = &last.name;
    Ok(Some(format!(
        "--by {name}: there is no such column: {rows}"
    )))
}
