//! The command line of wgpu-bcfsort: sorts files of numbers on the GPU.

mod argsort;
mod audit;
mod check;
mod completions;
mod devices;
mod doctor;
mod external;
mod format;
mod generate;
mod input;
mod keys;
mod man;
mod merge;
mod numbers;
mod ordered;
mod prefix_sums;
mod records;
mod sort;
mod spool;
mod uniq;
mod usage;
mod verify;

use bcfsort_lab::{bench, experiment, tune};
use bcfsort_term::allocator::Allocator;
use bcfsort_term::fault::Fault;
use bcfsort_term::{notice, output, threads};
use clap::builder::Styles;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const AFTER_HELP: &str = "\
Exit codes:
  0    success (a closed output pipe included)
  1    check: not sorted; audit: a kernel failed; doctor: something is wrong
  2    wrong usage, bad input, or the output could not be written
  3    GPU failure, or --verify found a wrong result
  130  interrupted (SIGINT); 143: SIGTERM; 129: SIGHUP

Environment:
  WGPU_BCFSORT_DEVICE=DEVICE      the device where --device is not given
  WGPU_BCFSORT_REQUIRE_ADAPTER=1  fail without a GPU adapter, instead of using the CPU
  WGPU_BCFSORT_CACHE_DIR=DIR      where compiled kernels are cached; empty: nowhere

Examples:
  wgpu-bcfsort gen random -n 10M | wgpu-bcfsort sort -o sorted.bin    sort 10 million numbers";

const DETAILS: &str = "\
RUST_LOG=LEVEL logs to stderr; LEVEL is warn, debug, or wgpu_bcfsort=trace.

Compiled kernels are cached by 'sort', 'argsort' and 'prefix-sums', on Vulkan only. The default \
directory is wgpu-bcfsort in the user's cache directory: $XDG_CACHE_HOME or ~/.cache, \
~/Library/Caches on macOS, %LOCALAPPDATA% on Windows. A directory that other users may \
write to is not used.";

/// Heading of the options common to all commands.
const COMMON: &str = "Common options";

/// The options common to all commands. The short help fits one screen; --help-all has all details.
fn common() -> [Arg; 3] {
    let flag = |name, action| Arg::new(name).long(name).action(action);
    [
        flag("quiet", ArgAction::SetTrue)
            .short('q')
            .overrides_with("quiet")
            .help("Print no warnings, progress or summaries"),
        flag("help", ArgAction::HelpShort)
            .short('h')
            .help("Print help"),
        flag("help-all", ArgAction::HelpLong).help("Print help with all options and details"),
    ]
    .map(|arg| arg.global(true).help_heading(COMMON))
}

/// Makes `--memory -5` an invalid count, not an unknown option, and lets flags be repeated, as
/// after an alias that has them.
fn as_usual(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| {
        let takes_value = arg.get_action().takes_values() && !arg.is_positional();
        let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
        let id = arg.get_id().clone();
        let arg = arg.allow_negative_numbers(takes_value);
        if is_flag { arg.overrides_with(id) } else { arg }
    })
}

/// Sort files of numbers, lines, tables and records on the GPU
///
/// Numbers are u32, i32, f32, u64, i64 or f64, in little-endian binary files or as text with one
/// number per line. Records are lines, rows of CSV and TSV files, structs, or elements of npy
/// files. Files may be larger than the memory. Without a GPU adapter (a software one such as
/// lavapipe will do), 'sort', 'argsort' and 'prefix-sums' run on the CPU.
#[derive(Parser)]
#[command(
    name = "wgpu-bcfsort",
    version,
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"),
    max_term_width = 100,
    disable_help_flag = true,
    args = common(),
    mut_subcommands(as_usual)
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Ordered as a user needs them.
#[derive(Subcommand)]
enum Command {
    Sort(sort::Args),
    Argsort(argsort::Args),
    Merge(merge::Args),
    Uniq(uniq::Args),
    Check(check::Args),
    Gen(generate::Args),
    Devices(devices::Args),
    Doctor(doctor::Args),
    Bench(bench::Args),
    Tune(tune::Args),
    Audit(audit::Args),
    Experiment(experiment::Args),
    PrefixSums(prefix_sums::Args),
    Completions(completions::Args),
    Man(man::Args),
}

fn run(command: &Command) -> Result<(), Fault> {
    output::remove_temporary_when_interrupted()?;
    threads::start_pool()?;
    match command {
        Command::Sort(args) => sort::run(args),
        Command::Argsort(args) => argsort::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Uniq(args) => uniq::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Check(args) => check::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Tune(args) => tune::run(args),
        Command::PrefixSums(args) => prefix_sums::run(args),
        Command::Experiment(args) => experiment::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Stops Mesa's device selection from complaining to stderr that it finds no display. It is an
/// implicit layer of every Vulkan instance on Linux, and a machine without a display is fine. This
/// program orders adapters itself.
fn quiet_device_selection() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: `main` calls this first, while no other thread exists that could read the
        // environment.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

fn main() -> ExitCode {
    quiet_device_selection();
    threads::run(command).unwrap_or_else(|fault| ended(Err(fault)))
}

/// Runs what the command line says.
fn command() -> ExitCode {
    let parse = |command: clap::Command| {
        let matches = command.try_get_matches()?;
        Ok((Cli::from_arg_matches(&matches)?, matches))
    };
    let parsed = parse(Cli::command()).or_else(|error: clap::Error| {
        if error.use_stderr() {
            parse(Cli::command().styles(Styles::plain()))
        } else {
            Err(error)
        }
    });
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage::exit(error),
    };
    // Off by default: users get our own one-line messages.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).init();
    let checked = usage::refuse_raw_on_terminal(&matches, io::stdout().is_terminal());
    ended(checked.and_then(|()| run(&cli.command)))
}

/// Tells what has failed, and returns the exit code.
fn ended(done: Result<(), Fault>) -> ExitCode {
    match done {
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
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn raw_keys_go_to_a_terminal_only_on_request() {
        let is_refused = |line: &str, is_terminal| {
            let matches = Cli::command().get_matches_from(line.split(' '));
            usage::refuse_raw_on_terminal(&matches, is_terminal).is_err()
        };
        for command in [
            "sort",
            "argsort",
            "merge a b",
            "uniq",
            "gen random -n 1",
            "prefix-sums a b",
        ] {
            for (options, refused) in [
                ("-q", true),
                ("-f raw", true),
                ("-f text", false),
                ("-o -", false),
                ("-o file", false),
            ] {
                let line = format!("wgpu-bcfsort {command} {options}");
                assert_eq!(is_refused(&line, true), refused, "{line}");
                assert!(!is_refused(&line, false), "{line}");
            }
        }
        assert!(!is_refused("wgpu-bcfsort check", true));
        assert!(!is_refused("wgpu-bcfsort tune", true));
    }
}
