//! Keys alone, as an external sort and a merge see them, and their way to the output.

use crate::keys::KeysMemory;
use bcfsort_data::{Format, KeyWriter};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::Output;
use bcfsort_term::timings::Timings;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use wgpu_bcfsort::{Order, RecordFormat, SortKey};

/// Keys that are searched for equal ones at a time.
const BLOCK: usize = 1 << 13;

/// Keys alone, sorted by a contender.
pub(crate) struct ByContender<'a, T> {
    contender: &'a Contender,
    order: Order,
    timed: bool,
    timings: Mutex<Timings>,
    key: PhantomData<fn() -> T>,
}

impl<'a, T: SortKey> ByContender<'a, T> {
    /// The times of phases are measured if `timed`.
    pub(crate) fn new(contender: &'a Contender, order: Order, timed: bool) -> Self {
        Self {
            contender,
            order,
            timed,
            timings: Mutex::default(),
            key: PhantomData,
        }
    }

    /// The times of all sorts.
    pub(crate) fn timings(self) -> Timings {
        (self.timings.into_inner()).unwrap_or_else(PoisonError::into_inner)
    }

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

/// The output of sorted keys.
pub(crate) struct Writing<T> {
    writer: KeyWriter<T, Output>,
    name: String,
    /// Drops keys that equal the one before.
    distinct: Option<Distinct<T>>,
    progress: Progress,
    /// The number of all keys, if it is known.
    all: Option<u64>,
    /// The numbers of keys taken and written so far.
    taken: u64,
    written: u64,
}

impl<T: SortKey> Writing<T> {
    /// With `unique`, one of equal keys is written.
    pub(crate) fn new(
        output: Output,
        (encoding, memory): (Format, KeysMemory),
        unique: bool,
        all: Option<u64>,
        progress: Progress,
    ) -> Self {
        Self {
            name: output.name.clone(),
            writer: KeyWriter::new(output, encoding).with_text_at_once(memory.text_at_once),
            distinct: unique.then(Distinct::new),
            progress,
            all,
            taken: 0,
            written: 0,
        }
    }

    /// Writes the next keys.
    pub(crate) fn take(&mut self, sorted: &[T]) -> Result<(), Fault> {
        let bytes = |keys: u64| keys * T::KEY_TYPE.bytes();
        self.taken += sorted.len() as u64;
        (self.progress).bytes("writing", bytes(self.taken), self.all.map(bytes));
        let mut write = |keys: &[T]| {
            self.written += keys.len() as u64;
            let done = self.writer.write(keys);
            done.map_err(|error| Fault::data(&self.name, &error))
        };
        match &mut self.distinct {
            Some(distinct) => distinct.pass_on(sorted, &mut write),
            None => write(sorted),
        }
    }

    /// Completes the output. Returns the number of keys written.
    pub(crate) fn finish(self) -> Result<u64, Fault> {
        let output = self.writer.finish();
        let output = output.map_err(|error| Fault::data(&self.name, &error))?;
        output.commit_last()?;
        Ok(self.written)
    }
}

/// Drops the keys of a sorted stream that equal the one before. Keys are equal in the total order
/// if their bits are.
struct Distinct<T> {
    last: Option<u64>,
    kept: Vec<T>,
}

impl<T: SortKey> Distinct<T> {
    const fn new() -> Self {
        Self {
            last: None,
            kept: Vec::new(),
        }
    }

    fn pass_on(
        &mut self,
        sorted: &[T],
        take: &mut dyn FnMut(&[T]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for block in sorted.chunks(BLOCK) {
            self.kept.clear();
            for &key in block {
                let bits = key.to_bits64();
                if self.last.replace(bits) != Some(bits) {
                    self.kept.push(key);
                }
            }
            take(&self.kept)?;
        }
        Ok(())
    }
}
