//! A sort of more records than fit in memory, through temporary files.

// An alias would not be shorter: it needs the units, the error and a lifetime.
#![allow(clippy::type_complexity)]

mod error;
mod file;
mod merge;
mod numbers;
mod runs;
#[cfg(test)]
mod tests;

pub use error::ExternalError;
use file::TemporaryFile;
use merge::Merge;
pub use numbers::Numbers;
use runs::{Needs, Run, RunWriter, Size, block_bytes, cost, entry_bytes, least_memory};
use std::fmt;
use std::path::{Path, PathBuf};

/// How an [`ExternalSorter`] sees the records that it sorts.
///
/// Records are stored one after the other in slices of units: `u8` for records of any number of
/// bytes, the key type itself for keys alone. [`Numbers`] is the format of keys alone.
///
/// # Examples
///
/// Lines, sorted on the CPU by their text:
///
/// ```
/// use std::convert::Infallible;
/// use wgpu_bcfsort::{ExternalSorter, RecordFormat};
///
/// struct Lines;
///
/// fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
///     text.split_inclusive(|&byte| byte == b'\n')
/// }
///
/// impl RecordFormat for Lines {
///     type Unit = u8;
///     type Key = Vec<u8>;
///     type Error = Infallible;
///     // The vector of slices, and the sorted copy's capacity.
///     const OVERHEAD: usize = 48;
///
///     fn sort(
///         &self,
///         records: &mut [u8],
///         take: &mut dyn FnMut(&[u8]) -> Result<(), Infallible>,
///     ) -> Result<(), Infallible> {
///         let mut sorted: Vec<&[u8]> = lines(records).collect();
///         sorted.sort();
///         sorted.into_iter().try_for_each(|line| take(line))
///     }
///
///     fn key(&self, records: &[u8]) -> Vec<u8> {
///         lines(records).next().unwrap_or_default().to_vec()
///     }
///
///     fn key_bytes(&self, key: &Vec<u8>) -> usize {
///         key.capacity()
///     }
///
///     fn count(&self, records: &[u8]) -> usize {
///         lines(records).count()
///     }
///
///     fn cut(&self, records: &[u8], units: usize) -> usize {
///         let ends = |&byte: &u8| byte == b'\n';
///         match records[..units.min(records.len())].iter().rposition(ends) {
///             Some(end) => end + 1,
///             None => records.iter().position(ends).map_or(records.len(), |end| end + 1),
///         }
///     }
///
///     fn split(&self, sorted: &[u8], key: &Vec<u8>, or_equal: bool) -> usize {
///         let precedes = |line: &&[u8]| *line < &key[..] || (or_equal && *line == &key[..]);
///         lines(sorted).take_while(precedes).map(<[u8]>::len).sum()
///     }
/// }
///
/// let mut sorter = ExternalSorter::new(Lines, 1 << 20, &std::env::temp_dir());
/// sorter.push(b"pear\nfig\n".to_vec())?;
/// sorter.push(b"apple\n".to_vec())?;
/// let mut sorted = Vec::new();
/// sorter.finish(&mut |lines| {
///     sorted.extend_from_slice(lines);
///     Ok(())
/// })?;
/// assert_eq!(sorted, b"apple\nfig\npear\n");
/// # Ok::<(), wgpu_bcfsort::ExternalError<Infallible>>(())
/// ```
pub trait RecordFormat: Sync {
    /// What records consist of.
    type Unit: bytemuck::Pod + Send + Sync;

    /// The key of a record. Its order is the order of the result.
    type Key: Ord + Send + Sync;

    /// Why a sort failed.
    type Error: Send;

    /// Bytes of memory that a sort takes for each record, besides the record itself.
    const OVERHEAD: usize;

    /// Sorts whole records, and passes the result to `take`, in order, in blocks of whole records.
    /// Stable: records with equal keys keep their order. The contents of `records` are unspecified
    /// afterwards.
    ///
    /// It may leave out a record whose key an earlier one of the same sort has. Then merges have
    /// less to read, and records with equal keys that are left are neighbours in the result.
    ///
    /// # Errors
    ///
    /// Those of the sort, and any error of `take`, which ends the sort.
    fn sort(
        &self,
        records: &mut [Self::Unit],
        take: &mut dyn FnMut(&[Self::Unit]) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;

    /// The key of the first record.
    fn key(&self, records: &[Self::Unit]) -> Self::Key;

    /// Bytes of memory that a key takes besides its own size: those of a vector in it.
    fn key_bytes(&self, key: &Self::Key) -> usize {
        let _ = key;
        0
    }

    /// The number of records.
    fn count(&self, records: &[Self::Unit]) -> usize;

    /// The number of units in the longest prefix of whole records that has at most `units` units;
    /// that of the first record if it is longer.
    fn cut(&self, records: &[Self::Unit], units: usize) -> usize;

    /// The number of units of sorted records that precede `key`, and with `or_equal` those that
    /// equal it.
    fn split(&self, sorted: &[Self::Unit], key: &Self::Key, or_equal: bool) -> usize;
}

impl<F: RecordFormat> RecordFormat for &F {
    type Unit = F::Unit;
    type Key = F::Key;
    type Error = F::Error;
    const OVERHEAD: usize = F::OVERHEAD;

    fn sort(
        &self,
        records: &mut [Self::Unit],
        take: &mut dyn FnMut(&[Self::Unit]) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error> {
        F::sort(self, records, take)
    }

    fn key(&self, records: &[Self::Unit]) -> Self::Key {
        F::key(self, records)
    }

    fn key_bytes(&self, key: &Self::Key) -> usize {
        F::key_bytes(self, key)
    }

    fn count(&self, records: &[Self::Unit]) -> usize {
        F::count(self, records)
    }

    fn cut(&self, records: &[Self::Unit], units: usize) -> usize {
        F::cut(self, records, units)
    }

    fn split(&self, sorted: &[Self::Unit], key: &Self::Key, or_equal: bool) -> usize {
        F::split(self, sorted, key, or_equal)
    }
}

/// Sorts more records than fit in memory, through temporary files.
///
/// Records are pushed in vectors of whole records. Each vector is sorted and appended to a file
/// as a *run*. [`finish`](Self::finish) merges the runs in *batches*, which the format sorts: no
/// key is compared alone with another on one thread. A single vector is sorted without a file.
///
/// The result is sorted and stable: records with equal keys keep the order in which they were
/// pushed. O(n log n) time.
///
/// # Passes
///
/// The memory limits how many runs can be merged at once. With keys of 8 bytes and full vectors,
/// [`OVERHEAD`](RecordFormat::OVERHEAD) included, √memory / 70 times the memory is sorted in *one
/// pass*: each record is written to a file once and read once, whatever the keys. Where there are
/// more runs, or keys are long, [`push`](Self::push) merges some of them to one long run, in
/// another file. Each such pass writes and reads these records once more.
///
/// | memory | one pass |
/// |---|---|
/// | 64 MiB | 7 GiB |
/// | 1 GiB | 450 GiB |
/// | 16 GiB | 29 TiB |
///
/// In the end, one run must be possible to merge: [`ExternalError::TooManyRuns`]. That is so up to
/// about memory² / (60 · e) bytes of records, where e is the size of a key plus 16 bytes: of 8-byte
/// keys, 180 GiB in 16 MiB of memory. Up to a fifth of this bound, a record is written about 5
/// times in the mean, and up to a half about 10 times; near it far more often.
///
/// # Temporary space
///
/// The files take the bytes of all records, and while runs are merged, those of the merged records
/// twice: with one pass the size of the records, with more at most double that. They have no names,
/// and the operating system frees them when the sorter is dropped or the program ends.
///
/// # Memory
///
/// The sorter, the sorts of the format, and one vector that the caller fills meanwhile take at most
/// `memory` bytes, if vectors take at most [`chunk_bytes`](Self::chunk_bytes) and no record takes
/// more than a batch. Longer vectors and records are sorted right, and take more. Not counted: what
/// the format takes besides [`OVERHEAD`](RecordFormat::OVERHEAD), and buffers of the device.
///
/// - While vectors are pushed: the first vector is kept until the second is pushed. Then one is
///   sorted while the caller fills another. Each is a third of `memory`. From the second vector on,
///   the index of the runs takes the last third at most. Runs are merged in the two thirds that the
///   caller does not use.
/// - In [`finish`](Self::finish): the index; a part of one block of each run; and two batches, of
///   which one is sorted while the other is loaded. The batches take half of the rest each.
///
/// The index has one key for each block of a run. The blocks of a long run are larger, so that its
/// index and the part that is kept both grow with the square root of its size.
///
/// # Errors
///
/// After an error of [`push`](Self::push) records are lost, and all further calls return
/// [`ExternalError::AfterError`].
///
/// # Platforms
///
/// Unix and Windows. Browsers have no files: there the feature has no effect.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{ExternalSorter, Numbers, Options, Order, Sorter};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sorter = Sorter::open(Options::default())?;
/// let format = Numbers::new(&sorter, Order::Ascending);
/// let mut external = ExternalSorter::new(format, 8 << 30, &std::env::temp_dir());
/// external.push(vec![0.5_f32, -1.0, f32::INFINITY])?;
/// external.push(vec![2.0, -3.5])?;
///
/// let mut sorted = Vec::new();
/// external.finish(&mut |keys| {
///     sorted.extend_from_slice(keys); // or write them to a file
///     Ok(())
/// })?;
/// assert_eq!(sorted, [-3.5, -1.0, 0.5, 2.0, f32::INFINITY]);
/// # Ok(()) }
/// ```
pub struct ExternalSorter<F: RecordFormat> {
    format: F,
    memory: u64,
    directory: PathBuf,
    /// The first vector, until there is a second.
    first: Option<Vec<F::Unit>>,
    /// In the order of their runs: a suffix of the runs is in a suffix of the files.
    files: Vec<TemporaryFile>,
    /// In the order of their records. A merged run has a file of its own.
    runs: Vec<Run<F::Key>>,
    /// The number of vectors in all runs.
    vectors: usize,
    /// The bytes that merges in passes have written.
    rewritten: u64,
    has_failed: bool,
}

impl<F: RecordFormat> ExternalSorter<F> {
    /// Makes a sorter that takes at most `memory` bytes. A second vector creates a temporary file
    /// in `directory`.
    #[must_use]
    pub fn new(format: F, memory: u64, directory: &Path) -> Self {
        Self {
            format,
            memory,
            directory: directory.to_owned(),
            first: None,
            files: Vec::new(),
            runs: Vec::new(),
            vectors: 0,
            rewritten: 0,
            has_failed: false,
        }
    }

    /// The bytes that one pushed vector may take: those of its units, and
    /// [`OVERHEAD`](RecordFormat::OVERHEAD) for each record.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        self.memory / 3
    }

    /// Adds whole records. The order of calls is the order of records with equal keys.
    ///
    /// From the second vector on, blocks until the records are sorted and in a temporary file, and
    /// from time to time until runs are merged. O(n log n) time. Each vector becomes a run, so
    /// vectors of [`chunk_bytes`](Self::chunk_bytes) are best.
    ///
    /// # Errors
    ///
    /// [`ExternalError::Records`], [`ExternalError::TemporaryFile`],
    /// [`ExternalError::TooManyRuns`], [`ExternalError::AfterError`]; if runs are merged,
    /// [`ExternalError::OutOfHostMemory`] and [`ExternalError::Thread`], too.
    pub fn push(&mut self, records: Vec<F::Unit>) -> Result<(), ExternalError<F::Error>> {
        if self.has_failed {
            return Err(ExternalError::AfterError);
        }
        if records.is_empty() {
            return Ok(());
        }
        if self.first.is_none() && self.runs.is_empty() {
            self.first = Some(records);
            return Ok(());
        }
        // Also after a panic of the format.
        self.has_failed = true;
        if let Some(first) = self.first.take() {
            self.add_run(first)?;
        }
        self.add_run(records)?;
        self.has_failed = false;
        Ok(())
    }

    /// Sorts the records, and passes them to `take` in order, in slices of whole records.
    ///
    /// Blocks until all records are sorted. An additional thread reads the temporary files. `take`
    /// is called on this thread, and not at all if there are no records. O(n log n) time.
    ///
    /// # Errors
    ///
    /// [`ExternalError::Records`] for errors of the sort and of `take`; after an error of `take` it
    /// is not called again. [`ExternalError::TemporaryFile`], also if the file has become shorter;
    /// [`ExternalError::OutOfHostMemory`], [`ExternalError::Thread`],
    /// [`ExternalError::AfterError`]. Some records may have been passed to `take` before.
    pub fn finish(
        mut self,
        take: &mut dyn FnMut(&[F::Unit]) -> Result<(), F::Error>,
    ) -> Result<(), ExternalError<F::Error>> {
        if self.has_failed {
            return Err(ExternalError::AfterError);
        }
        if let Some(mut only) = self.first.take() {
            let sorted = self.format.sort(&mut only, take);
            free_beside(only);
            return sorted.map_err(ExternalError::Records);
        }
        if self.runs.is_empty() {
            return Ok(());
        }
        let format = &self.format;
        (self.last_merge())
            .run(|batch| format.sort(batch, take).map_err(ExternalError::Records))?;
        let (runs, vectors, rewritten) = (self.runs.len(), self.vectors, self.rewritten);
        let read: u64 = self.files.iter().map(TemporaryFile::read).sum();
        log::debug!(
            "merged {runs} runs of {vectors} vectors: read {read} bytes, after passes that wrote \
             {rewritten}"
        );
        Ok(())
    }

    fn add_run(&mut self, mut records: Vec<F::Unit>) -> Result<(), ExternalError<F::Error>> {
        if self.runs.last().is_none_or(|last| last.is_merged) {
            self.files.push(TemporaryFile::create(&self.directory)?);
        }
        let entry = (self.mean_entry()).unwrap_or_else(|| entry_bytes(&self.format, &records));
        let size = Size {
            units: records.len() as u64,
            cost: cost::<F>(records.len(), self.format.count(&records)),
        };
        let newest = self.files.len() - 1;
        let mut run = RunWriter::new(&self.format, &mut self.files[newest], size, entry);
        run.sort(&mut records)?;
        drop(records);
        self.runs.push(run.finish(newest, false));
        self.vectors += 1;
        while self.needs().memory() > self.memory {
            self.merge_some()?;
        }
        Ok(())
    }

    fn needs(&self) -> Needs {
        self.runs.iter().map(|run| run.needs).sum()
    }

    /// The bytes of the index for each block.
    fn mean_entry(&self) -> Option<u64> {
        let blocks: usize = self.runs.iter().map(|run| run.blocks.len()).sum();
        self.needs().index.checked_div(blocks as u64)
    }

    /// Merges at least two runs, the last ones, to one.
    fn merge_some(&mut self) -> Result<(), ExternalError<F::Error>> {
        let Some(from) = self.last_to_merge() else {
            return Err(ExternalError::TooManyRuns {
                runs: self.vectors,
                bytes: (self.files.iter().map(TemporaryFile::written)).fold(0, u64::saturating_add),
                memory: self.memory,
            });
        };
        let entry = self.mean_entry().unwrap_or(1);
        let runs = &self.runs[from..];
        let size: Size = runs.iter().map(|run| run.size).sum();
        let first_file = runs[0].file;
        // The caller may fill a vector meanwhile. Besides the old index there is a new one.
        let index = size.cost / block_bytes(size.cost, entry) * entry;
        let taken = self.memory / 3 + self.needs().index + index;
        let kept: Needs = runs.iter().map(|run| run.needs).sum();
        let batch = self.memory.saturating_sub(taken + kept.kept) / 2;

        let mut file = TemporaryFile::create(&self.directory)?;
        let mut merged = RunWriter::new(&self.format, &mut file, size, entry);
        Merge::new(&self.format, &self.files, runs, batch).run(|batch| merged.sort(batch))?;
        let merged = merged.finish(first_file, true);
        log::debug!("merged {} runs of {} bytes", runs.len(), file.written());
        self.rewritten += file.written();
        self.runs.truncate(from);
        self.files.truncate(first_file);
        self.runs.push(merged);
        self.files.push(file);
        Ok(())
    }

    /// The first of the runs that are merged next, at least two. They end with the last run.
    ///
    /// Of all suffixes of the runs, the one that frees most memory for each byte that is merged:
    /// many short runs rather than a long run with few short ones, so that long runs are merged
    /// seldom. Files are merged whole.
    fn last_to_merge(&self) -> Option<usize> {
        let entry = self.mean_entry()?;
        let (mut needs, mut size) = (Needs::default(), Size::default());
        let mut best = None;
        for (from, run) in self.runs.iter().enumerate().rev() {
            needs = [needs, run.needs].into_iter().sum();
            size = [size, run.size].into_iter().sum();
            let before = from.checked_sub(1).map(|before| self.runs[before].file);
            if before == Some(run.file) || from + 1 == self.runs.len() {
                continue;
            }
            let freed = needs.memory() as f64 - least_memory(size.cost, entry) as f64;
            let rate = freed / size.cost as f64;
            if best.is_none_or(|(most, _)| rate > most) {
                best = Some((rate, from));
            }
        }
        best.map(|(_, from)| from)
    }

    fn last_merge(&self) -> Merge<'_, F> {
        Merge::new(&self.format, &self.files, &self.runs, self.batch_bytes())
    }

    /// The cost of a batch in the last merge. Two are in memory, with the index and the records
    /// that are kept.
    fn batch_bytes(&self) -> u64 {
        let needs = self.needs();
        self.memory.saturating_sub(needs.index + needs.kept) / 2
    }
}

/// Frees memory on another thread: the system takes back a GiB in up to 70 ms.
fn free_beside<T: Send + 'static>(memory: Vec<T>) {
    // If there is no thread, the closure is dropped here, with the memory.
    let _ = std::thread::Builder::new().spawn(move || drop(memory));
}

impl<F: RecordFormat> fmt::Debug for ExternalSorter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalSorter")
            .field("memory", &self.memory)
            .field("directory", &self.directory)
            .field("runs", &self.runs.len())
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
