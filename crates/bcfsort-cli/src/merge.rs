//! `merge`: merges sorted files.

mod numbers;
pub(crate) mod streams;

use crate::format::{FileFormat, FormatArgs, Unique};
use crate::input::FileArgs;
use crate::records::merge::{Job, merge};
use bcfsort_term::args::Direction;
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::Memory;
use bcfsort_term::with_key_type;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
The files must be sorted already, in the order that the options name; an input that is not is an \
error, which tells the file and the place. Of equal records, those of earlier files are first. The \
result is that of 'sort' with these files and options, in less time: each file is read once, on \
the CPU. Any number of files is merged in --memory.

Examples:
  wgpu-bcfsort merge monday.bin tuesday.bin -o both.bin     sorted files of u32 numbers
  wgpu-bcfsort merge -f lines -u a.txt b.txt                lines, as GNU sort -m -u does
  wgpu-bcfsort merge -f csv --by time:date logs/*.csv.gz -o all.csv";

const DETAILS: &str = "\
Up to 64 files are merged at once, fewer with less than 64 MiB of --memory or if fewer may be open \
(ulimit -n). If there are more, all are first merged to runs in a temporary file without a name. A \
record must fit in the share of one file: a quarter of --memory, divided by the number of files \
that are merged at once, and at most 64 MiB.

Exit codes: 0 success, 2 bad usage, input or output, or an input that is not sorted, \
130 interrupted";

/// Merge files that are sorted already
#[derive(clap::Args)]
#[command(
    mut_arg("files", |files| files.help("Sorted files to merge; - is stdin")),
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}")
)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// File to write, which may be one of the inputs; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    direction: Direction,
    #[command(flatten)]
    unique: Unique,
    #[command(flatten)]
    memory: Memory,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let FormatArgs {
        numbers, records, ..
    } = &args.format;
    match FileFormat::or_assumed(args.format.format) {
        FileFormat::Records(kind) => {
            numbers.refuse_for(kind)?;
            merge(Job {
                plan: records.plan(kind, args.direction.is_reverse())?,
                inputs: args.files.inputs(kind.tells_codec())?,
                files: &args.files,
                output: &args.output,
                unique: args.unique.unique,
                memory: &args.memory,
                quiet: args.quiet,
            })
        }
        FileFormat::Numbers(format) => {
            records.refuse_for_others(format.name(), None)?;
            with_key_type!(numbers.of_numbers(), T => numbers::merge::<T>(args, format))
        }
    }
}
