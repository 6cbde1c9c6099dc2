//! `bcfsort-ballista sql`: runs a query on a cluster.

use crate::client::{Cluster, read};
use anyhow::{Context, Result};
use bcfsort_datafusion::commands::{Whole, escaped, print, tell};
use clap::Args;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::parquet::arrow::ArrowWriter;
use futures::TryStreamExt;
use std::fs::File;
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Instant;

/// Run a query on a cluster
///
/// The result comes to this command, which prints it or writes it to a file.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The query
    sql: String,

    /// A table: its name, and a file or a directory of .parquet, .arrow or .csv files
    #[arg(long, value_name = "NAME=PATH", value_parser = table)]
    table: Vec<(String, String)>,

    /// Parquet file to write, whole or not at all, instead of printing
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    cluster: Cluster,
}

fn table(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    let parts = parts.map(|(name, path)| (name.to_owned(), path.to_owned()));
    parts.ok_or_else(|| "expected a name and a path, such as t=data/t.parquet".to_owned())
}

impl Arguments {
    pub(crate) async fn run(self) -> Result<()> {
        let begin = Instant::now();
        let session = self.cluster.connect(&[]).await?;
        for (name, path) in &self.table {
            session.register_table(name, read(&session, path).await?.into_view())?;
        }
        let result = session.sql(&self.sql).await?;
        let Some(path) = self.output else {
            let table = pretty_format_batches(&result.collect().await?)?.to_string();
            let shown = if stdout().is_terminal() {
                escaped(&table)
            } else {
                table
            };
            return print(&format!("{shown}\n"));
        };
        let cannot = || format!("cannot write {}", path.display());
        let mut batches = result.execute_stream().await?;
        let whole = Whole::beside(&path)?;
        let file = File::create(whole.path()).with_context(cannot)?;
        let mut writer = ArrowWriter::try_new(file, batches.schema(), None)?;
        let mut rows = 0;
        while let Some(batch) = batches.try_next().await? {
            rows += batch.num_rows();
            writer.write(&batch).with_context(cannot)?;
        }
        writer.close().with_context(cannot)?;
        whole.finish()?;
        let (path, seconds) = (path.display(), begin.elapsed().as_secs_f64());
        tell(&format!("{rows} rows written to {path} in {seconds:.3} s"));
        Ok(())
    }
}
