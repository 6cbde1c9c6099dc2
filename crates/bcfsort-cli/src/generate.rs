//! `gen`: writes a data set.

use bcfsort_term::args::{Keys, count, pattern};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::Output;
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{KeyWriter, Pattern, Range, Spec, generate};
use std::path::PathBuf;
use wgpu_bcfsort::SortKey;

const AFTER_HELP: &str = "\
The same pattern, count, type, parameters and seed give the same bytes on every machine.

The number k is the float k; where floats lack an integer, a key drawn from a range is the \
nearest float, and the keys of numbered patterns (distinct, ascending and so on) go on with the \
next float, so that they stay different.

Examples:
  wgpu-bcfsort gen random -n 2^24 -o keys.bin
  wgpu-bcfsort gen random -n 1M -t f32 --range -1000..1000 -f text
  wgpu-bcfsort gen duplicates -n 10M --distinct 2250 --seed 7 -o keys.bin
  wgpu-bcfsort gen adversary -n 35651584 -o keys.bin      32 x 17 x 2^16 keys";

/// Write a data set
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// What kind of keys
    #[arg(value_parser = pattern())]
    pattern: Pattern,
    /// How many: 1000, 2^20, 10K, 10M, 1G
    #[arg(short = 'n', long, value_parser = count)]
    count: u64,
    #[command(flatten)]
    keys: Keys,
    /// Values to draw from: full for random bits, or LO..HI, both included
    #[arg(long, value_name = "full|LO..HI", allow_hyphen_values = true)]
    range: Option<Range>,
    /// How many different keys
    #[arg(long, value_name = "D", value_parser = count)]
    distinct: Option<u64>,
    /// How many sorted runs
    #[arg(long, value_name = "R", value_parser = count)]
    runs: Option<u64>,
    /// How many keys a lane merges in the sort that the adversary aims at
    #[arg(long, value_name = "E")]
    items: Option<u32>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File to write, - for stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
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
    let mut progress = Progress::new(false);
    progress.show(|| format!("making {} keys", args.count));
    let keys = generate::<T>(&spec).map_err(|error| Fault::Usage(error.to_string()))?;
    progress.show(|| format!("writing {} keys", args.count));
    let name = output.name.clone();
    let failed = |error| Fault::data(&name, &error);
    let mut writer = KeyWriter::new(output, args.keys.format);
    writer.write(&keys).map_err(failed)?;
    writer.finish().map_err(failed)?.commit()
}
