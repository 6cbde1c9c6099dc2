//! The shell: DataFusion's, in a session of ours.

use crate::session::Resources;
use anyhow::{Result, ensure};
use clap::Args;
use datafusion::config::ConfigOptions;
use datafusion::execution::context::SessionConfig;
use datafusion::logical_expr::ExplainFormat;
use datafusion_cli::catalog::DynamicObjectStoreCatalog;
use datafusion_cli::exec;
use datafusion_cli::functions::ParquetMetadataFunc;
use datafusion_cli::object_storage::StdinCarriesCommands;
use datafusion_cli::object_storage::instrumented::InstrumentedObjectStoreRegistry;
use datafusion_cli::print_format::PrintFormat;
use datafusion_cli::print_options::{MaxRows, PrintOptions};
use std::env;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Run these statements, and exit
    #[arg(short, long, value_name = "SQL", num_args = 1..)]
    command: Vec<String>,

    /// Run the statements of these files, and exit
    #[arg(short, long, value_name = "FILE", num_args = 1.., value_parser = file)]
    file: Vec<String>,

    /// Run these files at the start of the shell, instead of ~/.datafusionrc
    #[arg(short, long, value_name = "FILE", num_args = 1.., value_parser = file)]
    rc: Option<Vec<String>>,

    /// Format of results
    #[arg(long, value_enum, default_value_t = PrintFormat::Automatic)]
    format: PrintFormat,

    /// Most rows of a result to print in a table: a number, or inf
    #[arg(long, value_name = "N", default_value = "40")]
    maxrows: MaxRows,

    /// Print results only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    resources: Resources,
}

fn file(path: &str) -> Result<String, String> {
    if Path::new(path).is_file() {
        Ok(path.to_owned())
    } else {
        Err("there is no such file".to_owned())
    }
}

impl Arguments {
    pub(crate) async fn run(self) -> Result<()> {
        let is_shell = self.command.is_empty() && self.file.is_empty();
        if is_shell && !self.quiet && std::io::stdin().is_terminal() {
            let version = env!("CARGO_PKG_VERSION");
            let cli = datafusion_cli::DATAFUSION_CLI_VERSION;
            println!("bcfsort-sql {version}, on DataFusion {cli}. \\? lists commands, \\q quits.");
        }
        let stores = Arc::new(InstrumentedObjectStoreRegistry::new());
        let config = self.config(is_shell)?;
        let session = self.resources.session(config, Some(stores.clone()))?;
        let session = session.enable_url_table();
        session.register_catalog_list(Arc::new(DynamicObjectStoreCatalog::new(
            session.state().catalog_list().clone(),
            session.state_weak_ref(),
        )));
        session.register_udtf("parquet_metadata", Arc::new(ParquetMetadataFunc {}));
        let mut options = PrintOptions {
            format: self.format,
            quiet: self.quiet,
            maxrows: self.maxrows,
            color: false,
            instrumented_registry: stores,
        };
        if is_shell {
            let home = dirs::home_dir().map(|home| home.join(".datafusionrc"));
            let home = home.filter(|rc| rc.is_file());
            let rc = match (self.rc, home) {
                (Some(files), _) => files,
                (None, Some(file)) => vec![file.to_string_lossy().into_owned()],
                (None, None) => Vec::new(),
            };
            exec::exec_from_files(&session, rc, &options).await?;
            return Ok(exec::exec_from_repl(&session, &mut options).await?);
        }
        exec::exec_from_files(&session, self.file, &options).await?;
        ensure!(
            self.command.iter().all(|sql| !sql.trim().is_empty()),
            "an empty statement"
        );
        Ok(exec::exec_from_commands(&session, self.command, &options).await?)
    }

    /// The options of DataFusion, from the environment, with the defaults of its own shell.
    fn config(&self, is_shell: bool) -> Result<SessionConfig> {
        let mut options = ConfigOptions::from_env()?;
        if env::var_os("DATAFUSION_EXPLAIN_FORMAT").is_none() {
            options.explain.format = ExplainFormat::Tree;
        }
        if env::var_os("DATAFUSION_FORMAT_NULL").is_none() {
            options.format.null = "NULL".to_owned();
        }
        let config = SessionConfig::from(options).with_information_schema(true);
        let reads_stdin = is_shell || self.file.iter().any(|file| file == "/dev/stdin");
        Ok(if reads_stdin {
            // What is read from there cannot be a table, too.
            config.with_extension(Arc::new(StdinCarriesCommands))
        } else {
            config
        })
    }
}
