//! Tables of CSV and TSV files whose rows are moved, and not rewritten.
//!
//! The session sorts batches of keys, each with the bytes of its row. So a sort of files has the
//! memory limit and the runs on disk of a query. Only the cells to sort by are parsed.

use super::decimal::push_number;
use super::key::{Key, Kind, listed};
use super::rows::{Dialect, RowReader};
use crate::printable;
use anyhow::{Context, Result, bail, ensure};
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{
    ArrayRef, Int64Builder, LargeBinaryBuilder, RecordBatch, UInt64Builder,
};
use datafusion::arrow::compute::kernels::cast_utils::string_to_datetime;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{SortExpr, ident};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The column with the number of each row: rows with equal keys keep their order.
const NUMBER: &str = "number";

/// The column with the bytes of each row.
pub(super) const ROW: &str = "row";

/// The most rows and bytes of a batch. (One row may be longer.)
const BATCH_ROWS: u64 = 8192;
const BATCH_BYTES: usize = 1 << 20;

/// Cells that stand for a missing number or date, as an empty cell does.
const MISSING: [&[u8]; 5] = [b"NA", b"N/A", b"null", b"None", b"NaN"];

/// How the cells of a column compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Bytes,
    /// Integers of 64 bits.
    Integers,
    Decimals,
    Instants,
}

impl Order {
    const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "str",
            Self::Integers | Self::Decimals => "num",
            Self::Instants => "date",
        }
    }
}

/// A column to sort by.
#[derive(Debug)]
struct Column {
    name: String,
    order: Order,
    descending: bool,
    nulls_first: bool,
}

/// A file of rows.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    /// The positions of the first file's columns in this file, if they differ.
    places: Option<Vec<usize>>,
    /// The positions of the columns to sort by.
    keys: Vec<usize>,
    /// The line end for a last row that has none.
    line_end: &'static [u8],
}

/// Files of rows with the same columns.
#[derive(Debug)]
pub(super) struct Table {
    from: Dialect,
    to: Dialect,
    /// The header to write, with the byte order mark of the first file.
    pub(super) header: Vec<u8>,
    columns: Vec<Column>,
    sources: Vec<Source>,
    schema: SchemaRef,
    /// Notes to the user on how columns are compared.
    pub(super) notes: Vec<String>,
    read: AtomicUsize,
}

/// The header of a file: its byte order mark, its row, and its names.
pub(super) struct Header {
    mark: &'static [u8],
    row: Vec<u8>,
    pub(super) names: Vec<String>,
    dialect: Dialect,
}

impl Header {
    pub(super) fn read(path: &Path, dialect: Dialect) -> Result<Self> {
        let mut rows = open(path, dialect)?;
        let (mark, dialect) = (rows.mark, rows.dialect);
        let row = rows.next().with_context(|| in_file(path))?;
        let Some(row) = row.map(<[u8]>::to_vec) else {
            bail!("{}: the file has no header", path.display());
        };
        let name = |cell: Range<usize>| {
            let name = dialect.unquoted(&row[cell]).into_owned();
            String::from_utf8(name)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        };
        let names = dialect.cells(&row).map(name).collect();
        Ok(Self {
            mark,
            names,
            dialect,
            row,
        })
    }

    fn line_end(&self) -> &'static [u8] {
        match self.dialect.line_end {
            b'\r' => b"\r",
            _ if self.row.ends_with(b"\r\n") => b"\r\n",
            _ => b"\n",
        }
    }
}

fn in_file(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

fn open(path: &Path, dialect: Dialect) -> Result<RowReader<File>> {
    let file = File::open(path).with_context(|| in_file(path))?;
    ensure!(
        file.metadata().with_context(|| in_file(path))?.is_file(),
        "{}: not a regular file: the input is read twice, so save it to a file first",
        path.display()
    );
    RowReader::open(file, dialect).with_context(|| in_file(path))
}

/// The positions of the columns of `first` in `other`, or `None` if they are the same.
pub(super) fn places(
    first: (&Path, &[String]),
    other: (&Path, &[String]),
) -> Result<Option<Vec<usize>>> {
    if first.1 == other.1 {
        return Ok(None);
    }
    let index = |names: &[String]| -> HashMap<String, usize> {
        let names = names.iter().enumerate();
        names.map(|(index, name)| (name.clone(), index)).collect()
    };
    let (ours, theirs) = (index(first.1), index(other.1));
    let missing = |from: &[String], of: &HashMap<String, usize>| {
        let names = from.iter().map(String::as_str);
        let names: Vec<&str> = names.filter(|name| !of.contains_key(*name)).collect();
        listed(&names)
    };
    let (lacks, more) = (missing(first.1, &theirs), missing(other.1, &ours));
    let mut differences = Vec::new();
    if !lacks.is_empty() {
        differences.push(format!("lacks {lacks}"));
    }
    if !more.is_empty() {
        differences.push(format!("also has {more}"));
    }
    if differences.is_empty() && (ours.len() != first.1.len() || theirs.len() != other.1.len()) {
        differences.push("has repeated names, in another order".to_owned());
    }
    ensure!(
        differences.is_empty(),
        "the inputs have different columns: {} {}, compared with {}",
        other.0.display(),
        differences.join(", and "),
        first.0.display()
    );
    Ok(Some(first.1.iter().map(|name| theirs[name]).collect()))
}

impl Table {
    /// Reads the headers, and all cells to sort by, to find how they compare. If `all_cells` is
    /// set, a row with more or fewer cells than the header is an error.
    pub(super) fn open(
        paths: &[PathBuf],
        from: Dialect,
        to: Dialect,
        by: &[Key],
        all_cells: bool,
    ) -> Result<Self> {
        let mut headers = Vec::new();
        for path in paths {
            headers.push(Header::read(path, from)?);
        }
        let first = &headers[0];
        let mut found: Vec<(usize, Option<Kind>)> = Vec::new();
        for key in by {
            found.push(key.find(&first.names)?);
        }
        let mut sources = Vec::new();
        for (path, header) in paths.iter().zip(&headers) {
            let places = places((&paths[0], &first.names), (path, &header.names))?;
            let place = |&(index, _): &(usize, _)| match &places {
                Some(places) => places[index],
                None => index,
            };
            sources.push(Source {
                path: path.clone(),
                keys: found.iter().map(place).collect(),
                places,
                line_end: header.line_end(),
            });
        }
        let mut notes = Vec::new();
        let seen = survey(&sources, from, &found, &first.names, all_cells)?;
        let column = |((key, &(index, kind)), seen): ((&Key, &(usize, Option<Kind>)), Seen)| {
            let name = first.names[index].clone();
            if kind.is_none()
                && let Some(odd) = &seen.odd
            {
                notes.push(format!(
                    "column {name:?} is compared as text: {odd} is not a number or a date, \
                     unlike the cells before it"
                ));
            }
            Column {
                name,
                order: seen.order(kind),
                descending: key.descending,
                nulls_first: key.nulls_first,
            }
        };
        let columns: Vec<Column> = by.iter().zip(&found).zip(seen).map(column).collect();
        let field = |(part, column): (usize, &Column)| {
            let data_type = match column.order {
                Order::Integers => DataType::Int64,
                _ => DataType::LargeBinary,
            };
            Field::new(format!("key{part}"), data_type, true)
        };
        let mut fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        fields.push(Field::new(NUMBER, DataType::UInt64, false));
        fields.push(Field::new(ROW, DataType::LargeBinary, false));
        let mut table = Self {
            from,
            to,
            header: first.mark.to_vec(),
            columns,
            schema: Arc::new(Schema::new(fields)),
            sources,
            notes,
            read: AtomicUsize::new(0),
        };
        let mut header = Vec::new();
        table.push_row(&table.sources[0], first.dialect, &first.row, &mut header)?;
        table.header.append(&mut header);
        Ok(table)
    }

    /// The columns to sort by, with the types that they are compared as.
    pub(super) fn by(&self) -> String {
        let column = |column: &Column| format!("{}:{}", column.name, column.order.name());
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        columns.join(",")
    }

    /// How many rows the session has read.
    pub(super) fn rows_read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    /// For each column to sort by, whether it is compared by bytes.
    pub(super) fn is_text(&self) -> impl Iterator<Item = bool> {
        let columns = self.columns.iter();
        columns.map(|column| column.order == Order::Bytes)
    }

    pub(super) fn order(&self) -> Vec<SortExpr> {
        let columns = self.columns.iter().enumerate().map(|(part, column)| {
            ident(format!("key{part}")).sort(!column.descending, column.nulls_first)
        });
        columns.chain([ident(NUMBER).sort(true, false)]).collect()
    }

    pub(super) fn provider(self: Arc<Self>) -> Result<Arc<StreamingTable>> {
        let schema = self.schema.clone();
        Ok(Arc::new(StreamingTable::try_new(
            schema,
            vec![Arc::new(Stream(self))],
        )?))
    }

    /// Appends a row to the output: its bytes, unless the output has another format or another
    /// order of the columns.
    fn push_row(
        &self,
        source: &Source,
        dialect: Dialect,
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let content = dialect.content(row);
        let has_line_end = content.len() < row.len();
        let line_end = if has_line_end {
            &row[content.len()..]
        } else {
            source.line_end
        };
        let is_same = (self.from.separator, self.from.quote) == (self.to.separator, self.to.quote);
        if is_same && source.places.is_none() || content.is_empty() {
            out.extend_from_slice(content);
            out.extend_from_slice(line_end);
            return Ok(());
        }
        let cells: Vec<Range<usize>> = dialect.cells(row).collect();
        let count = source.places.as_ref().map_or(cells.len(), Vec::len);
        ensure!(
            count == cells.len(),
            "the row has {} cells, but the header has {count}",
            cells.len()
        );
        for column in 0..count {
            if column > 0 {
                out.push(self.to.separator);
            }
            let place = source
                .places
                .as_ref()
                .map_or(column, |places| places[column]);
            let cell = &row[cells[place].clone()];
            if is_same {
                out.extend_from_slice(cell);
            } else {
                let content = dialect.unquoted(cell);
                ensure!(
                    self.to.push_cell(&content, out),
                    "the cell '{}' has a separator or a line end, but the output has no quotes",
                    printable(&content)
                );
            }
        }
        out.extend_from_slice(line_end);
        Ok(())
    }

    /// Sends all rows in batches, until `send` returns false.
    fn read(&self, mut send: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        let mut batch = Batch::new(self);
        for source in &self.sources {
            let mut rows = open(&source.path, self.from)?;
            let dialect = rows.dialect;
            rows.next()?;
            let mut number = 1;
            while let Some(row) = rows.next().with_context(|| in_file(&source.path))? {
                number += 1;
                batch
                    .push(source, dialect, row)
                    .with_context(|| format!("{}: row {number}", source.path.display()))?;
                if batch.is_full() && !send(batch.take()?) {
                    return Ok(());
                }
            }
        }
        send(batch.take()?);
        Ok(())
    }
}

/// The batch that is being filled for the session.
struct Batch<'a> {
    table: &'a Table,
    keys: Vec<Keys>,
    numbers: UInt64Builder,
    rows: LargeBinaryBuilder,
    /// The number of rows of all batches, and of those that were sent.
    count: u64,
    sent: u64,
    bytes: usize,
    cells: Vec<Range<usize>>,
    scratch: Vec<u8>,
}

enum Keys {
    Integers(Int64Builder),
    Bytes(LargeBinaryBuilder),
}

impl<'a> Batch<'a> {
    fn new(table: &'a Table) -> Self {
        let keys = |column: &Column| match column.order {
            Order::Integers => Keys::Integers(Int64Builder::new()),
            _ => Keys::Bytes(LargeBinaryBuilder::new()),
        };
        Self {
            table,
            keys: table.columns.iter().map(keys).collect(),
            numbers: UInt64Builder::new(),
            rows: LargeBinaryBuilder::new(),
            count: 0,
            sent: 0,
            bytes: 0,
            cells: Vec::new(),
            scratch: Vec::new(),
        }
    }

    fn push(&mut self, source: &Source, dialect: Dialect, row: &[u8]) -> Result<()> {
        cells_of(source, dialect, row, &mut self.cells);
        for (part, column) in self.table.columns.iter().enumerate() {
            let cell = self.cells.get(source.keys[part]);
            let content = cell.map(|cell| dialect.unquoted(&row[cell.clone()]));
            let content = content
                .as_deref()
                .and_then(|text| present(text, column.order));
            match &mut self.keys[part] {
                Keys::Integers(keys) => match content {
                    Some(text) => keys.append_value(integer(text).context(CHANGED)?),
                    None => keys.append_null(),
                },
                Keys::Bytes(keys) => match content {
                    Some(text) => {
                        self.scratch.clear();
                        ensure!(push_key(text, column.order, &mut self.scratch), CHANGED);
                        keys.append_value(&self.scratch);
                    }
                    None => keys.append_null(),
                },
            }
        }
        self.scratch.clear();
        self.table
            .push_row(source, dialect, row, &mut self.scratch)?;
        self.rows.append_value(&self.scratch);
        self.numbers.append_value(self.count);
        self.count += 1;
        self.bytes += self.scratch.len();
        Ok(())
    }

    const fn is_full(&self) -> bool {
        self.count - self.sent >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let keys = |keys: &mut Keys| -> ArrayRef {
            match keys {
                Keys::Integers(keys) => Arc::new(keys.finish()),
                Keys::Bytes(keys) => Arc::new(keys.finish()),
            }
        };
        let mut columns: Vec<ArrayRef> = self.keys.iter_mut().map(keys).collect();
        columns.push(Arc::new(self.numbers.finish()));
        columns.push(Arc::new(self.rows.finish()));
        self.table
            .read
            .store(self.count as usize, Ordering::Relaxed);
        (self.sent, self.bytes) = (self.count, 0);
        Ok(RecordBatch::try_new(self.table.schema.clone(), columns)?)
    }
}

/// The error if a cell no longer compares as in the first pass.
const CHANGED: &str = "the file changed while it was sorted";

/// Finds the cells up to the last key.
fn cells_of(source: &Source, dialect: Dialect, row: &[u8], cells: &mut Vec<Range<usize>>) {
    let count = source.keys.iter().max().map_or(0, |last| last + 1);
    cells.clear();
    cells.extend(dialect.cells(row).take(count));
}

/// The text of a cell. `None` if it is missing.
fn present(content: &[u8], order: Order) -> Option<&[u8]> {
    let content = match order {
        Order::Bytes => content,
        _ => content.trim_ascii(),
    };
    let is_missing = content.is_empty() || order != Order::Bytes && MISSING.contains(&content);
    (!is_missing).then_some(content)
}

fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Appends the key of an instant: its seconds and its nanoseconds.
fn push_instant(text: &[u8], key: &mut Vec<u8>) -> bool {
    // The shortest date is of the form 2000-01-01. A number such as 20000101 is not a date.
    if text.len() < 10 || text[4] != b'-' {
        return false;
    }
    let (Ok(text), Ok(utc)) = (std::str::from_utf8(text), "+00:00".parse::<Tz>()) else {
        return false;
    };
    let Ok(instant) = string_to_datetime(&utc, text) else {
        return false;
    };
    key.extend_from_slice(&(instant.timestamp().cast_unsigned() ^ (1 << 63)).to_be_bytes());
    key.extend_from_slice(&instant.timestamp_subsec_nanos().to_be_bytes());
    true
}

/// Appends the key of a cell. Returns false if it has none in this order.
fn push_key(text: &[u8], order: Order, key: &mut Vec<u8>) -> bool {
    match order {
        Order::Bytes => key.extend_from_slice(text),
        Order::Integers => return false,
        Order::Decimals => return push_number(text, key),
        Order::Instants => return push_instant(text, key),
    }
    true
}

/// The types that fit all cells of a column so far.
struct Seen {
    integers: bool,
    decimals: bool,
    instants: bool,
    any: bool,
    /// The first cell that is neither a number nor a date, if all before it were one of these.
    odd: Option<String>,
}

impl Seen {
    const fn new() -> Self {
        Self {
            integers: true,
            decimals: true,
            instants: true,
            any: false,
            odd: None,
        }
    }

    fn add(&mut self, text: &[u8], place: impl Fn() -> String, scratch: &mut Vec<u8>) {
        if !self.decimals && !self.instants {
            return;
        }
        self.integers &= integer(text).is_some();
        scratch.clear();
        self.decimals &= self.integers || self.decimals && push_number(text, scratch);
        self.instants &= self.instants && push_instant(text, scratch);
        if self.any && !self.decimals && !self.instants {
            self.odd = Some(format!("'{}' in {}", printable(text), place()));
        }
        self.any = true;
    }

    const fn order(&self, kind: Option<Kind>) -> Order {
        match kind {
            Some(Kind::Str) => Order::Bytes,
            Some(Kind::Date) => Order::Instants,
            Some(Kind::Num) if !self.integers => Order::Decimals,
            Some(Kind::Num) => Order::Integers,
            None if !self.any => Order::Bytes,
            None if self.integers => Order::Integers,
            None if self.decimals => Order::Decimals,
            None if self.instants => Order::Instants,
            None => Order::Bytes,
        }
    }
}

/// Reads all cells of the columns to sort by. Fails at a cell that is not of the given kind and, if
/// `all_cells` is set, at a row that has more or fewer cells than the header.
fn survey(
    sources: &[Source],
    dialect: Dialect,
    columns: &[(usize, Option<Kind>)],
    names: &[String],
    all_cells: bool,
) -> Result<Vec<Seen>> {
    let mut seen: Vec<Seen> = columns.iter().map(|_| Seen::new()).collect();
    let (mut cells, mut scratch) = (Vec::new(), Vec::new());
    for source in sources {
        let mut rows = open(&source.path, dialect)?;
        let dialect = rows.dialect;
        rows.next()?;
        let mut number = 1;
        while let Some(row) = rows.next().with_context(|| in_file(&source.path))? {
            number += 1;
            let place = || format!("{}, row {number}", source.path.display());
            if all_cells {
                let (count, all) = (dialect.cells(row).count(), names.len());
                ensure!(
                    count == all || count == 0,
                    "{}: the row has {count} cells, but the header has {all}",
                    place()
                );
            }
            cells_of(source, dialect, row, &mut cells);
            for (part, &(index, kind)) in columns.iter().enumerate() {
                if kind == Some(Kind::Str) {
                    continue;
                }
                let Some(cell) = cells.get(source.keys[part]) else {
                    continue;
                };
                let content: Cow<[u8]> = dialect.unquoted(&row[cell.clone()]);
                let Some(text) = present(&content, Order::Decimals) else {
                    continue;
                };
                let seen = &mut seen[part];
                seen.add(text, place, &mut scratch);
                let wrong = match kind {
                    Some(Kind::Num) if !seen.decimals => "number",
                    Some(Kind::Date) if !seen.instants => "date",
                    _ => continue,
                };
                bail!(
                    "{}: '{}' in column {:?} is not a {wrong}",
                    place(),
                    printable(text),
                    names[index]
                );
            }
        }
    }
    Ok(seen)
}

/// The stream of rows that the session reads.
#[derive(Debug)]
struct Stream(Arc<Table>);

impl PartitionStream for Stream {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut batches = RecordBatchReceiverStreamBuilder::new(self.0.schema.clone(), 2);
        let (sender, table) = (batches.tx(), self.0.clone());
        batches.spawn_blocking(move || {
            let read = table.read(|batch| sender.blocking_send(Ok(batch)).is_ok());
            read.map_err(|error| DataFusionError::Execution(format!("{error:#}")))
        });
        batches.build()
    }
}
