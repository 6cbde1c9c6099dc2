//! `sort`: sorts a file.

mod numbers;

use crate::records::args::{RecordArgs, RecordKind};
use crate::records::{self, Job};
use bcfsort_term::args::{Checks, Choice, Direction, Gpu, Seed, one_of};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::kernel_cache::Cache;
use bcfsort_term::memory::Memory;
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{Format, UnknownFormat};
use std::path::PathBuf;
use std::str::FromStr;
use wgpu_bcfsort::{ExternalError, KeyType};

const ENGINE: &str = "Engine and memory";

const AFTER_HELP: &str = "\
The result is the same bytes whichever engine sorts. Numbers in text are written in canonical \
form: 007 becomes 7, and 1e5 becomes 100000. Records are moved whole, unchanged, and those with \
equal keys keep their order. An output file appears complete or not at all.

Examples:
  wgpu-bcfsort sort keys.bin -o sorted.bin         sort a binary file of u32 numbers
  wgpu-bcfsort sort -f text -t f64 data.txt        sort text, to stdout
  wgpu-bcfsort sort -f csv --by price:f64 in.csv   rows of a table, by a column
  wgpu-bcfsort sort -f lines -t: -k3n /etc/passwd  lines by a field, as GNU sort -s does";

const DETAILS: &str = "\
An input that needs more than --memory is sorted in parts, which are merged by way of a temporary \
file without a name. It takes the space of the records or of the binary numbers, and is gone when \
the command ends, whatever ends it. Memory that is too little for the input is an error, which says \
so.

Floats are in total order: -NaN, -inf, ..., -0, +0, ..., inf, NaN.

Exit codes: 0 success, 2 bad usage, input or output, 3 GPU failure or failed --verify, \
130 interrupted";

/// Sort a file of numbers or records. Uses the GPU, or the CPU if that is faster
#[derive(clap::Args)]
#[command(
    next_help_heading = "Input and output",
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}")
)]
pub(crate) struct Args {
    /// File to sort; - is stdin
    #[arg(default_value = "-", help_heading = None::<&str>)]
    input: PathBuf,
    /// File to write, which may be the input; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// raw, text: numbers; lines, csv, tsv, fixed, gensort: records [default: raw]
    ///
    /// raw: little-endian numbers; text: a number per line; lines: text lines; csv, tsv: tables;
    /// fixed: structs of one size; gensort: the sort benchmark's records of 100 bytes. Without -f,
    /// an input that looks like text is refused. Raw numbers and structs are written to a terminal
    /// only with -o -.
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        value_parser = one_of::<FileFormat>(FileFormat::names())
    )]
    format: Option<FileFormat>,
    /// raw, text: number type [default: u32]; lines, csv, tsv: field separator
    #[arg(short = 't', long = "type", value_name = "TYPE", value_parser = type_or_separator)]
    of_t: Option<String>,
    #[command(flatten, next_help_heading = "Order")]
    records: RecordArgs,
    #[command(flatten, next_help_heading = "Order")]
    direction: Direction,
    /// Engine to sort with; auto: the fastest for this input
    #[arg(
        long,
        default_value = "auto",
        help_heading = ENGINE,
        value_parser = Choice::parser(Choice::all())
    )]
    engine: Choice,
    #[command(flatten, next_help_heading = ENGINE)]
    gpu: Gpu,
    #[command(flatten, next_help_heading = ENGINE)]
    seed: Seed,
    #[command(flatten, next_help_heading = ENGINE)]
    cache: Cache,
    #[command(flatten, next_help_heading = ENGINE)]
    memory: Memory,
    #[command(flatten, next_help_heading = "Checks")]
    checks: Checks,
    #[arg(from_global)]
    quiet: bool,
}

/// The format of a file to sort.
#[derive(Clone, Copy)]
enum FileFormat {
    Numbers(Format),
    Records(RecordKind),
}

impl FileFormat {
    fn names() -> impl Iterator<Item = &'static str> {
        let records = RecordKind::ALL.map(RecordKind::name);
        Format::ALL.map(Format::name).into_iter().chain(records)
    }
}

impl FromStr for FileFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let records = name.parse().map(Self::Records);
        records.or_else(|_| name.parse().map(Self::Numbers))
    }
}

/// Checks the value of -t, as far as all formats have it.
fn type_or_separator(text: &str) -> Result<String, String> {
    let is_separator = text.len() == 1 || matches!(text, "\\t" | "\\0");
    if is_separator || whole_word_type(text).is_some() {
        return Ok(text.to_owned());
    }
    let types = KeyType::WHOLE_WORDS.map(KeyType::name).join(", ");
    Err(format!("a type is one of {types}; a separator is one byte"))
}

fn whole_word_type(name: &str) -> Option<KeyType> {
    let mut types = KeyType::WHOLE_WORDS.into_iter();
    types.find(|key| key.name() == name)
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let of_t = args.of_t.as_deref();
    match args.format {
        Some(FileFormat::Records(kind)) => records::sort(Job {
            input: &args.input,
            output: &args.output,
            plan: args.records.plan(kind, of_t, args.direction.is_reverse())?,
            choose: &|count| args.engine_for_records(count),
            memory: &args.memory,
            verify: args.checks.verify,
            quiet: args.quiet,
        }),
        numbers => {
            let format = match numbers {
                Some(FileFormat::Numbers(format)) => format,
                _ => Format::AssumedRaw,
            };
            (args.records).refuse_for_others(format.name(), None)?;
            let key = whole_word_type(of_t.unwrap_or("u32")).ok_or_else(|| {
                Fault::Usage(format!(
                    "-t is the type of the numbers in -f {}: separators are for -f lines, csv and \
                     tsv",
                    format.name()
                ))
            })?;
            with_key_type!(key, T => numbers::sort::<T>(args, format))
        }
    }
}

impl Args {
    /// The engine that the options name; `None` if the input decides.
    fn named_engine(&self) -> Result<Option<Contender>, Fault> {
        self.seed.refuse_for_others(self.engine)?;
        Contender::named(self.engine, &self.gpu, &self.seed, &self.cache, self.quiet)
    }

    fn engine_for_records(&self, count: u64) -> Result<Contender, Fault> {
        let fastest = || Contender::fastest(count, KeyType::U64, &self.cache, self.quiet);
        Ok(self.named_engine()?.unwrap_or_else(fastest))
    }
}

/// The fault that ended an external sort.
pub(crate) fn external(error: ExternalError<Fault>) -> Fault {
    match error {
        ExternalError::Records(fault) => fault,
        error => Fault::Usage(error.to_string()),
    }
}
