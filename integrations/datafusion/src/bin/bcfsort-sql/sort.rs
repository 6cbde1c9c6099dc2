//! `bcfsort-sql sort`: sorts files.

use crate::session::Resources;
use anyhow::{Context, Result, bail, ensure};
use bcfsort_datafusion::GpuSortExec;
use clap::Args;
use datafusion::common::config::CsvOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::file_format::arrow::ArrowFormatFactory;
use datafusion::datasource::file_format::csv::CsvFormatFactory;
use datafusion::datasource::file_format::parquet::ParquetFormatFactory;
use datafusion::datasource::file_format::{FileFormatFactory, format_as_file_type};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::options::ArrowReadOptions;
use datafusion::logical_expr::{LogicalPlanBuilder, SortExpr, ident};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{
    CsvReadOptions, DataFrame, ParquetReadOptions, SessionConfig, SessionContext,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sort Parquet, Arrow and CSV files by columns
///
/// The format is that of the file's extension: .parquet, .arrow (also .feather and .ipc), .csv or
/// .tsv. All inputs must have one extension and the same columns. The output appears whole or not
/// at all. A Parquet file says by which columns it is sorted, for readers that can use it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bcfsort-sql sort rides.parquet --by fare:desc,id -o sorted.parquet
  bcfsort-sql sort 'part-*.parquet' --by city:nulls-last -o all.parquet --memory-limit 8G
  bcfsort-sql sort people.csv --by last_name,first_name -o people.parquet")]
pub(crate) struct Arguments {
    /// Files, directories of them, or patterns such as 'part-*.parquet'
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,

    /// Columns, the first one first: name, name:desc, name:nulls-first, name:desc:nulls-last
    ///
    /// Without nulls-first or nulls-last, nulls are last in ascending and first in descending order.
    #[arg(long, required = true, value_name = "COLUMNS", value_delimiter = ',')]
    by: Vec<Key>,

    /// File to write: its extension says the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Write the first N rows only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print neither progress nor a summary
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    resources: Resources,
}

/// A column to sort by.
#[derive(Clone)]
struct Key {
    name: String,
    descending: bool,
    nulls_first: bool,
}

impl std::str::FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut name = text;
        let (mut descending, mut nulls_first) = (None, None);
        // (From the end: names may have colons.)
        while let Some((rest, word)) = name.rsplit_once(':') {
            let is_new = match word {
                "asc" | "desc" => descending.replace(word == "desc").is_none(),
                "nulls-first" | "nulls-last" => {
                    nulls_first.replace(word == "nulls-first").is_none()
                }
                _ => break,
            };
            if !is_new {
                return Err(format!("{word} contradicts or repeats another word"));
            }
            name = rest;
        }
        if name.is_empty() {
            return Err("a column has no name".to_owned());
        }
        let descending = descending.unwrap_or(false);
        Ok(Self {
            name: name.to_owned(),
            descending,
            nulls_first: nulls_first.unwrap_or(descending),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Arrow,
    Csv { delimiter: u8 },
}

impl Format {
    fn of(path: &str) -> Result<Self> {
        Ok(match extension(Path::new(path)).to_lowercase().as_str() {
            ".parquet" | ".parq" | ".pq" => Self::Parquet,
            ".arrow" | ".ipc" | ".feather" => Self::Arrow,
            ".csv" => Self::Csv { delimiter: b',' },
            ".tsv" => Self::Csv { delimiter: b'\t' },
            _ => bail!("{path}: the extension is none of .parquet, .arrow, .csv and .tsv"),
        })
    }

    fn factory(self) -> Arc<dyn FileFormatFactory> {
        match self {
            Self::Parquet => Arc::new(ParquetFormatFactory::new()),
            Self::Arrow => Arc::new(ArrowFormatFactory::new()),
            Self::Csv { delimiter } => {
                let options = CsvOptions::default()
                    .with_delimiter(delimiter)
                    .with_has_header(true);
                Arc::new(CsvFormatFactory::new_with_options(options))
            }
        }
    }
}

impl Arguments {
    pub(crate) async fn run(self) -> Result<()> {
        let begin = Instant::now();
        let session = self.resources.session(SessionConfig::new(), None)?;
        let rows = self.read(&session).await?;
        let order = self.order(&rows)?;
        let sorted = rows.sort(order)?.limit(0, self.limit)?;
        // Beside the output, so that it can be renamed, whatever the file system.
        let directory = match self.output.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let extension = self.output.extension().unwrap_or_default();
        let written = tempfile::Builder::new()
            .prefix(".bcfsort-")
            .suffix(&format!(".{}", extension.to_string_lossy()))
            .tempfile_in(directory)
            .with_context(|| format!("cannot write to {}", directory.display()))?
            .into_temp_path();
        let plan = self.plan(sorted, &written).await?;
        let progress = Progress::start(&plan, self.quiet);
        let done = collect(plan.clone(), session.task_ctx()).await;
        progress.finish();
        done.with_context(|| format!("cannot sort to {}", self.output.display()))?;
        written
            .persist(&self.output)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        if !self.quiet {
            eprintln!(
                "{} in {:.3} s",
                summary(&plan),
                begin.elapsed().as_secs_f64()
            );
        }
        Ok(())
    }

    async fn read(&self, session: &SessionContext) -> Result<DataFrame> {
        let mut extensions = Vec::new();
        for input in &self.inputs {
            let path = Path::new(input);
            if path.is_dir() {
                extensions.extend(extensions_in(path)?);
                continue;
            }
            let is_pattern = input.contains(['*', '?', '[']);
            ensure!(
                path.exists() || is_pattern || input.contains("://"),
                "{input}: no such file"
            );
            Format::of(input)?;
            extensions.push(extension(path));
        }
        let Some(extension) = extensions.first() else {
            bail!("there are no files in {}", self.inputs.join(", "));
        };
        if let Some(other) = extensions.iter().find(|other| *other != extension) {
            bail!(
                "the inputs have several extensions, {extension} and {other}: sort each for itself"
            );
        }
        let paths = self.inputs.clone();
        let read = match Format::of(extension)? {
            Format::Parquet => {
                let options = ParquetReadOptions {
                    file_extension: extension,
                    ..Default::default()
                };
                session.read_parquet(paths, options).await
            }
            Format::Arrow => {
                let options = ArrowReadOptions {
                    file_extension: extension,
                    ..Default::default()
                };
                session.read_arrow(paths, options).await
            }
            Format::Csv { delimiter } => {
                let options = CsvReadOptions::new().delimiter(delimiter);
                session
                    .read_csv(paths, options.file_extension(extension))
                    .await
            }
        };
        read.with_context(|| format!("cannot read {}", self.inputs.join(", ")))
    }

    fn order(&self, rows: &DataFrame) -> Result<Vec<SortExpr>> {
        let schema = rows.schema();
        let key = |key: &Key| {
            if !schema.has_column_with_unqualified_name(&key.name) {
                let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                bail!("no column {:?}: there are {}", key.name, names.join(", "));
            }
            Ok(ident(&key.name).sort(!key.descending, key.nulls_first))
        };
        self.by.iter().map(key).collect()
    }

    async fn plan(&self, sorted: DataFrame, to: &Path) -> Result<Arc<dyn ExecutionPlan>> {
        let format = Format::of(&self.output.to_string_lossy())?.factory();
        let (state, plan) = sorted.into_parts();
        let plan = LogicalPlanBuilder::copy_to(
            plan,
            to.to_string_lossy().into_owned(),
            format_as_file_type(format),
            HashMap::default(),
            Vec::new(),
        )?;
        Ok(state.create_physical_plan(&plan.build()?).await?)
    }
}

/// The end of a file's name, from its last dot on.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rfind('.')
        .map_or(String::new(), |dot| name[dot..].to_owned())
}

/// The extensions of the files in a directory that have a known format.
fn extensions_in(directory: &Path) -> Result<Vec<String>> {
    let mut extensions = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if Format::of(&path.to_string_lossy()).is_ok() {
            extensions.push(extension(&path));
        }
    }
    Ok(extensions)
}

/// The rows that went through nodes of a kind.
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
    fn start(plan: &Arc<dyn ExecutionPlan>, quiet: bool) -> Self {
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
                let read = rows_of(&plan, |node| node.is::<DataSourceExec>());
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

/// How many rows were sorted, and where.
fn summary(plan: &Arc<dyn ExecutionPlan>) -> String {
    let rows = rows_of(plan, |node| node.is::<DataSourceExec>());
    let mut place = "already in order".to_owned();
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
    format!("{rows} rows sorted ({place})")
}
