//! `argsort`: computes the indices that sort a file of numbers.

use crate::input::FileArgs;
use crate::keys::{Keys as KeyFiles, KeysMemory};
use crate::sort::EngineArgs;
use bcfsort_auto::Work;
use bcfsort_data::{Format, KeyWriter};
use bcfsort_term::args::{Checks, Direction, Keys};
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::{at_least_1m, or_default};
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::Output;
use bcfsort_term::timings::{self, Timings};
use bcfsort_term::with_key_type;
use rayon::prelude::*;
use std::path::PathBuf;
use std::time::Instant;
use wgpu_bcfsort::{KeyType, Order, SortKey};

/// Bytes of memory for a key: its rank, twice while the CPU sorts, and indices.
const BYTES_PER_KEY: u64 = 28;

/// The most keys that indices of 32 bits count.
const MOST_KEYS: u64 = u32::MAX as u64;

/// Indices written at a time.
const BLOCK: usize = 1 << 20;

const AFTER_HELP: &str = "\
The output has, for each key of the sorted order, its index in the input, counted from 0: a \
little-endian u32 with -f raw, a line with -f text. Equal keys keep their order, also with -r, so \
there is one result, whichever engine sorts. Floats are in total order: -NaN, -inf, ..., -0, +0, \
..., inf, NaN.

Examples:
  wgpu-bcfsort argsort keys.bin -o indices.bin
  wgpu-bcfsort argsort --type f64 -f text -r scores.txt | head -n 3   where the 3 largest are
  printf '30\\n10\\n20\\n' | wgpu-bcfsort argsort -f text               prints 1 2 0

In Python, keys[numpy.fromfile('indices.bin', '<u4')] are the sorted keys.";

const DETAILS: &str = "\
An argsort works in memory alone: it takes 28 bytes for a key, and at most 4294967295 keys. With \
-f text, the index of a number is that of its line. Several files count as one: the indices go on \
from one file to the next.

Exit codes: 0 success, 2 bad usage, input or output, 3 GPU failure or failed --verify, \
130 interrupted";

/// Compute the indices that sort a file of numbers. Stable
#[derive(clap::Args)]
#[command(
    next_help_heading = "Input and output",
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}")
)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// File of indices to write; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten, next_help_heading = "Order")]
    direction: Direction,
    #[command(flatten)]
    engine: EngineArgs,
    /// Memory for the data, e.g. 500M or 16G [default: half of what is free]
    ///
    /// More keys than fit are an error. The memory of the GPU and its driver comes on top.
    #[arg(
        short = 'S',
        long,
        value_name = "BYTES",
        value_parser = at_least_1m,
        help_heading = "Engine and memory"
    )]
    memory: Option<u64>,
    #[command(flatten, next_help_heading = "Checks")]
    checks: Checks,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    with_key_type!(args.keys.key, T => argsort::<T>(args))
}

fn argsort<T: SortKey>(args: &Args) -> Result<(), Fault> {
    let started = Instant::now();
    // Cheap checks first: a typing error is reported before a device is opened.
    let encoding = args.keys.encoding.format;
    let inputs = args.files.inputs(encoding == Format::Text)?;
    let memory = or_default(args.memory);
    // Text needs no share of its own: reading and writing take less of a key's bytes than sorting.
    let text_at_once = KeysMemory::new(memory, encoding).text_at_once;
    let keys = KeyFiles::<T>::open(inputs, encoding, text_at_once)?;
    let output = args.files.output(&args.output)?;
    let named = args.engine.named(args.quiet)?;
    let order = args.direction.order();
    let mut progress = Progress::new(args.quiet);
    let mut reading = Reading {
        keys,
        is_text: encoding == Format::Text,
        order,
        memory,
    };
    // Too many keys are an error, for which no device is opened.
    let most = most_keys(reading.memory);
    let expected = reading.keys.expected().filter(|&count| count <= most);
    let (ranks, contender) = args.engine.open_beside(
        named,
        (Work::Argsort, expected, KeyType::U64),
        args.quiet,
        || reading.ranks(),
    )?;

    let count = ranks.len() as u64;
    progress.show(|| format!("sorting {count} keys"));
    let sorting = Instant::now();
    let indices = contender.argsort(&ranks)?;
    let taken = sorting.elapsed();
    if args.checks.verify {
        verify(&ranks, &indices)?;
    }
    drop(ranks);
    write(&indices, output, encoding, text_at_once, &mut progress)?;
    drop(progress);
    if args.checks.verify && !args.quiet {
        let order = order.name();
        notice::say(&format!(
            "verified: {count} indices, of keys that are {order}"
        ));
    }
    if args.checks.timings {
        let mut report = format!(
            "engine   {}\nadapter  {}\nkeys     {count} {}, {}\n",
            contender.explain(count, KeyType::U64),
            contender.adapter,
            T::KEY_TYPE,
            order.name(),
        );
        report += &Timings::of_cpu(taken).table_of("argsort, transfers included", count);
        report += &timings::total(count, started.elapsed());
        notice::say_lines(&report);
    }
    Ok(())
}

/// The input, which is read whole.
struct Reading<T> {
    keys: KeyFiles<T>,
    is_text: bool,
    order: Order,
    memory: u64,
}

impl<T: SortKey> Reading<T> {
    /// The ranks of all keys among those of their type.
    fn ranks(&mut self) -> Result<Vec<u64>, Fault> {
        let most = most_keys(self.memory);
        // The number of lines is not known before they are read.
        let expected = self.keys.expected().filter(|_| !self.is_text);
        if expected.is_some_and(|count| count > most) {
            return Err(too_many(self.keys.name(), self.memory));
        }
        let keys = (self.keys).read_chunk(usize::try_from(most).unwrap_or(usize::MAX))?;
        if !self.keys.at_end()? {
            return Err(too_many(self.keys.name(), self.memory));
        }
        let order = self.order;
        Ok(keys.into_par_iter().map(|key| key.rank(order)).collect())
    }
}

/// The most keys that are allowed.
fn most_keys(memory: u64) -> u64 {
    MOST_KEYS.min(memory / BYTES_PER_KEY)
}

fn too_many(name: &str, memory: u64) -> Fault {
    Fault::Usage(match most_keys(memory) {
        MOST_KEYS => format!(
            "{name} has more than {MOST_KEYS} keys, and an index has 32 bits: split the file"
        ),
        most => format!(
            "{name} has more than the {most} keys that fit in {memory} bytes of memory, at \
             {BYTES_PER_KEY} bytes each: allow more with --memory, or split the file"
        ),
    })
}

/// Fails unless these are the indices that sort the ranks, stably.
fn verify(ranks: &[u64], indices: &[u32]) -> Result<(), Fault> {
    // If pairs of rank and index ascend strictly, then no index is there twice.
    let pair = |at: usize| {
        let index = *indices.get(at)?;
        Some((*ranks.get(index as usize)?, index))
    };
    let count = ranks.len().max(indices.len());
    let is_wrong = |&at: &usize| {
        let this = pair(at);
        this.is_none() || at > 0 && pair(at - 1) >= this
    };
    match (0..count).into_par_iter().find_first(is_wrong) {
        Some(at) => Err(Fault::Device(format!(
            "--verify: index number {at} of the result is wrong. Please report this with the \
             device's name"
        ))),
        None => Ok(()),
    }
}

fn write(
    indices: &[u32],
    output: Output,
    encoding: Format,
    text_at_once: u64,
    progress: &mut Progress,
) -> Result<(), Fault> {
    let name = output.name.clone();
    let failed = |error| Fault::data(&name, &error);
    let all = size_of_val(indices) as u64;
    let mut written = 0;
    let mut writer = KeyWriter::<u32, _>::new(output, encoding).with_text_at_once(text_at_once);
    for block in indices.chunks(BLOCK) {
        writer.write(block).map_err(failed)?;
        written += size_of_val(block) as u64;
        progress.bytes("writing", written, Some(all));
    }
    writer.finish().map_err(failed)?.commit_last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_stable_order_passes() {
        let ranks = [7, 3, 7, u64::MAX];
        assert!(verify(&ranks, &[1, 0, 2, 3]).is_ok());
        assert!(verify(&[], &[]).is_ok());
        for wrong in [
            &[1, 2, 0, 3][..],
            &[1, 0, 3, 2],
            &[1, 0, 0, 3],
            &[1, 0, 2, 4],
            &[1, 0, 2],
            &[1, 0, 2, 3, 3],
            &[],
        ] {
            assert!(verify(&ranks, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn too_many_keys_are_an_error_that_says_what_to_do() {
        let told = |memory| {
            let fault = too_many("keys", memory);
            fault.message().unwrap_or_default().to_owned()
        };
        assert_eq!(
            told(u64::MAX),
            "keys has more than 4294967295 keys, and an index has 32 bits: split the file"
        );
        assert_eq!(
            told(2800),
            "keys has more than the 100 keys that fit in 2800 bytes of memory, at 28 bytes each: \
             allow more with --memory, or split the file"
        );
    }
}
