//! `check`: says whether a file is sorted.

use crate::input::Input;
use crate::verify::OrderCheck;
use bcfsort_term::args::{Direction, Keys};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::print;
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{Format, KeyReader, KeyWriter};
use std::cmp::Ordering;
use std::path::PathBuf;
use wgpu_bcfsort::{Order, SortKey};

/// Number of keys read at a time.
const CHUNK: usize = 1 << 18;

const AFTER_HELP: &str = "\
Prints nothing if the numbers are sorted. If not, prints the first one that is out of order: its \
index (from 0) in binary files, its line (from 1) in text. With -q, only the exit code tells. The \
file does not say its type: give -t if it is not u32.

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
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    direction: Direction,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    with_key_type!(args.keys.key, T => check::<T>(args))
}

fn check<T: SortKey>(args: &Args) -> Result<(), Fault> {
    let input = Input::open(&args.input)?;
    let mut reader = KeyReader::<T, _>::new(input.stream, args.keys.encoding.format);
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
            let location = match args.keys.encoding.format {
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
            let printed = print(&format!(
                "{}: not sorted: {location}: {} after {}{hint}\n",
                input.name,
                text(found.key),
                text(found.before)
            ));
            // A closed pipe does not change the result of the check.
            return match printed {
                Ok(()) | Err(Fault::ClosedPipe) => Err(Fault::NotSorted),
                Err(fault) => Err(fault),
            };
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
