//! The command `bcfsort-sql`: the shell of DataFusion with sorts on the GPU, and one-line sorts of
//! Parquet, Arrow and CSV files.

mod script;
mod session;
mod shell;
mod sort;

use bcfsort_datafusion::commands::{self, escaped};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// SQL with ORDER BY on the GPU
///
/// Without a subcommand it is the shell of Apache DataFusion, whose sorts are done on the GPU:
/// `SET bcfsort.enabled = never` and `EXPLAIN` show the difference. `sort` sorts files.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
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
  SET bcfsort.enabled = always     sort on a software adapter, too
  SET bcfsort.adapter = 'nvidia'   sort on the first adapter with this in its name

Environment:
  RUST_LOG=bcfsort_datafusion=debug   tell why a sort stays on the CPU";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: CommandLine = commands::arguments();
    commands::log("warn");
    commands::ended(match arguments.command {
        Some(Command::Sort(sort)) => sort.run().await,
        None => arguments.shell.run().await,
    })
}

/// The first bytes of a cell, for a message.
fn printable(cell: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&cell[..cell.len().min(MOST)]).replace('\n', "\\n");
    let more = if cell.len() > MOST { "..." } else { "" };
    escaped(&text) + more
}
