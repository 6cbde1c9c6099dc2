//! `bcfsort-ballista sort-table`: sorts a table into files whose concatenation is in order.

use crate::client::{Cluster, as_in, read};
use anyhow::{Context, Result, bail, ensure};
use bcfsort_datafusion::commands::{tell, url_of};
use clap::Args;
use datafusion::common::ScalarValue;
use datafusion::config::TableParquetOptions;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::functions::expr_fn::random;
use datafusion::logical_expr::{Expr, SortExpr, ident, lit};
use datafusion::prelude::DataFrame;
use futures::stream::{self, StreamExt, TryStreamExt};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The number of sampled keys per part, with which a part is rarely more than 1.2 times the mean.
const SAMPLE: usize = 1000;

/// Sort a table into files whose concatenation is in order
///
/// The first column is cut into ranges of about the same number of rows. Each range is a task of
/// its own: an executor reads its rows, sorts them on its GPU, and writes them to a file, all to
/// the same directory. So there is no merge, and as many executors work as there are parts.
#[derive(Args)]
#[command(after_help = "\
Every task reads the whole first column, and of the other columns what its range needs, as far as
Parquet's statistics tell. All machines must see the input and the output under the same path.

Example:
  bcfsort-ballista sort-table data/rides/ --by fare:desc,id --parts 8 -o data/sorted/")]
pub(crate) struct Arguments {
    /// A file, or a directory of .parquet, .arrow or .csv files
    input: String,

    /// Columns, the first one first: name or name:desc. Nulls are last in ascending order
    #[arg(long, required = true, value_name = "COLUMNS", value_delimiter = ',')]
    by: Vec<String>,

    /// Files to write. Fewer are written if the first column has too few values
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    parts: u32,

    /// Directory for part-00000.parquet and so on: a new one, or an empty one
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Tasks at a time [default: all]
    #[arg(long, value_name = "N")]
    at_once: Option<usize>,

    #[command(flatten)]
    cluster: Cluster,
}

/// A column to sort by: nulls are at the end in ascending order, and first in descending order.
fn key(text: &str) -> SortExpr {
    match text.strip_suffix(":desc") {
        Some(name) => ident(name).sort(false, true),
        None => ident(text.strip_suffix(":asc").unwrap_or(text)).sort(true, false),
    }
}

impl Arguments {
    pub(crate) async fn run(self) -> Result<()> {
        let begin = Instant::now();
        let directory = std::path::absolute(&self.output)?;
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        ensure!(
            std::fs::read_dir(&directory)?.next().is_none(),
            "{} is not empty",
            directory.display()
        );
        let order: Vec<SortExpr> = self.by.iter().map(|text| key(text)).collect();
        let Sample {
            splitters,
            rows: expected,
            is_float,
        } = self.sample(&order).await?;
        // Each task has one partition, so that it is sorted at once, and filters rows while it
        // reads files. Parquet's statistics leave out NaN: with pruning by them, files and pages
        // with NaN keys could be skipped, so it is off for floats.
        let prune = if is_float { "false" } else { "true" };
        let options = [
            ("datafusion.execution.target_partitions", "1"),
            ("datafusion.execution.parquet.pushdown_filters", "true"),
            ("datafusion.execution.collect_statistics", prune),
            ("datafusion.execution.parquet.pruning", prune),
            ("datafusion.execution.parquet.enable_page_index", prune),
        ];
        let session = self.cluster.connect(&options).await?;
        let table = read(&session, &self.input).await?;
        let parquet = as_in(&table, &self.input)?;
        let ranges = ranges(&order[0], &splitters);
        let bar = ProgressBar::new(ranges.len() as u64).with_style(
            ProgressStyle::with_template("{elapsed} {pos} of {len} parts")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let at_once = self.at_once.unwrap_or(ranges.len()).max(1);
        let rows: Vec<u64> = stream::iter(ranges.into_iter().enumerate())
            .map(|(part, range)| {
                let path = directory.join(format!("part-{part:05}.parquet"));
                let (table, order, parquet) = (table.clone(), order.clone(), parquet.clone());
                let bar = bar.clone();
                async move {
                    let rows = write(table, range, order, &path, parquet).await;
                    bar.inc(1);
                    rows.with_context(|| format!("part {part}"))
                }
            })
            .buffered(at_once)
            .try_collect()
            .await?;
        bar.finish_and_clear();
        let all: u64 = rows.iter().sum();
        ensure!(
            all == expected as u64,
            "{all} rows were written, but {expected} were counted: the input has changed"
        );
        let largest = rows.iter().max().copied().unwrap_or(0);
        tell(&format!(
            "{all} rows in {} files in {:.3} s; the largest has {largest}",
            rows.len(),
            begin.elapsed().as_secs_f64()
        ));
        Ok(())
    }

    /// Counts the rows, and chooses splitters from a sample of them.
    async fn sample(&self, order: &[SortExpr]) -> Result<Sample> {
        // Here, the table is read in all of its partitions.
        let session = self.cluster.connect(&[]).await?;
        let table = read(&session, &self.input).await?;
        for key in order {
            let Expr::Column(column) = &key.expr else {
                bail!("{} is not a column", key.expr);
            };
            if !table
                .schema()
                .has_column_with_unqualified_name(&column.name)
            {
                let fields = table.schema().fields();
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                ensure!(
                    !names.is_empty(),
                    "no column {:?}: the input has no columns",
                    column.name
                );
                bail!(
                    "no column {:?}: there are {}",
                    column.name,
                    names.join(", ")
                );
            }
        }
        let key = &order[0];
        let keys = table.select(vec![key.expr.clone()])?;
        let is_float = keys.schema().field(0).data_type().is_floating();
        let rows = keys.clone().count().await?;
        let wanted = SAMPLE * self.parts as usize;
        let sample = if rows <= wanted {
            keys
        } else {
            keys.filter(random().lt(lit(wanted as f64 / rows as f64)))?
        };
        let batches = sample.sort(vec![key.clone()])?.collect().await?;
        let mut sorted = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                sorted.push(ScalarValue::try_from_array(batch.column(0), row)?);
            }
        }
        let mut splitters: Vec<ScalarValue> = (1..self.parts as usize)
            .filter_map(|part| {
                sorted
                    .get(part * sorted.len() / self.parts as usize)
                    .cloned()
            })
            .collect();
        // Nulls are in the last range of an ascending sort, and in the first of a descending one.
        splitters.retain(|splitter| !splitter.is_null());
        splitters.dedup();
        Ok(Sample {
            splitters,
            rows,
            is_float,
        })
    }
}

/// The facts about a table that its sort is planned with.
struct Sample {
    /// The first keys of all parts but the first one, in the order of the sort.
    splitters: Vec<ScalarValue>,
    rows: usize,
    /// Whether the keys may be NaN.
    is_float: bool,
}

/// The condition of each part.
fn ranges(key: &SortExpr, splitters: &[ScalarValue]) -> Vec<Expr> {
    let column = || key.expr.clone();
    // The filter of keys before a splitter, in the order of the sort.
    let before = |splitter: &ScalarValue| {
        let value = lit(splitter.clone());
        if key.asc {
            column().lt(value)
        } else {
            column().gt(value).or(column().is_null())
        }
    };
    let from = |splitter: &ScalarValue| {
        let value = lit(splitter.clone());
        if key.asc {
            column().gt_eq(value).or(column().is_null())
        } else {
            column().lt_eq(value)
        }
    };
    let mut ranges = Vec::new();
    for part in 0..=splitters.len() {
        let begin = part.checked_sub(1).map(|i| from(&splitters[i]));
        let end = splitters.get(part).map(before);
        ranges.push(match (begin, end) {
            (Some(begin), Some(end)) => begin.and(end),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => lit(true),
        });
    }
    ranges
}

/// Sorts the rows of a range into a file, on an executor, and returns their number.
async fn write(
    table: DataFrame,
    range: Expr,
    order: Vec<SortExpr>,
    path: &Path,
    parquet: TableParquetOptions,
) -> Result<u64> {
    let options = DataFrameWriteOptions::new().with_single_file_output(true);
    let sorted = table.filter(range)?.sort(order)?;
    let written = sorted
        .write_parquet(url_of(path)?.as_str(), options, Some(parquet))
        .await?;
    let count = written
        .iter()
        .find_map(|batch| ScalarValue::try_from_array(batch.columns().first()?, 0).ok());
    match count {
        Some(ScalarValue::UInt64(Some(rows))) => Ok(rows),
        _ => bail!("the executor did not report the number of written rows"),
    }
}
