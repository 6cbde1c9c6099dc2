//! DataFusion's shell, in a session that sorts on the GPU.

use crate::script;
use crate::session::Resources;
use anyhow::{Result, ensure};
use bcfsort_datafusion::commands::print;
use clap::Args;
use datafusion::arrow::error::ArrowError;
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
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Run these statements, and exit
    #[arg(short, long, value_name = "SQL", num_args = 1..)]
    command: Vec<String>,

    /// Run the statements of these files, and exit
    ///
    /// The first statement that fails ends the run with exit code 1, as it does with -c and with
    /// statements from a pipe. In a terminal, the shell goes on.
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    file: Vec<PathBuf>,

    /// Run these files at the start of the shell, instead of ~/.datafusionrc
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    rc: Option<Vec<PathBuf>>,

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

impl Arguments {
    /// Runs the statements. A closed pipe, as by `| head`, ends the run without an error.
    pub(crate) async fn run(self) -> Result<()> {
        let done = self.run_all().await;
        done.or_else(|error| {
            if is_closed_pipe(&error) {
                Ok(())
            } else {
                Err(error)
            }
        })
    }

    async fn run_all(self) -> Result<()> {
        let is_shell = self.command.is_empty() && self.file.is_empty();
        if is_shell && !self.quiet && io::stdin().is_terminal() {
            let version = env!("CARGO_PKG_VERSION");
            let cli = datafusion_cli::DATAFUSION_CLI_VERSION;
            print(&format!(
                "bcfsort-sql {version}, on DataFusion {cli}. \\? lists commands, \\q quits.\n"
            ))?;
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
            let rc = self.rc.unwrap_or_else(|| home.into_iter().collect());
            for file in &rc {
                script::run_file(&session, file, &mut options).await?;
            }
            if io::stdin().is_terminal() {
                return Ok(exec::exec_from_repl(&session, &mut options).await?);
            }
            return script::run(&session, io::stdin().lock(), &mut options).await;
        }
        for file in &self.file {
            script::run_file(&session, file, &mut options).await?;
        }
        ensure!(
            self.command.iter().all(|sql| !sql.trim().is_empty()),
            "-c: a statement is empty"
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
        let reads_stdin = is_shell || self.file.iter().any(|file| file == Path::new("/dev/stdin"));
        Ok(if reads_stdin {
            // A statement must not read stdin as a table, too.
            config.with_extension(Arc::new(StdinCarriesCommands))
        } else {
            config
        })
    }
}

/// Whether the error is a closed stdout, the only pipe that a shell writes to.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        let is_of_csv = |error: &ArrowError| match error {
            // The variant holds only the text of the I/O error.
            ArrowError::CsvError(text) => text.ends_with("(os error 32)"),
            _ => false,
        };
        let of_io = cause.downcast_ref::<io::Error>();
        of_io.is_some_and(|error| error.kind() == closed)
            || cause.downcast_ref().is_some_and(is_of_csv)
    })
}
