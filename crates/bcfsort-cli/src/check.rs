//! `check`: says whether a file is sorted.

use crate::input::Input;
use crate::records::gensort::Summary;
use crate::verify::OrderCheck;
use bcfsort_term::args::{Direction, key_type};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::print;
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{Format, KeyReader, KeyWriter};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::cmp::Ordering;
use std::path::PathBuf;
use wgpu_bcfsort::{KeyType, Order, SortKey};

/// Number of keys read at a time.
const CHUNK: usize = 1 << 18;

const AFTER_HELP: &str = "\
Prints nothing if the numbers are sorted. If not, prints the first one that is out of order: its \
index (from 0) in binary files, its line (from 1) in text. With -q, only the exit code tells. The \
file does not say its type: give -t if it is not u32. Of records of the sort benchmark \
(-f gensort), prints their number, the sum of their CRC-32 and the number of equal neighbours.

Exit codes: 0 sorted, 1 not sorted, 2 bad usage or input, 130 interrupted

Examples:
  wgpu-bcfsort check sorted.bin
  wgpu-bcfsort sort keys.bin | wgpu-bcfsort check && echo sorted";

/// Check whether a file of numbers is sorted
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// File to check; - is stdin
    #[arg(default_value = "-")]
    input: PathBuf,
    /// Number type [default: u32]
    #[arg(short = 't', long = "type", value_name = "TYPE", value_parser = key_type())]
    key: Option<KeyType>,
    /// raw: little-endian binary; text: one number per line; gensort: records of 100 bytes, sorted
    /// by the first 10 [default: raw]
    #[arg(short, long, hide_possible_values = true, value_parser = CheckFormat::parser())]
    format: Option<CheckFormat>,
    #[command(flatten)]
    direction: Direction,
    #[arg(from_global)]
    quiet: bool,
}

/// A format that can be checked.
#[derive(Clone, Copy)]
enum CheckFormat {
    Keys(Format),
    Gensort,
}

impl CheckFormat {
    fn parser() -> impl TypedValueParser<Value = Self> {
        let names = Format::ALL.map(Format::name);
        PossibleValuesParser::new(names.into_iter().chain(["gensort"])).map(|name| {
            // The parser accepts only these names.
            name.parse().map_or(Self::Gensort, Self::Keys)
        })
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let format = match args.format {
        Some(CheckFormat::Gensort) => return check_gensort(args),
        Some(CheckFormat::Keys(format)) => format,
        None => Format::AssumedRaw,
    };
    with_key_type!(args.key.unwrap_or(KeyType::U32), T => check::<T>(args, format))
}

fn check_gensort(args: &Args) -> Result<(), Fault> {
    if args.key.is_some() {
        return Err(Fault::Usage(
            "-t is for numbers: -f gensort has keys of 10 bytes".to_owned(),
        ));
    }
    let mut input = Input::open(&args.input)?;
    let summary = Summary::read(&input.name, &mut input.stream, args.direction.order())?;
    if !args.quiet {
        print_all(&summary.report(&input.name))?;
    }
    match summary.first_unordered {
        Some(_) => Err(Fault::NotSorted),
        None => Ok(()),
    }
}

/// Prints a result of the check, which a closed pipe does not change.
fn print_all(text: &str) -> Result<(), Fault> {
    match print(text) {
        Ok(()) | Err(Fault::ClosedPipe) => Ok(()),
        Err(fault) => Err(fault),
    }
}

fn check<T: SortKey>(args: &Args, format: Format) -> Result<(), Fault> {
    let input = match format {
        Format::Text => Input::open_text(&args.input)?,
        _ => Input::open(&args.input)?,
    };
    let mut reader = KeyReader::<T, _>::new(input.stream, format);
    let mut check = OrderCheck::new(args.direction.order());
    let mut progress = Progress::new(args.quiet);
    loop {
        let read = reader.count();
        progress.show(|| format!("checking, {read} keys so far"));
        let keys = reader
            .read_chunk(CHUNK)
            .map_err(|error| Fault::data(&input.name, &error))?;
        if keys.is_empty() {
            return Ok(());
        }
        if let Some(found) = check.add(&keys) {
            if args.quiet {
                return Err(Fault::NotSorted);
            }
            let location = match format {
                Format::Text => format!("line {}", found.index + 1),
                _ => format!("index {}", found.index),
            };
            // The hint is given if all keys of the first chunk descend.
            let descends = |a: &T, b: &T| a.total_order(b) != Ordering::Less;
            let is_first = found.index < keys.len() as u64;
            let hint = match args.direction.order() {
                Order::Ascending if is_first && keys.is_sorted_by(descends) => " (descending? -r)",
                _ => "",
            };
            drop(progress);
            print_all(&format!(
                "{}: not sorted: {location}: {} after {}{hint}\n",
                input.name,
                text(found.key),
                text(found.before)
            ))?;
            return Err(Fault::NotSorted);
        }
    }
}

/// The key in the text format.
fn text<T: SortKey>(key: T) -> String {
    let mut writer = KeyWriter::new(Vec::new(), Format::Text);
    let written = writer.write(&[key]).and_then(|()| writer.finish());
    written.map_or_else(
        |error| error.to_string(),
        |text| String::from_utf8_lossy(&text).trim().to_owned(),
    )
}
