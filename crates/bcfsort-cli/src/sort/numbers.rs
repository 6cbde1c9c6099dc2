//! The command `sort` for numbers.

use super::Args;
use crate::external::{self, Chunks, push_all};
use crate::keys::{Keys, KeysMemory};
use crate::verify::Verifier;
use bcfsort_data::{Format, KeyWriter};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::timings::{self, Timings};
use std::fmt::Write as _;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use wgpu_bcfsort::{ExternalSorter, Order, RecordFormat, SortKey};

/// Sorts a file of keys of type `T`.
pub(super) fn sort<T: SortKey>(args: &Args, encoding: Format) -> Result<(), Fault> {
    let started = Instant::now();
    // Cheap checks first: a typing error is reported before a device is opened.
    let inputs = args.files.inputs(encoding == Format::Text)?;
    let bytes = inputs.bytes;
    let memory = KeysMemory::new(args.memory.bytes(), encoding);
    let keys = Keys::<T>::open(inputs, encoding, memory.text_at_once)?;
    let mut output = args.files.output(&args.output)?;
    let named = args.engine.named(args.quiet)?;
    if let (Format::Raw | Format::AssumedRaw, Some(bytes)) = (encoding, bytes) {
        output.reserve(bytes);
    }
    let order = args.direction.order();
    let directory = args.memory.directory(output.directory());
    let mut reading = Reading {
        verifier: args.checks.verify.then(|| Verifier::new(order)),
        keys,
        chunk: usize::try_from(memory.keys / 3 / T::KEY_TYPE.bytes()).unwrap_or(usize::MAX),
    };
    let mut progress = Progress::new(args.quiet);
    let expected = (reading.keys.expected(), T::KEY_TYPE);
    let (first, contender) = args
        .engine
        .open_beside(named, expected, args.quiet, || reading.next_keys())?;
    let format = ByContender {
        contender: &contender,
        order,
        timed: args.checks.timings,
        timings: Mutex::default(),
        key: PhantomData,
    };
    let mut sorter = ExternalSorter::new(&format, memory.keys, &directory);
    let chunks = push_all(&mut sorter, first, &mut reading, &directory, &mut progress)?;

    let count = reading.keys.count();
    let mut verifier = reading.verifier;
    let output_name = output.name.clone();
    let failed = |error| Fault::data(&output_name, &error);
    let mut writer =
        KeyWriter::<T, _>::new(output, encoding).with_text_at_once(memory.text_at_once);
    let mut written = 0;
    let mut write = |block: &[T]| {
        if let Some(verifier) = &mut verifier {
            verifier.write(block)?;
        }
        writer.write(block).map_err(failed)?;
        written += size_of_val(block) as u64;
        progress.bytes("writing", written, Some(count * T::KEY_TYPE.bytes()));
        Ok(())
    };
    sorter.finish(&mut write).map_err(external::fault)?;
    if let Some(verifier) = &verifier {
        verifier.finish()?;
    }
    writer.finish().map_err(failed)?.commit_last()?;
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
        report += &timings::total(count, started.elapsed());
        notice::say_lines(&report);
    }
    Ok(())
}

/// The input of a sort, read in chunks.
struct Reading<T> {
    verifier: Option<Verifier<T>>,
    keys: Keys<T>,
    /// Keys in a chunk.
    chunk: usize,
}

impl<T: SortKey> Reading<T> {
    /// The keys of the next chunk; none at the end.
    fn next_keys(&mut self) -> Result<Vec<T>, Fault> {
        let keys = self.keys.read_chunk(self.chunk)?;
        if let Some(verifier) = &mut self.verifier {
            verifier.read(&keys);
        }
        Ok(keys)
    }
}

impl<T: SortKey> Chunks<T> for Reading<T> {
    fn next(&mut self) -> Result<Option<Vec<T>>, Fault> {
        Ok(Some(self.next_keys()?).filter(|keys| !keys.is_empty()))
    }

    fn bytes(&self) -> Option<u64> {
        let keys = self.keys.expected();
        keys.map(|keys| keys * T::KEY_TYPE.bytes())
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
        key.rank(self.order)
    }
}

impl<T: SortKey> RecordFormat for ByContender<'_, T> {
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
