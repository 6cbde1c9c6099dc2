//! Code that `sql` and `sort-table` share: the connection, and tables of files.

use crate::codec::PartsLogicalCodec;
use anyhow::{Context, Result, ensure};
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use bcfsort_datafusion::commands::{keep_compression, parquet_footer, url_of};
use clap::Args;
use datafusion::arrow::datatypes::Schema;
use datafusion::config::TableParquetOptions;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::options::ArrowReadOptions;
use datafusion::prelude::{
    CsvReadOptions, DataFrame, ParquetReadOptions, SessionConfig, SessionContext,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The cluster to connect to.
#[derive(Args)]
pub(crate) struct Cluster {
    /// The scheduler's host and port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,
}

impl Cluster {
    pub(crate) async fn connect(&self, options: &[(&str, &str)]) -> Result<SessionContext> {
        // If an executor is lost that had rows for a stage that has begun, Ballista 55's adaptive
        // planner takes this stage back, but never begins it again: the query waits for ever.
        let mut config =
            SessionConfig::new_with_ballista().with_ballista_adaptive_query_planner(false);
        // Types as they are in the files.
        config
            .options_mut()
            .execution
            .parquet
            .schema_force_view_types = false;
        for (name, value) in options {
            config.options_mut().set(name, value)?;
        }
        let codec = Arc::new(PartsLogicalCodec::default());
        let state = SessionStateBuilder::new()
            .with_config(config.with_ballista_logical_extension_codec(codec))
            .with_default_features()
            .build();
        let url = format!("df://{}", self.scheduler);
        Ok(SessionContext::remote_with_state(&url, state).await?)
    }
}

/// A table of files, or of a directory of files, in the format that the extension says.
pub(crate) async fn read(session: &SessionContext, path: &str) -> Result<DataFrame> {
    let absolute = std::path::absolute(path)?;
    let path = absolute.display();
    ensure!(
        absolute.exists(),
        "{path}: no such file or directory (executors must see it under the same path)"
    );
    let url = url_of(&absolute)?.to_string();
    let first = first_file(&absolute)?;
    let read = match extension(&first).as_str() {
        "parquet" => read_parquet(session, &url, &first).await,
        "arrow" => (session.read_arrow(url, ArrowReadOptions::default()).await)
            .map_err(anyhow::Error::from),
        "csv" => (session.read_csv(url, CsvReadOptions::new()).await).map_err(anyhow::Error::from),
        other => anyhow::bail!("{path}: unknown extension .{other}: use .parquet, .arrow or .csv"),
    };
    read.with_context(|| format!("cannot read {path}"))
}

/// Reads all files with the metadata of the first one, since DataFusion would refuse files whose
/// metadata differs.
async fn read_parquet(session: &SessionContext, url: &str, first: &Path) -> Result<DataFrame> {
    let merged = (session.read_parquet(url, ParquetReadOptions::default())).await?;
    let footer = parquet_footer(first)?;
    let first = footer.schema();
    let fields = merged.schema().fields().iter().map(|field| {
        let field = field.as_ref().clone();
        match first.field_with_name(field.name()) {
            Ok(like) => field.with_metadata(like.metadata().clone()),
            Err(_) => field,
        }
    });
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), first.metadata().clone());
    let options = ParquetReadOptions {
        schema: Some(&schema),
        ..Default::default()
    };
    Ok(session.read_parquet(url, options).await?)
}

/// The options to write Parquet files with the metadata of a table and, if it is in Parquet files,
/// with their compression.
pub(crate) fn as_in(schema: &Schema, path: &Path) -> Result<TableParquetOptions> {
    let metadata = schema.metadata().iter();
    let mut options = TableParquetOptions {
        key_value_metadata: metadata
            .map(|(key, value)| (key.clone(), Some(value.clone())))
            .collect(),
        ..Default::default()
    };
    let first = first_file(path)?;
    if extension(&first) == "parquet" {
        keep_compression(&first, &mut options)?;
    }
    Ok(options)
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().into_owned()
}

/// The file itself, or the first file of a directory. All files with a known extension must have
/// the same one.
fn first_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut found: Option<PathBuf> = None;
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        let this = extension(&file);
        if ["parquet", "arrow", "csv"].contains(&this.as_str()) {
            let first = found.get_or_insert_with(|| file.clone());
            let other = extension(first);
            ensure!(
                other == this,
                "{}: the directory has .{other} and .{this} files: use one format",
                path.display()
            );
            if file < *first {
                *first = file;
            }
        }
    }
    found.with_context(|| format!("{}: no .parquet, .arrow or .csv files", path.display()))
}
