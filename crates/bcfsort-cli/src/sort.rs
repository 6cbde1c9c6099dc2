//! `sort`: sorts a file.

use crate::input::Input;
use crate::spill::Spill;
use crate::verify::Verifier;
use bcfsort_term::args::{Checks, Choice, Direction, Gpu, Keys, Seed, positive};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::kernel_cache::Cache;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::Output;
use bcfsort_term::timings::{Timings, rate, time};
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{KeyReader, KeyWriter};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Instant;
use wgpu_bcfsort::internals::host::KWayMerge;
use wgpu_bcfsort::{Order, SortKey};

/// Largest chunk in bytes. Longer inputs are sorted in chunks, then merged.
const CHUNK: u64 = 1 << 30;

/// Number of merged keys passed to the writer at a time.
const BLOCK: usize = 1 << 16;

const ENGINE: &str = "Engine";

const AFTER_HELP: &str = "\
The result is the same bytes whichever engine sorts. Floats are in total order: -NaN, -inf, ..., \
-0, +0, ..., inf, NaN. Text is written in canonical form: 007 becomes 7, 0.100 becomes 0.1, and \
1e5 becomes 100000. An output file appears complete or not at all. For the column of a CSV file, \
use the library: examples/csv_records.rs.

Examples:
  wgpu-bcfsort sort keys.bin -o sorted.bin         sort a binary file of u32 numbers
  wgpu-bcfsort sort -f text -t f64 data.txt        sort text, to stdout
  seq 1000 | wgpu-bcfsort sort -f text -r | head   largest first, in a pipe";

const DETAILS: &str = "\
Inputs of any size are sorted: an input over 1 GiB, or too large for the GPU, is sorted in chunks, \
which are merged from a temporary file next to the output.

Exit codes: 0 success, 2 bad usage, input or output, 3 GPU failure or failed --verify, \
130 interrupted";

/// Sort a file of numbers, binary or text. Uses the GPU, or the CPU if that is faster
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
    #[command(flatten)]
    keys: Keys,
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
    /// Sort chunks of COUNT, then merge [default: what fits, at most 1 GiB]
    #[arg(long, value_name = "COUNT", help_heading = ENGINE, value_parser = positive)]
    chunk: Option<u64>,
    #[command(flatten, next_help_heading = "Checks")]
    checks: Checks,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    with_key_type!(args.keys.key, T => sort::<T>(args))
}

fn sort<T: SortKey>(args: &Args) -> Result<(), Fault> {
    let started = Instant::now();
    // Cheap checks first: a typing error is reported before a device is opened.
    let input = Input::open(&args.input)?;
    let output = Output::create(&args.output)?;
    args.seed.refuse_for_others(args.engine)?;
    let named = Contender::named(args.engine, &args.gpu, &args.seed, &args.cache, args.quiet)?;
    let order = args.direction.order();
    let chunk = args.chunk.unwrap_or(CHUNK / T::KEY_TYPE.bytes());
    let chunk_within = |max: u64| usize::try_from(chunk.min(max).max(1)).unwrap_or(usize::MAX);
    let max_len = |contender: &Contender| contender.max_len(T::KEY_TYPE);
    let mut job = Job {
        order,
        timed: args.checks.timings,
        timings: Timings::default(),
        progress: Progress::new(args.quiet),
        verifier: args.checks.verify.then(|| Verifier::new(order)),
        chunks: 0,
        input: input.name,
        reader: KeyReader::<T, _>::new(input.stream, args.keys.encoding.format),
    };

    let output_name = output.name.clone();
    let directory = output.directory();
    let mut writer = KeyWriter::<T, _>::new(output, args.keys.encoding.format);
    let failed = |error| Fault::data(&output_name, &error);
    let max = named.as_ref().map_or(u64::MAX, max_len);
    let mut first = job.read(chunk_within(max))?;
    let contender = named.unwrap_or_else(|| {
        Contender::fastest(first.len() as u64, T::KEY_TYPE, &args.cache, args.quiet)
    });
    // A GPU opened now may sort fewer keys at once than were read.
    let chunk = chunk_within(max_len(&contender));
    if first.len() <= chunk && job.at_end()? {
        job.sort(&contender, &mut first)?;
        if let Some(verifier) = &mut job.verifier {
            verifier.write(&first)?;
            verifier.finish()?;
        }
        job.progress.show(|| "writing".to_owned());
        writer.write(&first).map_err(failed)?;
    } else {
        let mut spill = Spill::create(&directory)?;
        for keys in first.chunks_mut(chunk) {
            job.sort(&contender, keys)?;
            spill.push(keys)?;
        }
        drop(first);
        while !job.at_end()? {
            let mut keys = job.read(chunk)?;
            job.sort(&contender, &mut keys)?;
            spill.push(&keys)?;
        }
        job.merge(spill, |block| writer.write(block).map_err(failed))?;
    }
    let count = job.reader.count();
    writer.finish().map_err(failed)?.commit()?;
    drop(job.progress);
    if args.checks.verify && !args.quiet {
        notice::say(&format!(
            "verified: {count} keys, {}, the same as in the input",
            order.name()
        ));
    }
    if args.checks.timings {
        let mut report = String::new();
        let chunks = match job.chunks {
            0 | 1 => String::new(),
            chunks => format!(", {chunks} chunks"),
        };
        let _ = write!(
            report,
            "engine   {}\nadapter  {}\nkeys     {count} {}, {}{chunks}\n{}",
            contender.explain(count, T::KEY_TYPE),
            contender.adapter,
            T::KEY_TYPE,
            order.name(),
            job.timings.table(count),
        );
        let total = started.elapsed();
        let _ = writeln!(
            report,
            "{:<43} {:>12}  {}",
            "total, file I/O included",
            time(total),
            rate(count, total)
        );
        let _ = io::stderr().write_all(report.as_bytes());
    }
    Ok(())
}

/// A sort in progress.
struct Job<T, R> {
    order: Order,
    timed: bool,
    timings: Timings,
    progress: Progress,
    verifier: Option<Verifier<T>>,
    chunks: u64,
    input: String,
    reader: KeyReader<T, R>,
}

impl<T: SortKey, R: io::BufRead> Job<T, R> {
    fn at_end(&mut self) -> Result<bool, Fault> {
        self.reader
            .at_end()
            .map_err(|error| Fault::data(&self.input, &error))
    }

    /// Reads at most `chunk` keys.
    fn read(&mut self, chunk: usize) -> Result<Vec<T>, Fault> {
        let read = self.reader.count();
        self.progress
            .show(|| format!("reading, {read} keys so far"));
        let keys = self
            .reader
            .read_chunk(chunk)
            .map_err(|error| Fault::data(&self.input, &error))?;
        if let Some(verifier) = &mut self.verifier {
            verifier.read(&keys);
        }
        Ok(keys)
    }

    /// Sorts a chunk.
    fn sort(&mut self, contender: &Contender, keys: &mut [T]) -> Result<(), Fault> {
        let read = self.reader.count();
        self.progress
            .show(|| format!("sorting, {read} keys so far"));
        if self.timed {
            self.timings.add(&contender.sort_timed(keys, self.order)?);
        } else {
            contender.sort(keys, self.order)?;
        }
        self.chunks += 1;
        Ok(())
    }

    /// Merges the sorted chunks.
    fn merge(
        &mut self,
        spill: Spill<T>,
        mut write: impl FnMut(&[T]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let started = Instant::now();
        let total = self.reader.count();
        let mut merged = KWayMerge::new(spill.into_runs(), self.order);
        let mut block = Vec::with_capacity(BLOCK);
        let mut written = 0;
        loop {
            block.clear();
            for key in merged.by_ref().take(BLOCK) {
                block.push(key?);
            }
            if block.is_empty() {
                break;
            }
            if let Some(verifier) = &mut self.verifier {
                verifier.write(&block)?;
            }
            write(&block)?;
            written += block.len() as u64;
            self.progress
                .show(|| format!("merging, {written} of {total} keys"));
        }
        self.timings.merge += started.elapsed();
        match &self.verifier {
            Some(verifier) => verifier.finish(),
            None => Ok(()),
        }
    }
}
