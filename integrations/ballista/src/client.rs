//! What `sql` and `sort-table` share.

use anyhow::{Context, Result, ensure};
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use clap::Args;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::options::ArrowReadOptions;
use datafusion::prelude::{
    CsvReadOptions, DataFrame, ParquetReadOptions, SessionConfig, SessionContext,
};
use std::path::Path;
use url::Url;

/// The cluster to ask.
#[derive(Args)]
pub(crate) struct Cluster {
    /// The scheduler's host and port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,
}

impl Cluster {
    pub(crate) async fn connect(&self, options: &[(&str, &str)]) -> Result<SessionContext> {
        let mut config = SessionConfig::new_with_ballista();
        // Types and metadata as they are in the files.
        let parquet = &mut config.options_mut().execution.parquet;
        parquet.schema_force_view_types = false;
        parquet.skip_metadata = false;
        for (name, value) in options {
            config.options_mut().set(name, value)?;
        }
        let state = SessionStateBuilder::new()
            .with_config(config)
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
    // Of a URL, no character is a pattern.
    let url = if absolute.is_dir() {
        Url::from_directory_path(&absolute)
    } else {
        Url::from_file_path(&absolute)
    };
    let url = url
        .ok()
        .with_context(|| format!("{path}: no URL has this name"))?;
    let read = match extension(&absolute)?.as_str() {
        "parquet" => {
            let options = ParquetReadOptions {
                skip_metadata: Some(false),
                ..Default::default()
            };
            session.read_parquet(url.as_str(), options).await
        }
        "arrow" => {
            session
                .read_arrow(url.as_str(), ArrowReadOptions::default())
                .await
        }
        "csv" => session.read_csv(url.as_str(), CsvReadOptions::new()).await,
        other => anyhow::bail!("{path}: .{other} is none of .parquet, .arrow and .csv"),
    };
    read.with_context(|| format!("cannot read {path}"))
}

/// The extension of a file, or that of all files in a directory which have a known one.
fn extension(path: &Path) -> Result<String> {
    let of = |path: &Path| {
        let extension = path.extension().unwrap_or_default();
        extension.to_string_lossy().into_owned()
    };
    if !path.is_dir() {
        return Ok(of(path));
    }
    let mut found: Option<String> = None;
    for entry in std::fs::read_dir(path)? {
        let extension = of(&entry?.path());
        if ["parquet", "arrow", "csv"].contains(&extension.as_str()) {
            let other = found.get_or_insert_with(|| extension.clone());
            ensure!(
                *other == extension,
                "{}: there are .{other} and .{extension} files",
                path.display()
            );
        }
    }
    found.with_context(|| format!("{}: no .parquet, .arrow or .csv files", path.display()))
}
