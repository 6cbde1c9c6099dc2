//! The merge of sorted streams, in batches that the format sorts.
//!
//! It is the merge of the library's external sort without an index: what a stream has is known only
//! up to its last loaded record. The *bound* is the least (key of the last loaded record, stream)
//! of all streams that have not ended. Records that are not loaded are at or above it, and follow
//! those of their own stream. So all loaded records up to the bound go out, by (key, stream): the
//! stable sort of a batch, in which the records of earlier streams are first, is the order of the
//! result. The stream of the bound is then empty, so each batch loads more.

use crate::spool::{Spool, Spooled};
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::open_files;
use std::ops::Range;
use std::path::Path;
use wgpu_bcfsort::RecordFormat;

/// The most files that are merged at once. More would save passes, but make the reads smaller.
const MOST: usize = 64;

/// Memory for each of the files that are merged at once, at least.
const LEAST_SHARE: u64 = 1 << 20;

/// The longest reads. Longer ones are not faster.
const LONGEST_CHUNK: u64 = 64 << 20;

/// Reads the next sorted records; `None` at the end.
pub(crate) type Stream<'a, U> = Box<dyn FnMut() -> Result<Option<Vec<U>>, Fault> + 'a>;

/// The files to merge.
pub(crate) trait Files<'a, U> {
    /// Opens the next one.
    fn next(&mut self) -> Result<Option<Stream<'a, U>>, Fault>;

    /// Opens a run in a temporary file.
    fn reopen(&self, spooled: &Spooled, run: Range<u64>) -> Stream<'a, U>;
}

/// How many files are merged at once, and how much is read of each.
#[derive(Clone, Copy)]
pub(crate) struct Shares {
    /// The number of all files.
    count: usize,
    /// The most that are merged at once.
    at_once: usize,
    /// Bytes of a chunk.
    pub(crate) chunk: u64,
}

impl Shares {
    /// Divides `memory` bytes among `count` files.
    pub(crate) fn new(memory: u64, count: usize) -> Self {
        let most = usize::try_from(memory / LEAST_SHARE).unwrap_or(MOST);
        let at_once = open_files(MOST).min(most).max(2);
        Self {
            count,
            at_once,
            // A stream has a chunk and the half of another one, and so has its part of a batch.
            chunk: (memory / (4 * at_once.min(count).max(1) as u64)).min(LONGEST_CHUNK),
        }
    }
}

/// Opens the files. If there are more than can be merged at once, merges some of them, in order,
/// to runs in a temporary file, until all that is left can be.
pub(crate) fn open_all<'a, F: RecordFormat<Error = Fault>>(
    format: &F,
    files: &mut dyn Files<'a, F::Unit>,
    shares: Shares,
    directory: &Path,
) -> Result<Vec<Stream<'a, F::Unit>>, Fault> {
    if shares.count <= shares.at_once {
        return std::iter::from_fn(|| files.next().transpose()).collect();
    }
    let mut runs = Runs::new(directory)?;
    loop {
        let group = std::iter::from_fn(|| files.next().transpose());
        let group: Vec<_> = group.take(shares.at_once).collect::<Result<_, Fault>>()?;
        if group.is_empty() {
            break;
        }
        runs.add(format, group)?;
    }
    loop {
        let spooled = runs.spool.finish()?;
        let mut ranges = runs.ranges.into_iter();
        let reopen = |run| files.reopen(&spooled, run);
        if ranges.len() <= shares.at_once {
            return Ok(ranges.map(reopen).collect());
        }
        runs = Runs::new(directory)?;
        while ranges.len() > 0 {
            let group = ranges.by_ref().take(shares.at_once);
            runs.add(format, group.map(reopen).collect())?;
        }
    }
}

/// Sorted runs in a temporary file.
struct Runs {
    spool: Spool,
    /// The bytes of each run.
    ranges: Vec<Range<u64>>,
}

impl Runs {
    fn new(directory: &Path) -> Result<Self, Fault> {
        Ok(Self {
            spool: Spool::new(directory)?,
            ranges: Vec::new(),
        })
    }

    /// Merges streams to one run.
    fn add<F: RecordFormat<Error = Fault>>(
        &mut self,
        format: &F,
        streams: Vec<Stream<F::Unit>>,
    ) -> Result<(), Fault> {
        let start = self.spool.written();
        let mut push = |block: &[F::Unit]| self.spool.push(bytemuck::cast_slice(block));
        merge(format, streams, &mut push)?;
        self.ranges.push(start..self.spool.written());
        Ok(())
    }
}

/// Takes some records.
pub(crate) type Take<'a, T> = dyn FnMut(&[T]) -> Result<(), Fault> + 'a;

/// Merges sorted streams, and passes the records to `take` in order. Of equal records, those of
/// earlier streams are first.
pub(crate) fn merge<F: RecordFormat<Error = Fault>>(
    format: &F,
    streams: Vec<Stream<F::Unit>>,
    take: &mut Take<'_, F::Unit>,
) -> Result<(), Fault> {
    let mut sources: Vec<Source<F>> = streams.into_iter().map(Source::new).collect();
    let mut batch = Vec::new();
    loop {
        for source in &mut sources {
            source.load(format)?;
        }
        // Their order is kept. A file that has ended is closed.
        sources.retain(|source| !source.left().is_empty());
        if sources.is_empty() {
            return Ok(());
        }
        let lasts = sources.iter().enumerate();
        let bound = lasts.filter_map(|(number, source)| Some((source.last.as_ref()?, number)));
        let bound = bound.min();
        let ends: Vec<usize> = (sources.iter().enumerate())
            .map(|(number, source)| match bound {
                Some((key, of)) => source.up_to(format, key, number <= of),
                None => source.left().len(),
            })
            .collect();
        let mut parts = sources.iter().zip(&ends).filter(|(_, end)| **end > 0);
        if let (Some((source, &end)), None) = (parts.next(), parts.next()) {
            take(&source.left()[..end])?;
        } else {
            batch.clear();
            for (source, &end) in sources.iter().zip(&ends) {
                batch.extend_from_slice(&source.left()[..end]);
            }
            format.sort(&mut batch, take)?;
        }
        for (source, end) in sources.iter_mut().zip(ends) {
            source.start += end;
        }
    }
}

/// A stream, and what is loaded of it.
struct Source<'a, F: RecordFormat> {
    next: Stream<'a, F::Unit>,
    loaded: Vec<F::Unit>,
    /// The units that went out.
    start: usize,
    /// The units of the last chunk.
    chunk: usize,
    /// The key of the last loaded record; `None` if all records are loaded.
    last: Option<F::Key>,
    at_end: bool,
}

impl<'a, F: RecordFormat<Error = Fault>> Source<'a, F> {
    const fn new(next: Stream<'a, F::Unit>) -> Self {
        Self {
            next,
            loaded: Vec::new(),
            start: 0,
            chunk: 0,
            last: None,
            at_end: false,
        }
    }

    /// The loaded records that did not go out.
    fn left(&self) -> &[F::Unit] {
        &self.loaded[self.start..]
    }

    /// Loads the next chunk if half of one is left, so that each batch has something of each
    /// stream where they have records of the same range.
    fn load(&mut self, format: &F) -> Result<(), Fault> {
        if self.at_end || self.left().len() > self.chunk / 2 {
            return Ok(());
        }
        let Some(chunk) = (self.next)()? else {
            self.at_end = true;
            self.last = None;
            return Ok(());
        };
        let last = match format.cut(&chunk, chunk.len() - 1) {
            before if before < chunk.len() => &chunk[before..],
            _ => &chunk,
        };
        self.last = Some(format.key(last));
        self.chunk = chunk.len();
        if self.left().is_empty() {
            self.loaded = chunk;
        } else {
            self.loaded.drain(..self.start);
            self.loaded.extend_from_slice(&chunk);
        }
        self.start = 0;
        Ok(())
    }

    /// The units that are left up to a key, with `or_equal` those that equal it.
    fn up_to(&self, format: &F, key: &F::Key, or_equal: bool) -> usize {
        let left = self.left();
        // A look at one record is enough where streams have records of other ranges.
        let first = format.key(left);
        if first > *key || first == *key && !or_equal {
            return 0;
        }
        format.split(left, key, or_equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::ByContender;
    use bcfsort_term::engine::Contender;
    use wgpu_bcfsort::Order;

    /// Streams of numbers, of which each is the next in all.
    struct Numbers(std::vec::IntoIter<Vec<u32>>);

    fn stream<'a>(numbers: Vec<u32>, chunk: usize) -> Stream<'a, u32> {
        let mut left = numbers.into_iter();
        Box::new(move || {
            let chunk: Vec<u32> = left.by_ref().take(chunk).collect();
            Ok(Some(chunk).filter(|chunk| !chunk.is_empty()))
        })
    }

    impl<'a> Files<'a, u32> for Numbers {
        fn next(&mut self) -> Result<Option<Stream<'a, u32>>, Fault> {
            Ok(self.0.next().map(|numbers| stream(numbers, 3)))
        }

        fn reopen(&self, spooled: &Spooled, run: Range<u64>) -> Stream<'a, u32> {
            use std::io::Read;
            let mut bytes = Vec::new();
            spooled.part(run).read_to_end(&mut bytes).expect("the run");
            stream(bytemuck::pod_collect_to_vec(&bytes), 5)
        }
    }

    #[test]
    fn any_number_of_streams_is_merged_in_passes() {
        let directory = tempfile::tempdir().expect("a directory");
        let contender = Contender::cpu();
        let format = ByContender::<u32>::new(&contender, Order::Ascending, false);
        for (count, at_once) in [(0, 2), (1, 2), (2, 2), (3, 2), (9, 2), (65, 4), (7, 64)] {
            let streams: Vec<Vec<u32>> = (0..count as u32)
                .map(|seed| {
                    let numbers = (0..seed * 3 % 41).map(|i| i.wrapping_mul(seed * 77 + 1) % 50);
                    let mut numbers: Vec<u32> = numbers.collect();
                    numbers.sort_unstable();
                    numbers
                })
                .collect();
            let mut expected = streams.concat();
            expected.sort_unstable();
            let mut files = Numbers(streams.into_iter());
            let shares = Shares {
                count,
                at_once,
                chunk: 0,
            };
            let opened = open_all(&format, &mut files, shares, directory.path());
            let mut merged = Vec::new();
            merge(&format, opened.expect("streams"), &mut |block| {
                merged.extend_from_slice(block);
                Ok(())
            })
            .expect("a merge");
            assert_eq!(merged, expected, "{count} {at_once}");
        }
    }
}
