//! The command `bcfsort-sql`: the shell of DataFusion with sorts on the GPU, and one-line sorts of
//! Parquet, Arrow and CSV files.

mod out_of_memory;
mod script;
mod session;
mod shell;
mod sort;

use anyhow::{Context, Result};
use bcfsort_datafusion::commands::{self, escaped};
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: out_of_memory::OrExit = out_of_memory::OrExit;

/// SQL with ORDER BY on the GPU
///
/// Without a subcommand it is the shell of Apache DataFusion, whose sorts are done on the GPU:
/// `SET bcfsort.device = 'cpu'` and `EXPLAIN` show the difference. `sort` sorts files.
#[derive(Parser)]
#[command(name = "bcfsort-sql", version, args_conflicts_with_subcommands = true)]
#[command(after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    shell: shell::Arguments,
}

#[derive(Subcommand)]
enum Command {
    Sort(sort::Arguments),
}

const EXAMPLES: &str = "\
Examples:
  bcfsort-sql                                                 the shell
  bcfsort-sql -c \"SELECT * FROM 'rides.parquet' ORDER BY fare DESC, id LIMIT 10\"
  bcfsort-sql sort rides.parquet --by fare:desc,id -o sorted.parquet

Options of the GPU, in SQL (SHOW ALL lists all of them):
  SET bcfsort.device = 'gpu'      sort on the GPU, also where the CPU takes less time
  SET bcfsort.device = 'nvidia'   sort on the first adapter with this in its name

Environment:
  WGPU_BCFSORT_DEVICE=DEVICE          the device where --device or the option is auto
  WGPU_BCFSORT_REQUIRE_ADAPTER=1      fail without a GPU, instead of sorting on the CPU
  RUST_LOG=bcfsort_datafusion=debug   tell why a sort stays on the CPU";

/// The exit codes after an error: in a statement, and in a sort.
const STATEMENT: u8 = 1;
const SORT: u8 = 2;

fn main() -> ExitCode {
    commands::begin();
    let arguments: CommandLine = commands::arguments();
    commands::log("warn");
    match arguments.command {
        Some(Command::Sort(sort)) => {
            out_of_memory::shorten_panics();
            let done = runtime().and_then(|runtime| runtime.block_on(sort.run()));
            commands::ended(done, SORT)
        }
        None => {
            let done = runtime().and_then(|runtime| runtime.block_on(arguments.shell.run()));
            commands::ended(done, STATEMENT)
        }
    }
}

/// The runtime of queries, with a thread for each core, or fewer where address space is limited.
fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(most) = out_of_memory::threads()? {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        builder.worker_threads(cores.min(most).max(1));
    }
    let runtime = builder.enable_all().build();
    runtime.context("cannot start threads")
}

/// The first bytes of a cell, for a message.
fn printable(cell: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&cell[..cell.len().min(MOST)]).replace('\n', "\\n");
    let more = if cell.len() > MOST { "..." } else { "" };
    escaped(&text) + more
}
