//! `bcfsort-ballista sort-table`: sorts a table into files whose concatenation is in order.

use crate::client::{Cluster, as_in, read};
use crate::exchange::{choose_labels, is_before, label};
use crate::parts::{Parts, PartsTable};
use anyhow::{Context, Result, bail, ensure};
use ballista::prelude::SessionConfigExt;
use bcfsort_datafusion::commands::{parquet_footer, tell, url_of};
use clap::{Args, ValueEnum};
use datafusion::common::ScalarValue;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::functions::expr_fn::random;
use datafusion::logical_expr::{Expr, SortExpr, ident, lit};
use datafusion::prelude::SessionConfig;
use futures::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of sampled keys per part, with which a part is rarely more than 1.2 times the mean.
const SAMPLE: usize = 1000;

/// Up to this number of parts, tasks that read the table again take less time than an exchange,
/// which writes all rows and reads them. With files in the page cache, 4 parts took 1.3 times as
/// long with an exchange as without, 8 parts 0.9 times, and 32 parts 0.6 times.
const READS: usize = 4;

/// Sort a table into files whose concatenation is in order
///
/// The first column is cut into ranges of about the same number of rows. Executors read the table
/// once, and send each row to the part of its range. Each part is a task of its own: an executor
/// sorts its rows on its GPU, and writes them to a file, all to the same directory. So there is no
/// merge, and as many executors work as there are parts.
#[derive(Args)]
#[command(after_help = "\
Rows that are exchanged lie in the executors' --work-dir meanwhile. Without an exchange, every task
reads the whole first column, and of the other columns what its range needs, as far as Parquet's
statistics tell. In both cases, the first column is read once more, before, for a sample.

All machines must see the input and the output under the same path.

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

    /// Whether executors exchange rows, or each part reads the table itself [default: exchange rows
    /// for more than 4 parts]
    #[arg(long, value_name = "WHEN")]
    exchange: Option<Exchange>,

    #[command(flatten)]
    cluster: Cluster,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Exchange {
    /// The table is read once
    Always,
    /// Each part reads the table
    Never,
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
        let parts = splitters.len() + 1;
        let bar = ProgressBar::new(parts as u64).with_style(
            ProgressStyle::with_template("{elapsed} {pos} of {len} parts")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let has_exchange = match self.exchange {
            Some(when) => when == Exchange::Always,
            None => parts > READS,
        };
        let written = async {
            if has_exchange && parts > 1 {
                self.write_once(&order, &splitters, &directory).await
            } else {
                self.write_each(&order, &splitters, is_float, &directory)
                    .await
            }
        };
        tokio::pin!(written);
        loop {
            tokio::select! {
                done = &mut written => break done?,
                () = tokio::time::sleep(Duration::from_millis(500)) => {
                    // A file has its name when it is whole.
                    let whole = (0..parts).filter(|&part| Parts::path(&directory, part).exists());
                    bar.set_position(whole.count() as u64);
                }
            }
        }
        bar.finish_and_clear();
        let rows = number(&directory, parts)?;
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

    /// Writes each part by a query of its own.
    async fn write_each(
        &self,
        order: &[SortExpr],
        splitters: &[ScalarValue],
        is_float: bool,
        directory: &Path,
    ) -> Result<()> {
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
        let parquet = as_in(table.schema().as_arrow(), Path::new(&self.input))?;
        let ranges = ranges(&order[0], splitters).into_iter().enumerate();
        let parts = ranges.map(async |(part, range)| {
            let url = url_of(&Parts::path(directory, part))?;
            let sorted = table.clone().filter(range)?.sort(order.to_vec())?;
            let (options, parquet) = (DataFrameWriteOptions::new(), Some(parquet.clone()));
            let options = options.with_single_file_output(true);
            let written = sorted.write_parquet(url.as_str(), options, parquet);
            written.await.with_context(|| format!("part {part}"))
        });
        try_join_all(parts).await?;
        Ok(())
    }

    /// Writes the parts by one query with an exchange.
    async fn write_once(
        &self,
        order: &[SortExpr],
        splitters: &[ScalarValue],
        directory: &Path,
    ) -> Result<()> {
        let parts = splitters.len() + 1;
        // All of the table's partitions are read at the same time. As many tasks sort parts: those
        // without a part have no rows.
        let partitions = parts.max(SessionConfig::new_with_ballista().target_partitions());
        let options = [
            (
                "datafusion.execution.target_partitions",
                partitions.to_string(),
            ),
            // One partition per task. By default, a task has as many partitions as its executor has
            // cores, and other executors have nothing to do.
            ("ballista.scheduler.max_partitions_per_task", "1".to_owned()),
            // Rows to send stay in memory as long as the executor has some, not 256 MiB.
            (
                "ballista.shuffle.sort_based.memory_limit_per_task_bytes",
                "0".to_owned(),
            ),
        ];
        let options = options
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let session = self.cluster.connect(&options).await?;
        let table = read(&session, &self.input).await?;
        let labels = choose_labels(parts, partitions)?;
        let columns = order.iter().map(|key| {
            let name = column(key)?;
            let index = table.schema().index_of_column_by_name(None, name);
            Ok((
                index.with_context(|| format!("no column {name:?}"))?,
                !key.asc,
            ))
        });
        let parts = Parts {
            directory: text(directory)?,
            like: text(&std::path::absolute(&self.input)?)?,
            order: columns.collect::<Result<_>>()?,
            labels: labels.clone(),
        };
        let mut name = "__bcfsort_part__".to_owned();
        while table.schema().has_column_with_unqualified_name(&name) {
            name.push('_');
        }
        let labeled = table.with_column(&name, label(&order[0], splitters, &labels)?)?;
        let schema = labeled.schema().inner().clone();
        session.register_table("parts", Arc::new(PartsTable { parts, schema }))?;
        let options = DataFrameWriteOptions::new();
        labeled.write_table("parts", options).await?;
        Ok(())
    }

    /// Counts the rows, and chooses splitters from a sample of them.
    async fn sample(&self, order: &[SortExpr]) -> Result<Sample> {
        // Here, the table is read in all of its partitions.
        let session = self.cluster.connect(&[]).await?;
        let table = read(&session, &self.input).await?;
        for key in order {
            let name = column(key)?;
            if !table.schema().has_column_with_unqualified_name(name) {
                let fields = table.schema().fields();
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                ensure!(
                    !names.is_empty(),
                    "no column {name:?}: the input has no columns"
                );
                bail!("no column {name:?}: there are {}", names.join(", "));
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
    let from = |splitter: &ScalarValue| {
        let (column, value) = (key.expr.clone(), lit(splitter.clone()));
        if key.asc {
            column.clone().gt_eq(value).or(column.is_null())
        } else {
            column.lt_eq(value)
        }
    };
    let range = |part: usize| {
        let begin = part.checked_sub(1).map(|i| from(&splitters[i]));
        let end = splitters.get(part).map(|splitter| is_before(key, splitter));
        match (begin, end) {
            (Some(begin), Some(end)) => begin.and(end),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => lit(true),
        }
    };
    (0..=splitters.len()).map(range).collect()
}

/// The name of the column to sort by.
fn column(key: &SortExpr) -> Result<&str> {
    match &key.expr {
        Expr::Column(column) => Ok(&column.name),
        other => bail!("{other} is not a column"),
    }
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str();
    let text = text.with_context(|| format!("{}: the path is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

/// Numbers the files of parts without gaps, and returns the number of rows of each. A part without
/// rows has no file, but for that of an empty table.
///
/// The files tell their rows. What the executors report may tell a part twice, if one of them was
/// lost after it had written it.
fn number(directory: &Path, parts: usize) -> Result<Vec<u64>> {
    let mut rows = Vec::new();
    for part in 0..parts {
        let path = Parts::path(directory, part);
        if !path.exists() {
            continue;
        }
        let footer = parquet_footer(&path)?;
        let count = footer.metadata().file_metadata().num_rows() as u64;
        let number = Parts::path(directory, rows.len());
        if count == 0 && parts > 1 {
            std::fs::remove_file(&path)
        } else {
            rows.push(count);
            std::fs::rename(&path, number)
        }
        .with_context(|| format!("cannot change {}", path.display()))?;
    }
    Ok(rows)
}
