//! `bcfsort-sql sort`: sorts files.

mod decimal;
mod inputs;
mod key;
mod rows;
mod table;

use crate::printable;
use crate::session::Resources;
use anyhow::{Context, Result, bail, ensure};
use bcfsort_datafusion::GpuSortExec;
use bcfsort_datafusion::commands::{Whole, keep_compression, tell, url_of};
use clap::Args;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use datafusion::common::config::{CsvOptions, TableParquetOptions};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::file_format::arrow::ArrowFormatFactory;
use datafusion::datasource::file_format::csv::CsvFormatFactory;
use datafusion::datasource::file_format::parquet::ParquetFormatFactory;
use datafusion::datasource::file_format::{FileFormatFactory, format_as_file_type};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::options::ArrowReadOptions;
use datafusion::logical_expr::{LogicalPlanBuilder, SortExpr, ident};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream};
use datafusion::prelude::{
    CsvReadOptions, DataFrame, ParquetReadOptions, SessionConfig, SessionContext,
};
use futures::TryStreamExt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use inputs::Inputs;
use key::{Key, Kind};
use rows::Dialect;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use table::{Header, ROW, Table};

/// Sort Parquet, Arrow, CSV and TSV files by columns
///
/// The format is that of the file's extension: .parquet, .arrow (also .feather and .ipc), .csv or
/// .tsv. All inputs must have one extension and the same columns, in any order; the first file's
/// order is written. The output appears whole or not at all.
///
/// From CSV or TSV to CSV or TSV, rows are moved and no cell is rewritten: quotes, line ends and a
/// byte order mark stay. A column to sort by whose cells are all numbers is compared by their exact
/// values, one of ISO 8601 dates by the instants, and any other by bytes; :num, :date and :str
/// say so instead. An empty cell, and a number or date that is NA, N/A, null, None or NaN, is null.
///
/// From CSV or TSV to Parquet or Arrow, columns get the types that all their cells have.
///
/// From Parquet to Parquet, types, metadata and compression are those of the first file. A Parquet
/// file says by which columns it is sorted, for readers that can use it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bcfsort-sql sort rides.parquet --by fare:desc,id -o sorted.parquet
  bcfsort-sql sort 'part-*.parquet' --by city:nulls-last -o all.parquet --memory-limit 8G
  bcfsort-sql sort people.csv --by zip:str,age:desc -o sorted.csv
  bcfsort-sql sort people.csv --by last_name,first_name -o people.parquet")]
pub(crate) struct Arguments {
    /// Files, directories of them, or patterns such as 'part-*.parquet'
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,

    /// Columns, the first one first: name, name:desc, name:nulls-first, name:num:desc:nulls-last
    ///
    /// Without nulls-first or nulls-last, nulls are last in ascending and first in descending
    /// order. In CSV and TSV files, :str compares cells by bytes, :num by their exact decimal
    /// values and :date by the instants of ISO 8601; a cell that is none is an error. Other files
    /// have types.
    #[arg(long, required = true, value_name = "COLUMNS", value_delimiter = ',')]
    by: Vec<Key>,

    /// File to write: its extension says the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Quote of cells in CSV and TSV files: one byte, or none [default: csv '"', tsv none]
    #[arg(long, value_name = "CHAR", value_parser = quote)]
    quote: Option<Quote>,

    /// Write the first N rows only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print neither progress nor a summary
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    resources: Resources,
}

/// The byte that cells may be quoted with, if any.
#[derive(Clone, Copy)]
struct Quote(Option<u8>);

fn quote(text: &str) -> Result<Quote, String> {
    match text.as_bytes() {
        b"none" => Ok(Quote(None)),
        [quote] if !matches!(quote, b'\n' | b'\r' | b'\t' | b',') => Ok(Quote(Some(*quote))),
        _ => Err("expected one byte, or none".to_owned()),
    }
}

/// Stands for no quote, since no UTF-8 text has this byte.
const NO_QUOTE: u8 = 0xff;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Arrow,
    Csv,
    Tsv,
}

impl Format {
    fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        Ok(match extension.to_lowercase().as_str() {
            "parquet" | "parq" | "pq" => Self::Parquet,
            "arrow" | "ipc" | "feather" => Self::Arrow,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            _ => bail!(
                "{}: unknown extension: use .parquet, .arrow, .csv or .tsv",
                path.display()
            ),
        })
    }

    /// The dialect of CSV or TSV. None for other formats.
    fn dialect(self, quote: Option<Quote>) -> Option<Dialect> {
        let (separator, default) = match self {
            Self::Parquet | Self::Arrow => return None,
            Self::Csv => (b',', Some(b'"')),
            Self::Tsv => (b'\t', None),
        };
        Some(Dialect {
            separator,
            quote: quote.map_or(default, |quote| quote.0),
            line_end: b'\n',
        })
    }
}

impl Arguments {
    pub(crate) async fn run(mut self) -> Result<()> {
        let begin = Instant::now();
        let mut config = SessionConfig::new();
        // Types and metadata as they are in the files.
        let parquet = &mut config.options_mut().execution.parquet;
        parquet.schema_force_view_types = false;
        parquet.skip_metadata = false;
        let _runs = self.resources.private_runs()?;
        let session = self.resources.session(config, None)?;
        let inputs = Inputs::find(&session, &self.inputs).await?;
        let from = inputs.format.dialect(self.quote);
        let output = Format::of(&self.output)?;
        let is_same = output == inputs.format;
        let to = output.dialect(self.quote.filter(|_| is_same));
        let done = match (from, to) {
            (Some(from), Some(to)) => self.move_rows(&session, &inputs, from, to).await?,
            _ => self.convert(&session, &inputs, from, output).await?,
        };
        let done = match self.limit {
            Some(0) => "no row written (--limit 0)".to_owned(),
            _ => done,
        };
        if !self.quiet {
            let seconds = begin.elapsed().as_secs_f64();
            tell(&format!("{done} in {seconds:.3} s"));
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            tell(&format!("note: {text}"));
        }
    }

    /// Sorts rows of CSV or TSV, whose bytes stay. Returns the summary.
    async fn move_rows(
        &self,
        session: &SessionContext,
        inputs: &Inputs,
        from: Dialect,
        to: Dialect,
    ) -> Result<String> {
        let table = Arc::new(Table::open(&inputs.files, from, to, &self.by, false)?);
        for note in &table.notes {
            self.note(note);
        }
        let rows = session.read_table(table.clone().provider()?)?;
        let sorted = rows.sort(table.order())?.limit(0, self.limit)?;
        let plan = sorted
            .select_columns(&[ROW])?
            .create_physical_plan()
            .await?;
        let written = Whole::beside(&self.output)?;
        let counted = table.clone();
        let progress = Progress::start(&plan, self.quiet, move |_| counted.rows_read());
        let done = write_rows(&plan, session, &table.header, written.path()).await;
        progress.finish();
        let count = done.with_context(|| format!("cannot sort to {}", self.output.display()))?;
        written.finish()?;
        let done = summary(&plan, table.rows_read(), count);
        Ok(format!("{done}, by {}", table.by()))
    }

    /// Sorts typed columns. Returns the summary.
    async fn convert(
        &self,
        session: &SessionContext,
        inputs: &Inputs,
        from: Option<Dialect>,
        output: Format,
    ) -> Result<String> {
        let rows = match from {
            Some(dialect) => self.read_cells(session, inputs, dialect).await?,
            None => self.read(session, inputs).await?,
        };
        let order = self.order(&rows)?;
        let sorted = rows.sort(order)?.limit(0, self.limit)?;
        let written = Whole::beside(&self.output)?;
        let factory = self.factory(inputs, output, sorted.schema().as_arrow())?;
        let plan = plan(sorted, factory, written.path()).await;
        let plan = plan.with_context(|| inputs.cannot_read())?;
        let progress = Progress::start(&plan, self.quiet, rows_read);
        let done = collect(plan.clone(), session.task_ctx()).await;
        progress.finish();
        let done = done.with_context(|| format!("cannot sort to {}", self.output.display()))?;
        if let Some(Dialect { quote: None, .. }) = output.dialect(None) {
            refuse_quotes(written.path())?;
        }
        written.finish()?;
        let read = rows_read(&plan);
        Ok(summary(&plan, read, rows_written(&done).unwrap_or(read)))
    }

    async fn read(&self, session: &SessionContext, inputs: &Inputs) -> Result<DataFrame> {
        let schema = inputs.schema()?;
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        for key in &self.by {
            if let (index, Some(kind)) = key.find(&names)? {
                bail!(
                    ":{} is for CSV and TSV files: column {:?} is {} in {}",
                    kind.name(),
                    names[index],
                    schema.field(index).data_type(),
                    inputs.files[0].display()
                );
            }
        }
        let urls = inputs.urls()?;
        let read = if inputs.format == Format::Arrow {
            let options = ArrowReadOptions {
                file_extension: &inputs.extension,
                schema: Some(&schema),
                ..Default::default()
            };
            session.read_arrow(urls, options).await
        } else {
            let options = ParquetReadOptions {
                file_extension: &inputs.extension,
                schema: Some(&schema),
                skip_metadata: Some(false),
                ..Default::default()
            };
            session.read_parquet(urls, options).await
        };
        read.with_context(|| inputs.cannot_read())
    }

    /// Reads CSV or TSV as columns of the types that all their cells have.
    async fn read_cells(
        &self,
        session: &SessionContext,
        inputs: &Inputs,
        dialect: Dialect,
    ) -> Result<DataFrame> {
        let survey = Table::open(&inputs.files, dialect, dialect, &self.by, true)?;
        let rows = read_delimited(session, inputs, dialect, None).await?;
        let mut fields: Vec<Arc<Field>> = rows.schema().fields().to_vec();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let mut is_other = false;
        for (key, is_text) in self.by.iter().zip(survey.is_text()) {
            let (index, kind) = key.find(&names)?;
            let data_type = fields[index].data_type().clone();
            let fits = match kind {
                Some(Kind::Num) => data_type.is_numeric(),
                Some(Kind::Date) => data_type.is_temporal(),
                Some(Kind::Str) | None => true,
            };
            ensure!(
                fits,
                "column {:?} would be {data_type} in {}, which is not compared as :{}: sort to \
                 .csv first",
                names[index],
                self.output.display(),
                kind.map_or("str", Kind::name)
            );
            if kind == Some(Kind::Str) {
                is_other |= data_type != DataType::Utf8;
                let field = fields[index].as_ref().clone();
                fields[index] = Arc::new(field.with_data_type(DataType::Utf8));
            } else if is_string(&data_type) && !is_text {
                self.note(&format!(
                    "column {:?} is written and compared as text, since not all of its cells are \
                     64-bit integers, floats or dates of one form; in a sort to .csv, it is \
                     compared by value",
                    names[index]
                ));
            }
        }
        if !is_other {
            return Ok(rows);
        }
        read_delimited(session, inputs, dialect, Some(&Schema::new(fields))).await
    }

    fn order(&self, rows: &DataFrame) -> Result<Vec<SortExpr>> {
        let fields = rows.schema().fields();
        let names: Vec<&String> = fields.iter().map(|field| field.name()).collect();
        let key = |key: &Key| {
            let (index, _) = key.find(&names)?;
            Ok(ident(names[index]).sort(!key.descending, key.nulls_first))
        };
        self.by.iter().map(key).collect()
    }

    fn factory(
        &self,
        inputs: &Inputs,
        output: Format,
        schema: &Schema,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        Ok(match (output, output.dialect(None)) {
            (Format::Arrow, _) => Arc::new(ArrowFormatFactory::new()),
            (_, Some(dialect)) => {
                let options = CsvOptions::default()
                    .with_delimiter(dialect.separator)
                    .with_quote(dialect.quote.unwrap_or(NO_QUOTE))
                    .with_has_header(true);
                Arc::new(CsvFormatFactory::new_with_options(options))
            }
            _ => {
                let mut options = TableParquetOptions::default();
                let metadata = schema.metadata().iter();
                options.key_value_metadata = metadata
                    .map(|(key, value)| (key.clone(), Some(value.clone())))
                    .collect();
                if inputs.format == Format::Parquet {
                    keep_compression(&inputs.files[0], &mut options)?;
                }
                Arc::new(ParquetFormatFactory::new_with_options(options))
            }
        })
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// Reads files of CSV or TSV with one name for each column, in the first file's order.
async fn read_delimited(
    session: &SessionContext,
    inputs: &Inputs,
    dialect: Dialect,
    schema: Option<&Schema>,
) -> Result<DataFrame> {
    let urls = inputs.urls()?;
    // Files whose columns are in the same order are read together.
    let mut groups: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (file, url) in inputs.files.iter().zip(urls) {
        let names = Header::read(file, dialect)?.names;
        match groups.iter_mut().find(|group| group.0 == names) {
            Some(group) => group.1.push(url),
            None => groups.push((names, vec![url])),
        }
    }
    let mut all: Option<DataFrame> = None;
    for (names, urls) in groups {
        let fields = |schema: &Schema| -> Result<Schema> {
            let fields: Result<Vec<Field>, _> = (names.iter())
                .map(|name| schema.field_with_name(name).cloned())
                .collect();
            Ok(Schema::new(fields?))
        };
        let schema = schema.map(fields).transpose()?;
        let mut options = CsvReadOptions::new()
            .delimiter(dialect.separator)
            .quote(dialect.quote.unwrap_or(NO_QUOTE))
            .newlines_in_values(dialect.quote.is_some())
            .schema_infer_max_records(usize::MAX)
            .file_extension(&inputs.extension);
        if let Some(schema) = &schema {
            options = options.schema(schema);
        }
        let rows = session
            .read_csv(urls, options)
            .await
            .with_context(|| inputs.cannot_read())?;
        all = Some(match all {
            Some(all) => all.union_by_name(rows)?,
            None => rows,
        });
    }
    all.context("there are no files")
}

async fn plan(
    sorted: DataFrame,
    format: Arc<dyn FileFormatFactory>,
    to: &Path,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (state, plan) = sorted.into_parts();
    let plan = LogicalPlanBuilder::copy_to(
        plan,
        url_of(to)?.to_string(),
        format_as_file_type(format),
        HashMap::default(),
        Vec::new(),
    )?;
    Ok(state.create_physical_plan(&plan.build()?).await?)
}

/// Writes the bytes of sorted rows, and returns their number.
async fn write_rows(
    plan: &Arc<dyn ExecutionPlan>,
    session: &SessionContext,
    header: &[u8],
    to: &Path,
) -> Result<usize> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create_new(to)?);
    out.write_all(header)?;
    let mut batches = execute_stream(plan.clone(), session.task_ctx())?;
    let mut count = 0;
    while let Some(batch) = batches.try_next().await? {
        count += batch.num_rows();
        for row in batch.column(0).as_binary::<i64>().iter().flatten() {
            out.write_all(row)?;
        }
    }
    out.flush()?;
    Ok(count)
}

/// The number of written rows, from the result of a plan that writes a file.
fn rows_written(returned: &[RecordBatch]) -> Option<usize> {
    let counts = returned.first()?.columns().first()?;
    let counts = counts.as_primitive_opt::<UInt64Type>()?;
    counts.iter().flatten().next().map(|count| count as usize)
}

/// Fails if a cell needed quotes in a file without quotes.
fn refuse_quotes(path: &Path) -> Result<()> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut block = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut block)?;
        if let Some(at) = memchr::memchr(NO_QUOTE, &block[..read]) {
            bail!(
                "a cell has a tab or a line end, which TSV cannot hold: '{}': write .csv",
                printable(&block[at + 1..read])
            );
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// The number of rows that nodes of a kind have returned.
fn rows_of(plan: &Arc<dyn ExecutionPlan>, is_meant: impl Fn(&dyn ExecutionPlan) -> bool) -> usize {
    let mut rows = 0;
    let _ = plan.apply(|node| {
        if is_meant(node.as_ref()) {
            let metrics = node.metrics();
            rows += metrics.and_then(|all| all.output_rows()).unwrap_or(0);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    rows
}

fn rows_read(plan: &Arc<dyn ExecutionPlan>) -> usize {
    rows_of(plan, |node| node.is::<DataSourceExec>())
}

fn gpu_sort(node: &dyn ExecutionPlan) -> Option<&GpuSortExec> {
    let node: &dyn std::any::Any = node;
    node.downcast_ref::<GpuSortExec>()
}

/// Shows how many rows have been read and written.
struct Progress {
    bar: ProgressBar,
    updates: tokio::task::JoinHandle<()>,
}

impl Progress {
    fn start(
        plan: &Arc<dyn ExecutionPlan>,
        quiet: bool,
        read: impl Fn(&Arc<dyn ExecutionPlan>) -> usize + Send + 'static,
    ) -> Self {
        let target = if quiet || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{spinner} {elapsed} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        let (plan, shown) = (plan.clone(), bar.clone());
        let updates = tokio::spawn(async move {
            loop {
                let read = read(&plan);
                let sorted = rows_of(&plan, |node| node.is::<SortExec>());
                shown.set_message(match sorted {
                    0 => format!("{read} rows read"),
                    _ => format!("{read} rows read, {sorted} sorted"),
                });
                shown.tick();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self { bar, updates }
    }

    fn finish(self) {
        self.updates.abort();
        self.bar.finish_and_clear();
    }
}

/// How many rows were sorted and written, and where.
fn summary(plan: &Arc<dyn ExecutionPlan>, rows: usize, written: usize) -> String {
    let in_order = "already in order";
    let mut place = in_order.to_owned();
    let _ = plan.apply(|node| {
        if node.is::<SortExec>() {
            place = "on the CPU".to_owned();
        }
        if let Some(sort) = gpu_sort(node.as_ref()) {
            let metrics = sort.metrics().unwrap_or_default();
            let value = |name| {
                metrics
                    .sum_by_name(name)
                    .map_or(0, |value| value.as_usize())
            };
            place = match sort.reason() {
                Some(reason) => format!("on the CPU: {reason}"),
                None if value("gpu_keys") == 0 => "on the CPU".to_owned(),
                None => "on the GPU".to_owned(),
            };
            let spilled = metrics.spill_count().unwrap_or(0);
            if spilled > 0 {
                place += &format!(", in {spilled} runs on disk");
            }
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    if written == rows {
        format!("{rows} rows sorted ({place})")
    } else if place == in_order {
        // Only the first rows were read, so the number of all is unknown.
        format!("{written} rows written ({place})")
    } else {
        format!("{written} of {rows} rows written (sorted {place})")
    }
}
