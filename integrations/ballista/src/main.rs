//! The command `bcfsort-ballista`: a cluster of [Ballista](https://datafusion.apache.org/ballista/)
//! whose executors sort on their GPUs.

mod client;
mod codec;
mod cores;
mod engine;
mod exchange;
mod executor;
mod parts;
mod scheduler;
mod sort_table;
mod sql;

use bcfsort_datafusion::commands;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// ORDER BY on the GPUs of several machines
///
/// A scheduler and executors make a cluster of Apache DataFusion Ballista. The executors sort on
/// their GPUs, and on the CPU where they have none.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Scheduler(scheduler::Arguments),
    Executor(executor::Arguments),
    Sql(sql::Arguments),
    SortTable(sort_table::Arguments),
}

const EXAMPLES: &str = "\
A cluster on one machine, each command in its own terminal:
  bcfsort-ballista scheduler
  bcfsort-ballista executor --work-dir e1
  bcfsort-ballista executor --work-dir e2 --port 50061 --grpc-port 50062
  bcfsort-ballista sql --table t=data/ 'SELECT * FROM t ORDER BY k LIMIT 10'
  bcfsort-ballista sort-table data/ --by k --parts 8 -o sorted/

On several machines, see docs/clusters.md. There is no authentication: whoever reaches the ports can
run queries and read files. So every port is bound to 127.0.0.1 unless --bind says otherwise.

Environment:
  WGPU_BCFSORT_DEVICE=DEVICE      the device of an executor where --device is auto
  WGPU_BCFSORT_REQUIRE_ADAPTER=1  an executor fails without a GPU, instead of sorting on the CPU
  RUST_LOG=LEVEL                  log to stderr, such as info or bcfsort_datafusion=debug";

#[tokio::main]
async fn main() -> ExitCode {
    commands::begin();
    let arguments: Arguments = commands::arguments();
    commands::log(match arguments.command {
        Command::Scheduler(_) | Command::Executor(_) => "info,bcfsort_datafusion=debug,wgpu=warn",
        Command::Sql(_) | Command::SortTable(_) => "error",
    });
    let done = match arguments.command {
        Command::Scheduler(scheduler) => scheduler.run().await,
        Command::Executor(executor) => executor.run().await,
        Command::Sql(sql) => sql.run().await,
        Command::SortTable(sort) => sort.run().await,
    };
    commands::ended(done, 1)
}
