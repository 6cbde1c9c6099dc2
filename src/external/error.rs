//! The errors of sorts through a temporary file.

use std::io;
use std::path::PathBuf;

/// Every error of an [`ExternalSorter`](super::ExternalSorter). The text is one line. `E` is the
/// error of the [`RecordFormat`](super::RecordFormat).
///
/// # Examples
///
/// ```
/// use std::path::PathBuf;
/// use wgpu_bcfsort::ExternalError;
///
/// let error: ExternalError<wgpu_bcfsort::Error> = ExternalError::TemporaryFile {
///     directory: PathBuf::from("/tmp"),
///     doing: "write",
///     source: std::io::ErrorKind::StorageFull.into(),
/// };
/// assert_eq!(
///     error.to_string(),
///     "cannot write the temporary file in /tmp: no storage space: free space there, or choose \
///      another directory"
/// );
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError<E> {
    /// A sort of records failed, or the function that takes the result did. The text is that of the
    /// error.
    #[error(transparent)]
    Records(E),
    /// A temporary file could not be created, written or read.
    #[error(
        "cannot {doing} the temporary file in {}: {source}{}",
        directory.display(),
        advice(source)
    )]
    TemporaryFile {
        /// The directory of the file.
        directory: PathBuf,
        /// What failed: `create`, `write` or `read`.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The memory is too small to merge the sorted runs, in any number of passes.
    /// [`ExternalSorter`](super::ExternalSorter#passes) has the bound.
    #[non_exhaustive]
    #[error(
        "{memory} bytes of memory are too few to merge {runs} sorted runs of {bytes} bytes: 4 \
         times the memory sorts 16 times the records"
    )]
    TooManyRuns {
        /// The number of runs before any were merged, including the one that is too many.
        runs: usize,
        /// The size of these runs in bytes.
        bytes: u64,
        /// The memory of the sorter in bytes.
        memory: u64,
    },
    /// The host is out of memory for a batch.
    #[non_exhaustive]
    #[error("out of memory: cannot allocate {bytes} bytes of host memory: sort with less memory")]
    OutOfHostMemory {
        /// The size of the allocation in bytes.
        bytes: u64,
    },
    /// The thread that loads batches could not be started.
    #[error("the thread that reads the temporary file could not be started: {0}")]
    Thread(#[source] io::Error),
    /// An earlier call failed, and records were lost with it.
    #[error("an earlier call of this sorter failed: sort all records again with a new one")]
    AfterError,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": free space there, or choose another directory"
        }
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => ": choose another directory",
        _ => "",
    }
}
