//! Sorts of inputs that may exceed the memory.

use bcfsort_term::fault::Fault;
use bcfsort_term::memory::check_space;
use bcfsort_term::notice::Progress;
use bcfsort_term::threads;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use wgpu_bcfsort::{ExternalError, ExternalSorter, RecordFormat};

/// The input of an external sort.
pub(crate) trait Chunks<U>: Send {
    /// The next chunk; `None` at the end.
    fn next(&mut self) -> Result<Option<Vec<U>>, Fault>;

    /// The bytes of all chunks, if they are known.
    fn bytes(&self) -> Option<u64>;
}

/// Pushes `first` and all further chunks. From the second one on, one is sorted while the next one
/// is read. Returns the number of chunks.
pub(crate) fn push_all<F: RecordFormat<Error = Fault>>(
    sorter: &mut ExternalSorter<F>,
    first: Vec<F::Unit>,
    chunks: &mut impl Chunks<F::Unit>,
    directory: &Path,
    progress: &mut Progress,
) -> Result<u64, Fault> {
    let mut pushed = size_of_val(first.as_slice()) as u64;
    sorter.push(first).map_err(fault)?;
    let Some(second) = chunks.next()? else {
        return Ok(1);
    };
    let bytes = chunks.bytes();
    check_space(directory, bytes.unwrap_or(0))?;
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(0);
        threads::spawn(scope, move || {
            while let Some(chunk) = chunks.next().transpose() {
                let has_failed = chunk.is_err();
                // Nobody receives if a sort has failed.
                if sender.send(chunk).is_err() || has_failed {
                    break;
                }
            }
        })?;
        let mut count = 1;
        for chunk in std::iter::once(Ok(second)).chain(receiver) {
            let chunk = chunk?;
            pushed += size_of_val(chunk.as_slice()) as u64;
            if let Err(error) = sorter.push(chunk) {
                // Not returned: the reader may wait for ever for the writer of a pipe, and the
                // scope would wait for the reader.
                progress.clear();
                fault(error).exit();
            }
            progress.bytes("sorting parts:", pushed, bytes);
            count += 1;
        }
        Ok(count)
    })
}

/// The fault that ended an external sort.
pub(crate) fn fault(error: ExternalError<Fault>) -> Fault {
    match error {
        ExternalError::Records(fault) => fault,
        error => Fault::Usage(error.to_string()),
    }
}
