//! The command line of wgpu-bcfsort: sorts files of numbers on the GPU.

mod audit;
mod check;
mod completions;
mod devices;
mod generate;
mod input;
mod man;
mod prefix_sums;
mod sort;
mod spill;
mod verify;

use bcfsort_lab::{bench, experiment, tune};
use bcfsort_term::fault::Fault;
use bcfsort_term::{notice, output};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Exit codes:
  0    done (a closed output pipe counts as done)
  1    check: the keys are not sorted; audit: a kernel failed
  2    wrong usage, bad input, or the output could not be written
  3    device trouble, or --verify found the output wrong
  130  interrupted

Environment:
  WGPU_BCFSORT_REQUIRE_ADAPTER=1  fail with exit code 3 where no GPU adapter is found,
                                  instead of sorting or adding up on the CPU
  WGPU_BCFSORT_CACHE_DIR=DIR      directory in which sort and prefix-sums keep compiled kernels
                                  (on Vulkan only); empty: none, as with their --no-cache. By
                                  default wgpu-bcfsort in the user's directory for caches:
                                  $XDG_CACHE_HOME or ~/.cache, %LOCALAPPDATA% on Windows. One that
                                  other users may write to is not used
  RUST_LOG                        log levels, such as warn, debug or wgpu_bcfsort=trace

Examples:
  wgpu-bcfsort gen random -n 10M -o keys.bin
  wgpu-bcfsort sort keys.bin -o sorted.bin --timings
  wgpu-bcfsort check sorted.bin
  seq 1000000 | shuf | wgpu-bcfsort sort -t u64 -f text | head
  wgpu-bcfsort bench --sizes 2^20,2^24 --patterns random,zero-one
  wgpu-bcfsort tune -o tuning.json
  wgpu-bcfsort sort keys.bin -o sorted.bin --engine fast --tuning tuning.json
  wgpu-bcfsort prefix-sums values.bin colors.bin -o sums.bin
  wgpu-bcfsort experiment all --quick --out figures
  wgpu-bcfsort audit --engine fast -n 2^17";

/// Sorts numbers on the GPU without bank conflicts.
///
/// Keys are u32, i32, f32, u64, i64 or f64, in raw little-endian files or as text with one number
/// a line. Sorting needs a GPU adapter (a software one such as lavapipe will do); without one,
/// `sort` and `prefix-sums` fall back to the CPU.
#[derive(Parser)]
#[command(name = "wgpu-bcfsort", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sort(sort::Args),
    Gen(generate::Args),
    Check(check::Args),
    Devices(devices::Args),
    Bench(bench::Args),
    Tune(tune::Args),
    PrefixSums(prefix_sums::Args),
    Experiment(experiment::Args),
    Audit(audit::Args),
    Completions(completions::Args),
    Man(man::Args),
}

fn run(command: &Command) -> Result<(), Fault> {
    output::remove_temporary_when_interrupted()?;
    match command {
        Command::Sort(args) => sort::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Check(args) => check::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Tune(args) => tune::run(args),
        Command::PrefixSums(args) => prefix_sums::run(args),
        Command::Experiment(args) => experiment::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Help and the version as clap prints them; its errors, which take several lines, as one.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
    } else {
        let text = error.to_string();
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .collect();
        let line = lines.join(" ");
        notice::say(line.strip_prefix("error: ").unwrap_or(&line));
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Keeps Mesa's device selection, an implicit layer of every Vulkan instance on Linux, from
/// complaining to stderr that it finds no display: a machine without one is nothing to complain of.
/// Adapters are put in order by this program anyway.
fn quiet_device_selection() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: called first thing in `main`, when no other thread can read the environment.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

fn main() -> ExitCode {
    quiet_device_selection();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    // Off unless asked for: what users must know is told by our own one-line messages.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).init();
    match run(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            if let Some(message) = fault.message() {
                notice::say(message);
            }
            ExitCode::from(fault.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
