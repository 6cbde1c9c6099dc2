//! `sort`: sorts a file.

mod numbers;

use crate::check::{self, Report};
use crate::format::{FileFormat, NumberType, Unique};
use crate::input::FileArgs;
use crate::records::args::RecordArgs;
use crate::records::{self, Job};
use bcfsort_auto::Work;
use bcfsort_term::args::{Checks, Choice, Direction, Gpu, Seed, one_of};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::kernel_cache::Cache;
use bcfsort_term::memory::Memory;
use bcfsort_term::threads;
use bcfsort_term::with_key_type;
use clap::ValueEnum;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use wgpu_bcfsort::KeyType;

const ENGINE: &str = "Engine and memory";

const AFTER_HELP: &str = "\
All engines give the same bytes. Numbers in text are canonical: 007 becomes 7, 1e5 becomes 100000. \
Records are moved whole, and equal ones keep their order. Files are written whole or not at all.

Examples:
  wgpu-bcfsort sort keys.bin -o sorted.bin         sort a binary file of u32 numbers
  wgpu-bcfsort sort -f text --type f64 data.txt    sort text, to stdout
  wgpu-bcfsort sort -f csv --by price:f64 in.csv   rows of a table, by a column
  wgpu-bcfsort sort -f lines -t: -k3n /etc/passwd  lines by a field, as GNU sort -s does";

/// Where options have the same names, or none is needed, they are on one line.
const OTHER_COMMANDS: &str = "\
Options of GNU sort, and here with -f lines:
  -b -d -g -i -k -M -n -r -s -V -z      the same, and --sort=ORDER, --stable
  -c -C --check[=HOW] -u -o -t -T       the same, in other formats too
  -S SIZE                               in bytes; K, M, G, T are powers of 1000
  -f, --ignore-case                     --ignore-case, or f in -k
  -h, --human-numeric-sort              --human-numeric-sort, or h in -k
  -m, --merge                           'wgpu-bcfsort merge'
  --batch-size, --compress-program      not needed: files of any size are sorted in --memory
  --parallel=N                          RAYON_NUM_THREADS=N in the environment
  -R, --random-sort, --debug            none
Options of 'xsv sort' and 'qsv sort', and here with -f csv:
  -s, --select COLUMNS                  --by COLUMN,...
  -N, --numeric                         --by COLUMN:num
  -R, --reverse                         -r, or --by COLUMN:desc
  -n, --no-headers                      --no-header
  -d, --delimiter CHAR                  -t CHAR
  -u, --unique                          -u, --unique
  -i, --ignore-case                     --by COLUMN:nocase
  --natural                             --by COLUMN:natural
  -j, --jobs N                          RAYON_NUM_THREADS=N in the environment
  --faster, --memcheck                  not needed
  --random, --seed, --rng               none";

const DETAILS: &str = "\
An input that needs more than --memory is sorted in parts, which are merged by way of a temporary \
file without a name. It takes the space of the records or of the binary numbers, and is gone when \
the command ends, whatever ends it. Memory that is too little for the input is an error, which \
says so.

Floats are in total order: -NaN, -inf, ..., -0, +0, ..., inf, NaN.

Exit codes: 0 success, 2 bad usage, input or output, 3 GPU failure or failed --verify, \
130 interrupted";

/// Sort a file of numbers or records. Uses the GPU, or the CPU if that is faster
#[derive(clap::Args)]
#[command(
    next_help_heading = "Input and output",
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{OTHER_COMMANDS}\n\n{AFTER_HELP}")
)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// File to write, which may be the input; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// raw (default), text; records: lines, csv, tsv, npy, fixed, gensort
    ///
    /// raw: little-endian numbers; text: one number per line; lines: lines of text; csv, tsv:
    /// tables; fixed: structs of one size; gensort: the sort benchmark's records of 100 bytes; npy:
    /// arrays of one dimension from numpy.save, of numbers, bools or times, or of structs with such
    /// fields. Floats are in total order there, too: NaN is last if its sign is positive, as it
    /// usually is, and first if it is negative; -0 is before 0. The time 'not a time' is last in
    /// both orders. Without -f, an input that looks like text is refused. Raw numbers, structs and
    /// arrays are written to a terminal only with -o -.
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        value_parser = one_of::<FileFormat>(FileFormat::names())
    )]
    format: Option<FileFormat>,
    #[command(flatten)]
    numbers: NumberType,
    #[command(flatten, next_help_heading = "Order")]
    direction: Direction,
    #[command(flatten, next_help_heading = "Order")]
    records: RecordArgs,
    #[command(flatten, next_help_heading = "Order")]
    unique: Unique,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten, next_help_heading = ENGINE)]
    memory: Memory,
    #[command(flatten, next_help_heading = "Checks")]
    checks: Checks,
    #[command(flatten, next_help_heading = "Checks")]
    sorted: SortedArgs,
    /// Accepted: every sort is stable, as -s has it in GNU sort
    #[arg(short, long, hide_short_help = true, help_heading = "Order")]
    stable: bool,
    #[arg(from_global)]
    quiet: bool,
}

/// The check of the input that GNU sort has in place of a sort.
#[derive(clap::Args)]
struct SortedArgs {
    /// Sort nothing: check whether the input is sorted, and exit with 1 if not, like 'check'
    #[arg(
        short,
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "diagnose-first",
        hide_short_help = true,
        conflicts_with = "output"
    )]
    check: Option<How>,
    /// As --check, and print nothing
    #[arg(short = 'C', hide_short_help = true, conflicts_with_all = ["check", "output"])]
    check_silently: bool,
}

/// What to print about the first record that is out of order.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    DiagnoseFirst,
    #[value(alias = "silent")]
    Quiet,
}

impl SortedArgs {
    /// Where to report what is out of order; `None` if there is something to sort.
    fn report(&self, quiet: bool) -> Option<Report> {
        if self.check_silently {
            return Some(Report::Nowhere);
        }
        self.check.map(|how| match how {
            How::DiagnoseFirst if !quiet => Report::Stderr,
            How::DiagnoseFirst | How::Quiet => Report::Nowhere,
        })
    }
}

/// The engine and its parameters.
#[derive(clap::Args)]
#[command(next_help_heading = ENGINE)]
pub(crate) struct EngineArgs {
    /// Engine to sort with; auto: the fastest for this input
    #[arg(long, default_value = "auto", value_parser = Choice::parser(Choice::all()))]
    engine: Choice,
    #[command(flatten)]
    gpu: Gpu,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    cache: Cache,
}

impl EngineArgs {
    /// The engine that the options name; `None` if the input decides.
    pub(crate) fn named(&self, quiet: bool) -> Result<Option<Contender>, Fault> {
        self.seed.refuse_for_others(self.engine)?;
        Contender::named(self.engine, &self.gpu, &self.seed, &self.cache, quiet)
    }

    /// The fastest engine for this number of keys.
    fn fastest(&self, work: Work, count: u64, key: KeyType, quiet: bool) -> Contender {
        Contender::fastest(work, count, key, &self.cache, quiet)
    }

    /// Reads keys, and returns them with `named` or else the fastest engine. If the number of keys
    /// is `expected`, the engine is opened while they are read.
    pub(crate) fn open_beside<T>(
        &self,
        named: Option<Contender>,
        (work, expected, key): (Work, Option<u64>, KeyType),
        quiet: bool,
        read: impl FnOnce() -> Result<Vec<T>, Fault>,
    ) -> Result<(Vec<T>, Contender), Fault> {
        match (named, expected) {
            (Some(contender), _) => Ok((read()?, contender)),
            (None, Some(count)) => std::thread::scope(|scope| {
                let opening = threads::spawn(scope, || self.fastest(work, count, key, quiet))?;
                let keys = read();
                let contender = opening.join().unwrap_or_else(|panic| resume_unwind(panic));
                Ok((keys?, contender))
            }),
            (None, None) => {
                let keys = read()?;
                let contender = self.fastest(work, keys.len() as u64, key, quiet);
                Ok((keys, contender))
            }
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    if let Some(report) = args.sorted.report(args.quiet) {
        return check::Job {
            format: args.format,
            numbers: &args.numbers,
            records: &args.records,
            direction: &args.direction,
            unique: args.unique.unique,
            report,
        }
        .run(|tells_codec| args.files.inputs(tells_codec));
    }
    match FileFormat::or_assumed(args.format) {
        FileFormat::Records(kind) => {
            args.numbers.refuse_for(kind)?;
            let plan = args.records.plan(kind, args.direction.is_reverse())?;
            let named = Mutex::new(args.engine.named(args.quiet)?);
            let choose = |count| {
                let named = named.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (work, key) = (Work::Argsort, KeyType::U64);
                let fastest = || args.engine.fastest(work, count, key, args.quiet);
                Ok(named.unwrap_or_else(fastest))
            };
            records::sort(Job {
                inputs: args.files.inputs(kind.tells_codec())?,
                files: &args.files,
                output: &args.output,
                plan,
                unique: args.unique.unique,
                choose: &choose,
                memory: &args.memory,
                checks: &args.checks,
                quiet: args.quiet,
            })
        }
        FileFormat::Numbers(format) => {
            (args.records).refuse_for_others(format.name(), None)?;
            with_key_type!(args.numbers.of_numbers(), T => numbers::sort::<T>(args, format))
        }
    }
}
