//! The command `sort` for numbers.

use super::Args;
use crate::external::{self, Chunks, push_all};
use crate::keys::{Keys, KeysMemory};
use crate::numbers::{ByContender, Writing};
use crate::verify::Verifier;
use bcfsort_auto::Work;
use bcfsort_data::Format;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::timings;
use std::fmt::Write as _;
use std::time::Instant;
use wgpu_bcfsort::{ExternalSorter, SortKey};

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
    let unique = args.unique.unique;
    if let (Format::Raw | Format::AssumedRaw, Some(bytes), false) = (encoding, bytes, unique) {
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
    let expected = (Work::Sort, reading.keys.expected(), T::KEY_TYPE);
    let (first, contender) = args
        .engine
        .open_beside(named, expected, args.quiet, || reading.next_keys())?;
    let format = ByContender::new(&contender, order, args.checks.timings);
    let mut sorter = ExternalSorter::new(&format, memory.keys, &directory);
    let chunks = push_all(&mut sorter, first, &mut reading, &directory, &mut progress)?;

    let count = reading.keys.count();
    let mut verifier = reading.verifier;
    let memory = (encoding, memory);
    let mut writing = Writing::new(output, memory, unique, Some(count), progress);
    let mut take = |block: &[T]| {
        if let Some(verifier) = &mut verifier {
            verifier.write(block)?;
        }
        writing.take(block)
    };
    sorter.finish(&mut take).map_err(external::fault)?;
    if let Some(verifier) = &verifier {
        verifier.finish()?;
    }
    let written = writing.finish()?;
    let written = unique.then(|| format!("{written} written"));
    if args.checks.verify && !args.quiet {
        let written = (written.as_ref()).map_or(String::new(), |it| format!("; {it}"));
        notice::say(&format!(
            "verified: {count} keys, {}, the same as in the input{written}",
            order.name()
        ));
    }
    if args.checks.timings {
        let mut report = String::new();
        let chunks = match chunks {
            1 => String::new(),
            chunks => format!(", {chunks} parts"),
        };
        let written = written.map_or(String::new(), |it| format!(", {it}"));
        let _ = write!(
            report,
            "engine   {}\nadapter  {}\nkeys     {count} {}, {}{chunks}{written}\n{}",
            contender.explain(count, T::KEY_TYPE),
            contender.adapter,
            T::KEY_TYPE,
            order.name(),
            format.timings().table(count),
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
