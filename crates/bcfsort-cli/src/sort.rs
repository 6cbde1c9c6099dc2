//! `sort`: sorts a file.

use crate::input::Input;
use crate::verify::Verifier;
use bcfsort_term::args::{Checks, Choice, Direction, Gpu, Keys, Seed};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::kernel_cache::Cache;
use bcfsort_term::memory::{Memory, check_space};
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::Output;
use bcfsort_term::timings::{Timings, rate, time};
use bcfsort_term::with_key_type;
use bcfsort_testkit::data::{KeyReader, KeyWriter};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use wgpu_bcfsort::internals::host::rank;
use wgpu_bcfsort::{ExternalError, ExternalSorter, Order, RecordFormat, SortKey};

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
Inputs of any size are sorted. An input that needs more than --memory is sorted in parts, which are \
merged by way of a temporary file without a name. It takes the space of the binary keys, and is gone \
when the command ends, whatever ends it.

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
    #[command(flatten, next_help_heading = "Memory")]
    memory: Memory,
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
    let memory = args.memory.bytes();
    let directory = args.memory.directory(output.directory());
    let encoding = args.keys.encoding.format;
    let mut reading = Reading {
        verifier: args.checks.verify.then(|| Verifier::new(order)),
        input: input.name,
        reader: KeyReader::<T, _>::new(input.stream, encoding),
        chunk: usize::try_from(memory / 3 / T::KEY_TYPE.bytes()).unwrap_or(usize::MAX),
    };
    let mut progress = Progress::new(args.quiet);
    let expected_count: Option<u64> = None;

    let fastest = |count| Contender::fastest(count, T::KEY_TYPE, &args.cache, args.quiet);
    let (first, contender) = match (named, expected_count) {
        (Some(contender), _) => (reading.next()?, contender),
        // A device opens while the file is read.
        (None, Some(count)) => std::thread::scope(|scope| {
            let opening = scope.spawn(|| fastest(count));
            let first = reading.next();
            let contender = opening.join().unwrap_or_else(|panic| resume_unwind(panic));
            Ok::<_, Fault>((first?, contender))
        })?,
        (None, None) => {
            let first = reading.next()?;
            let contender = fastest(first.len() as u64);
            (first, contender)
        }
    };
    let format = ByContender {
        contender: &contender,
        order,
        timed: args.checks.timings,
        timings: Mutex::default(),
        key: PhantomData,
    };
    let mut sorter = ExternalSorter::new(&format, memory, &directory);
    let mut chunks = 1;
    let bytes = |count: u64| count * T::KEY_TYPE.bytes();
    let expected = expected_count.map(bytes);
    if reading.at_end()? {
        sorter.push(first).map_err(external)?;
    } else {
        check_space(&directory, expected.unwrap_or(0))?;
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(0);
            scope.spawn(|| reading.send_all(sender));
            let mut pushed = size_of_val(first.as_slice()) as u64;
            sorter.push(first).map_err(external)?;
            for keys in receiver {
                let keys = keys?;
                pushed += size_of_val(keys.as_slice()) as u64;
                sorter.push(keys).map_err(external)?;
                progress.bytes("sorting parts:", pushed, expected);
                chunks += 1;
            }
            Ok::<_, Fault>(())
        })?;
    }

    let count = reading.reader.count();
    let mut verifier = reading.verifier;
    let output_name = output.name.clone();
    let failed = |error| Fault::data(&output_name, &error);
    let mut writer = KeyWriter::<T, _>::new(output, encoding);
    let mut written = 0;
    let mut write = |block: &[T]| {
        if let Some(verifier) = &mut verifier {
            verifier.write(block)?;
        }
        writer.write(block).map_err(failed)?;
        written += size_of_val(block) as u64;
        progress.bytes("writing", written, Some(bytes(count)));
        Ok(())
    };
    sorter.finish(&mut write).map_err(external)?;
    if let Some(verifier) = &verifier {
        verifier.finish()?;
    }
    writer.finish().map_err(failed)?.commit()?;
    drop(progress);
    if args.checks.verify && !args.quiet {
        notice::say(&format!(
            "verified: {count} keys, {}, the same as in the input",
            order.name()
        ));
    }
    if args.checks.timings {
        let mut report = String::new();
        let chunks = match chunks {
            1 => String::new(),
            chunks => format!(", {chunks} parts"),
        };
        let _ = write!(
            report,
            "engine   {}\nadapter  {}\nkeys     {count} {}, {}{chunks}\n{}",
            contender.explain(count, T::KEY_TYPE),
            contender.adapter,
            T::KEY_TYPE,
            order.name(),
            format
                .timings
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .table(count),
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

fn external(error: ExternalError<Fault>) -> Fault {
    match error {
        ExternalError::Records(fault) => fault,
        error => Fault::Usage(error.to_string()),
    }
}

/// The input of a sort, read in chunks.
struct Reading<T, R> {
    verifier: Option<Verifier<T>>,
    input: String,
    reader: KeyReader<T, R>,
    /// Keys in a chunk.
    chunk: usize,
}

impl<T: SortKey, R: io::BufRead> Reading<T, R> {
    fn at_end(&mut self) -> Result<bool, Fault> {
        self.reader
            .at_end()
            .map_err(|error| Fault::data(&self.input, &error))
    }

    /// The keys of the next chunk; none at the end.
    fn next(&mut self) -> Result<Vec<T>, Fault> {
        let keys = self
            .reader
            .read_chunk(self.chunk)
            .map_err(|error| Fault::data(&self.input, &error))?;
        if let Some(verifier) = &mut self.verifier {
            verifier.read(&keys);
        }
        Ok(keys)
    }

    /// Reads each chunk while the receiver works on the one before, until the receiver is gone.
    fn send_all(&mut self, sender: SyncSender<Result<Vec<T>, Fault>>) {
        loop {
            let chunk = self.next();
            let is_last = chunk.as_ref().map_or(true, Vec::is_empty);
            if is_last && chunk.is_ok() || sender.send(chunk).is_err() || is_last {
                break;
            }
        }
    }
}

/// Keys alone, sorted by a contender.
struct ByContender<'a, T> {
    contender: &'a Contender,
    order: Order,
    timed: bool,
    timings: Mutex<Timings>,
    key: PhantomData<fn() -> T>,
}

impl<T: SortKey> ByContender<'_, T> {
    fn rank(&self, key: T) -> u64 {
        rank(key, self.order)
    }
}

impl<T: SortKey> RecordFormat for &ByContender<'_, T> {
    type Unit = T;
    type Key = u64;
    type Error = Fault;
    const OVERHEAD: usize = 0;

    fn sort(
        &self,
        keys: &mut [T],
        take: &mut dyn FnMut(&[T]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let timings = self.contender.sort_to(keys, self.order, self.timed, take)?;
        let mut sum = self.timings.lock().unwrap_or_else(PoisonError::into_inner);
        sum.add(&timings);
        Ok(())
    }

    fn key(&self, keys: &[T]) -> u64 {
        self.rank(keys[0])
    }

    fn count(&self, keys: &[T]) -> usize {
        keys.len()
    }

    fn cut(&self, keys: &[T], units: usize) -> usize {
        units.clamp(1, keys.len())
    }

    fn split(&self, sorted: &[T], &key: &u64, or_equal: bool) -> usize {
        sorted.partition_point(|&each| {
            let rank = self.rank(each);
            rank < key || (or_equal && rank == key)
        })
    }
}
