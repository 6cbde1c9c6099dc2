//! `check`: says whether a file is sorted.

use crate::format::{FileFormat, FormatArgs, NumberType, Unique};
use crate::input::{Decompress, Input, Inputs};
use crate::ordered::{Disorder, OrderedKeys, Place, disorder_of};
use crate::records;
use crate::records::args::{RecordArgs, RecordKind};
use crate::records::gensort::Summary;
use bcfsort_data::Format;
use bcfsort_term::args::Direction;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{Progress, say};
use bcfsort_term::output::print;
use bcfsort_term::with_key_type;
use std::path::PathBuf;
use wgpu_bcfsort::SortKey;

/// Number of keys read at a time.
const CHUNK: usize = 1 << 18;

const AFTER_HELP: &str = "\
Prints nothing if the file is sorted. If not, prints the first number or record that is out of \
order: its line (from 1) in text, its index (from 0) in other files. With -q, only the exit code \
tells. The file does not say its format, type and keys: give them as to 'sort'. Of records of the \
sort benchmark (-f gensort), prints their number, the sum of their CRC-32 and the number of equal \
neighbours.

Exit codes: 0 sorted, 1 not sorted, 2 bad usage or input, 130 interrupted

Examples:
  wgpu-bcfsort check sorted.bin
  wgpu-bcfsort check -f csv --by price:num sorted.csv
  wgpu-bcfsort sort keys.bin | wgpu-bcfsort check && echo sorted";

/// Check whether a file of numbers or records is sorted
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// File to check; - is stdin
    #[arg(default_value = "-")]
    input: PathBuf,
    #[command(flatten)]
    decompress: Decompress,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    direction: Direction,
    #[command(flatten)]
    unique: Unique,
    #[arg(from_global)]
    quiet: bool,
}

/// What to check.
pub(crate) struct Job<'a> {
    pub(crate) format: Option<FileFormat>,
    pub(crate) numbers: &'a NumberType,
    pub(crate) records: &'a RecordArgs,
    pub(crate) direction: &'a Direction,
    /// Equal keys are out of order.
    pub(crate) unique: bool,
    pub(crate) report: Report,
}

/// Where to print what is out of order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    Nowhere,
    Stdout,
    /// As GNU sort does.
    Stderr,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let job = Job {
        format: args.format.format,
        numbers: &args.format.numbers,
        records: &args.format.records,
        direction: &args.direction,
        unique: args.unique.unique,
        report: if args.quiet {
            Report::Nowhere
        } else {
            Report::Stdout
        },
    };
    let open = |tells_codec| args.decompress.input(&args.input, tells_codec);
    match job.format {
        Some(FileFormat::Records(RecordKind::Gensort)) if !job.unique => {
            check_gensort(&job, open(false)?)
        }
        _ => job.run(open),
    }
}

fn check_gensort(job: &Job, mut inputs: Inputs) -> Result<(), Fault> {
    // Refuses the options of other formats.
    job.plan(RecordKind::Gensort)?;
    let mut input = inputs.first()?;
    let summary = Summary::read(&input.name, &mut input.stream, job.direction.order())?;
    if job.report != Report::Nowhere {
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

impl Job<'_> {
    /// Checks the one file that `open` opens, which is told whether its first bytes can say that it
    /// is compressed. Fails if it is not sorted.
    pub(crate) fn run(
        &self,
        open: impl FnOnce(bool) -> Result<Inputs, Fault>,
    ) -> Result<(), Fault> {
        let format = FileFormat::or_assumed(self.format);
        let open = || open(format.tells_codec())?.only();
        let quiet = self.report == Report::Nowhere;
        let found = match format {
            FileFormat::Records(kind) => {
                let plan = self.plan(kind)?;
                records::check::check(open()?, plan, self.unique, quiet)?
            }
            FileFormat::Numbers(format) => {
                self.records.refuse_for_others(format.name(), None)?;
                let key = self.numbers.of_numbers();
                let input = open()?.first()?;
                with_key_type!(key, T => self.check_numbers::<T>(input, format))?
            }
        };
        found.map_or(Ok(()), |found| self.not_sorted(&found))
    }

    fn plan(&self, kind: RecordKind) -> Result<records::args::Plan, Fault> {
        self.numbers.refuse_for(kind)?;
        self.records.plan(kind, self.direction.is_reverse())
    }

    /// Finds the first number that is out of order.
    fn check_numbers<T: SortKey>(
        &self,
        input: Input,
        format: Format,
    ) -> Result<Option<Disorder>, Fault> {
        let order = self.direction.order();
        let mut keys = OrderedKeys::<T>::new(input, format, order, self.unique, u64::MAX);
        let mut progress = Progress::new(self.report == Report::Nowhere);
        disorder_of(|| {
            let read = keys.count();
            progress.show(|| format!("checking, {read} keys so far"));
            keys.next(CHUNK)
        })
    }

    /// Reports what is out of order.
    fn not_sorted(&self, found: &Disorder) -> Result<(), Fault> {
        match self.report {
            Report::Nowhere => {}
            Report::Stdout => print_all(&(found.message() + "\n"))?,
            Report::Stderr => {
                let name = if found.name == "stdin" {
                    "-"
                } else {
                    &found.name
                };
                let (Place::Line(place) | Place::Index(place)) = found.place;
                // Before an empty line, too, there is the blank of GNU sort.
                let text =
                    (found.texts.as_ref()).map_or(String::new(), |[text, _]| format!(" {text}"));
                say(&format!("{name}:{place}: disorder:{text}"));
            }
        }
        Err(Fault::NotSorted)
    }
}
