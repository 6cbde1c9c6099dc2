//! A sort of more records than fit in memory, through one temporary file.

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
use runs::{Run, block_bytes, needed, write_run};
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

/// Sorts more records than fit in memory, through one temporary file.
///
/// Records are pushed in vectors of whole records. Each vector is sorted and appended to the file
/// as a *run*. [`finish`](Self::finish) merges the runs in *batches*, which the format sorts: no
/// key is compared alone with another on one thread. A single vector is sorted without a file.
///
/// The result is sorted and stable: records with equal keys keep the order in which they were
/// pushed. O(n log n) time. Each record is written to the file once and read once, whatever the
/// keys. The file takes the bytes of all records; it has no name, and the operating system frees it
/// when the sorter is dropped or the program ends.
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
///   the index of the runs takes the last third at most.
/// - In [`finish`](Self::finish): the index; a part of one block of each run; and two batches, of
///   which one is sorted while the other is loaded. The batches take half of the rest each.
///
/// Blocks are of 2 √memory bytes. The index has one key for each block. This limits the number of
/// runs: [`ExternalError::TooManyRuns`]. With keys of 8 bytes, [`OVERHEAD`](RecordFormat::OVERHEAD)
/// included, at least √memory / 70 times the memory can be sorted:
///
/// | memory | records |
/// |---|---|
/// | 64 MiB | 7 GiB |
/// | 1 GiB | 450 GiB |
/// | 16 GiB | 29 TiB |
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
    file: Option<TemporaryFile>,
    runs: Vec<Run<F::Key>>,
    /// The sums over all runs.
    index: u64,
    kept: u64,
    has_failed: bool,
}

impl<F: RecordFormat> ExternalSorter<F> {
    /// Makes a sorter that takes at most `memory` bytes. A second vector creates the temporary file
    /// in `directory`.
    #[must_use]
    pub fn new(format: F, memory: u64, directory: &Path) -> Self {
        Self {
            format,
            memory,
            directory: directory.to_owned(),
            first: None,
            file: None,
            runs: Vec::new(),
            index: 0,
            kept: 0,
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
    /// From the second vector on, blocks until the records are sorted and in the temporary file.
    /// O(n log n) time. Each vector becomes a run, so vectors of
    /// [`chunk_bytes`](Self::chunk_bytes) are best.
    ///
    /// # Errors
    ///
    /// [`ExternalError::Records`], [`ExternalError::TemporaryFile`],
    /// [`ExternalError::TooManyRuns`], [`ExternalError::AfterError`].
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
        // (Also after a panic of the format.)
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
    /// Blocks until all records are sorted. An additional thread reads the temporary file. `take`
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
        let Some(merge) = self.merge() else {
            return Ok(());
        };
        merge.run(take)?;
        if let Some(file) = &self.file {
            let (runs, written, read) = (self.runs.len(), file.written(), file.read());
            log::debug!("merged {runs} runs: {written} bytes written, {read} bytes read");
        }
        Ok(())
    }

    fn add_run(&mut self, records: Vec<F::Unit>) -> Result<(), ExternalError<F::Error>> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(TemporaryFile::create(&self.directory)?),
        };
        let run = write_run(&self.format, records, block_bytes(self.memory), file)?;
        self.index += run.index;
        self.kept += run.kept;
        self.runs.push(run);
        if needed(self.index, self.kept) > self.memory {
            return Err(ExternalError::TooManyRuns {
                runs: self.runs.len(),
                bytes: file.written(),
                memory: self.memory,
            });
        }
        Ok(())
    }

    fn merge(&self) -> Option<Merge<'_, F>> {
        let file = self.file.as_ref()?;
        Some(Merge::new(
            &self.format,
            file,
            &self.runs,
            self.batch_bytes(),
        ))
    }

    /// The cost of a batch. Two are in memory, with the index and the records that are kept.
    fn batch_bytes(&self) -> u64 {
        self.memory.saturating_sub(self.index + self.kept) / 2
    }
}

/// Frees memory on another thread: the system takes back a GiB in up to 70 ms.
fn free_beside<T: Send + 'static>(memory: Vec<T>) {
    // (If there is no thread, the closure is dropped here, with the memory.)
    let _ = std::thread::Builder::new().spawn(move || drop(memory));
}

impl<F: RecordFormat> fmt::Debug for ExternalSorter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalSorter")
            .field("memory", &self.memory)
            .field("directory", &self.directory)
            .field("runs", &self.runs.len())
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}
