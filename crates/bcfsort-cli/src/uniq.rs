//! `uniq`: keeps one of equal neighbours.

mod numbers;

use crate::format::{FileFormat, FormatArgs};
use crate::input::FileArgs;
use crate::records::args::RecordKind;
use crate::records::uniq::{Job, uniq};
use bcfsort_term::fault::Fault;
use bcfsort_term::output::Output;
use bcfsort_term::with_key_type;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of records, or keys, that are read at a time.
pub(crate) const CHUNK_BYTES: u64 = 64 << 20;
const CHUNK_KEYS: usize = 1 << 18;

/// Counts that are written at a time.
const COUNTS: usize = 1 << 13;

const AFTER_HELP: &str = "\
Keeps the first of neighbours that have equal keys. Equal records that do not follow each other \
all stay: sort before, or take 'sort -u', which does both. Lines are equal if all of their bytes \
are or, with -k and orders such as -n, as in 'sort -u'.

Examples:
  wgpu-bcfsort sort -f lines words | wgpu-bcfsort uniq -f lines -c    how often each word occurs
  wgpu-bcfsort uniq sorted.bin -o keys.bin --counts counts.bin        counts of numbers, as u64
  wgpu-bcfsort uniq -f csv --by city -d sorted.csv                    a row of each repeated city";

const DETAILS: &str = "\
The file is read as a stream. It takes 64 MiB for the records, and some more for what is written \
of them.

Exit codes: 0 success, 2 bad usage, input or output, 130 interrupted";

/// Keep the first of equal neighbours in a sorted file, and count them
#[derive(clap::Args)]
#[command(
    mut_arg("files", |files| files.help("Files to read, as one; - is stdin")),
    // As in GNU uniq, -d has another meaning than in GNU sort.
    mut_arg("dictionary_order", |order| order.short(None)),
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}")
)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// File to write, which may be the input; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// text, lines: write the number of equal neighbours in front of each, as GNU uniq does
    #[arg(short, long)]
    count: bool,
    /// Write the numbers of equal neighbours to FILE, each as a little-endian u64
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Keep only records that are repeated, one of each
    #[arg(short = 'd', long, conflicts_with = "unique")]
    repeated: bool,
    /// Keep only records that are not repeated
    #[arg(short, long)]
    unique: bool,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let FormatArgs {
        numbers, records, ..
    } = &args.format;
    let format = FileFormat::or_assumed(args.format.format);
    args.refuse_counts(format)?;
    match format {
        FileFormat::Records(kind) => {
            numbers.refuse_for(kind)?;
            uniq(Job {
                plan: records.plan(kind, false)?,
                inputs: args.files.inputs(kind.tells_codec())?,
                files: &args.files,
                output: &args.output,
                kept: args.kept(),
                counts_in_front: args.count,
                counts: args.counts.as_deref(),
                quiet: args.quiet,
            })
        }
        FileFormat::Numbers(format) => {
            records.refuse_for_others(format.name(), None)?;
            with_key_type!(numbers.of_numbers(), T => numbers::uniq::<T>(args, format))
        }
    }
}

impl Args {
    fn kept(&self) -> Kept {
        match (self.repeated, self.unique) {
            (true, _) => Kept::Repeated,
            (_, true) => Kept::Unique,
            _ => Kept::First,
        }
    }

    /// Fails if counts cannot be where the options have them.
    fn refuse_counts(&self, format: FileFormat) -> Result<(), Fault> {
        let has_lines = match format {
            FileFormat::Numbers(format) => format.name() == "text",
            FileFormat::Records(kind) => kind == RecordKind::Lines,
        };
        if self.count && !has_lines {
            return Err(Fault::Usage(
                "--count is for -f text, lines: --counts FILE has the counts of other records"
                    .to_owned(),
            ));
        }
        if self.counts.as_ref() == Some(&self.output) {
            return Err(Fault::Usage(format!(
                "{}: --counts and --output need two files",
                self.output.display()
            )));
        }
        Ok(())
    }
}

/// Which records stay of those that equal their neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// One of each.
    First,
    /// One of those that are repeated.
    Repeated,
    /// Those that are not repeated.
    Unique,
}

/// Finds and counts equal neighbours. Only the first of them is kept in memory.
pub(crate) struct Groups<U> {
    kept: Kept,
    /// The first record of the group that has not ended.
    first: Vec<U>,
    /// The number of its records; 0 before the first one.
    count: u64,
}

impl<U: Copy> Groups<U> {
    pub(crate) const fn new(kept: Kept) -> Self {
        Self {
            kept,
            first: Vec::new(),
            count: 0,
        }
    }

    /// Adds the next record, and whether it equals the one before. A group that has ended is passed
    /// to `take`, if it is kept: its first record, and the number of its records.
    pub(crate) fn push(&mut self, record: &[U], is_equal: bool, take: &mut impl FnMut(&[U], u64)) {
        if is_equal {
            self.count += 1;
            return;
        }
        self.end(take);
        self.first.extend_from_slice(record);
        self.count = 1;
    }

    /// Ends the last group.
    pub(crate) fn end(&mut self, take: &mut impl FnMut(&[U], u64)) {
        let is_kept = match self.kept {
            Kept::First => self.count > 0,
            Kept::Repeated => self.count > 1,
            Kept::Unique => self.count == 1,
        };
        if is_kept {
            take(&self.first, self.count);
        }
        self.first.clear();
        self.count = 0;
    }
}

/// The count in front of a line, as GNU uniq writes it.
pub(crate) fn push_count(count: u64, text: &mut Vec<u8>) {
    // A vector takes all that is written.
    let _ = write!(text, "{count:7} ");
}

/// The file of counts, if there is one.
pub(crate) struct Counts(Option<Output>);

impl Counts {
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, Fault> {
        Ok(Self(path.map(Output::create).transpose()?))
    }

    pub(crate) fn write(&mut self, counts: &[u64]) -> Result<(), Fault> {
        let Some(output) = &mut self.0 else {
            return Ok(());
        };
        counts.chunks(COUNTS).try_for_each(|counts| {
            let bytes: Vec<u8> = counts.iter().flat_map(|n| n.to_le_bytes()).collect();
            let done = output.write_all(&bytes);
            done.map_err(|error| Fault::io(&output.name, "cannot write", &error))
        })
    }

    /// Completes the output, then the counts.
    pub(crate) fn commit(self, output: Output) -> Result<(), Fault> {
        match self.0 {
            None => output.commit_last(),
            Some(counts) => {
                output.commit()?;
                counts.commit_last()
            }
        }
    }
}
