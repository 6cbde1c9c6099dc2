//! `gen`: generates a data set.

use bcfsort_data::{KeyWriter, Pattern, Range, Spec, generate};
use bcfsort_term::args::{Keys, count, count_of, listed, pattern};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::Output;
use bcfsort_term::with_key_type;
use std::path::PathBuf;
use wgpu_bcfsort::SortKey;

const DETAILS: &str = "\
The same pattern, count, type, parameters and seed give the same bytes on every machine.

Floats have the same values as integers. Where a float type lacks an integer, a number drawn from \
a range is rounded to the nearest float, and numbered patterns (distinct, ascending and so on) go \
on with the next float, so that all stay different.";

const EXAMPLES: &str = "\
Examples:
  wgpu-bcfsort gen random -n 10M -o keys.bin
  wgpu-bcfsort gen random -n 1M --type f32 --range -1000..1000 -f text
  wgpu-bcfsort gen duplicates -n 10M --distinct 2250 --seed 7 -o keys.bin";

fn after_help() -> String {
    let patterns = Pattern::ALL.iter();
    let patterns = listed(patterns.map(|pattern| (pattern.name(), pattern.describe())));
    format!("Patterns:{patterns}\n\n{EXAMPLES}")
}

/// Generate test data
#[derive(clap::Args)]
#[command(
    after_help = after_help(),
    after_long_help = format!("{DETAILS}\n\n{}", after_help())
)]
pub(crate) struct Args {
    /// Kind of data, from the list below
    #[arg(hide_possible_values = true, value_parser = pattern())]
    pattern: Pattern,
    /// How many numbers: 1000, 2^20, 1e6, 10K, 1.5M
    #[arg(short = 'n', long, value_parser = count)]
    count: u64,
    #[command(flatten)]
    keys: Keys,
    /// Range to draw from: full (random bits), or whole numbers LO..HI, both included
    #[arg(long, value_name = "full|LO..HI", allow_hyphen_values = true)]
    range: Option<Range>,
    /// Number of distinct values (D)
    #[arg(long, value_name = "D", value_parser = count)]
    distinct: Option<u64>,
    /// Number of sorted runs
    #[arg(long, value_name = "R", value_parser = count)]
    runs: Option<u64>,
    /// Keys per lane (E) in the merge that the adversary pattern attacks
    #[arg(long, value_name = "E", value_parser = count_of::<u32>)]
    items: Option<u32>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count)]
    seed: u64,
    /// File to write; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    with_key_type!(args.keys.key, T => write::<T>(args))
}

fn write<T: SortKey>(args: &Args) -> Result<(), Fault> {
    let mut spec = Spec::new(args.pattern, args.count).seed(args.seed);
    spec.range = args.range;
    spec.distinct = args.distinct;
    spec.runs = args.runs;
    spec.items = args.items;
    let output = Output::create(&args.output)?;
    let mut progress = Progress::new(args.quiet);
    progress.show(|| format!("generating {} keys", args.count));
    let keys = generate::<T>(&spec).map_err(|error| Fault::Usage(error.to_string()))?;
    progress.show(|| format!("writing {} keys", args.count));
    let name = output.name.clone();
    let failed = |error| Fault::data(&name, &error);
    let mut writer = KeyWriter::new(output, args.keys.encoding.format);
    writer.write(&keys).map_err(failed)?;
    writer.finish().map_err(failed)?.commit_last()
}
