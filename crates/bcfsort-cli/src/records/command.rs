//! The command `sort` for records.

use super::args::Plan;
use super::layout::Layout;
use super::reader::ChunkReader;
use super::sorter::{Choose, Records};
use super::verify::Verifier;
use crate::sort::external;
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::{Memory, check_space};
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::Output;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use wgpu_bcfsort::ExternalSorter;

/// A sort of a file of records.
pub(crate) struct Job<'a> {
    pub(crate) input: &'a Path,
    pub(crate) output: &'a Path,
    pub(crate) plan: Plan,
    /// Opens what sorts, for the number of records.
    pub(crate) choose: &'a Choose<'a>,
    pub(crate) memory: &'a Memory,
    /// Checks the result.
    pub(crate) verify: bool,
    pub(crate) quiet: bool,
}

/// Sorts a file of records.
pub(crate) fn sort(job: Job) -> Result<(), Fault> {
    let memory = job.memory.bytes();
    let mut reader = ChunkReader::open(job.input)?;
    let mut output = Output::create(job.output)?;
    let directory = job.memory.directory(output.directory());
    let (layout, header) = job.plan.open(&mut reader, memory)?;
    let records = Records::new(&*layout, job.choose);
    let mut sorter = ExternalSorter::new(records, memory, &directory);
    let mut reading = Reading {
        reader,
        layout: &*layout,
        verifier: job.verify.then(|| Verifier::new(&*layout)),
        budget: sorter.chunk_bytes(),
    };
    let mut progress = Progress::new(job.quiet);
    push_all(&mut sorter, &mut reading, &directory, &mut progress)?;

    let (mut verifier, all) = (reading.verifier, reading.reader.position());
    let name = output.name.clone();
    let mut written = 0;
    let mut write = |block: &[u8]| {
        written += block.len() as u64;
        progress.bytes("writing", written, Some(all));
        let done = output.write_all(block);
        done.map_err(|error| Fault::io(&name, "cannot write", &error))
    };
    write(&header)?;
    let mut take = |block: &[u8]| {
        if let Some(verifier) = &mut verifier {
            verifier.write(block)?;
        }
        write(block)
    };
    sorter.finish(&mut take).map_err(external)?;
    if let Some(verifier) = &verifier {
        verifier.finish()?;
    }
    output.commit()?;
    drop(progress);
    if let Some(verifier) = verifier.filter(|_| !job.quiet) {
        let count = verifier.count();
        notice::say(&format!(
            "verified: {count} records, sorted, the same as in the input"
        ));
    }
    Ok(())
}

/// Reads the file, and pushes its chunks. From the second one on, one is sorted while the next one
/// is read.
fn push_all(
    sorter: &mut ExternalSorter<Records>,
    reading: &mut Reading,
    directory: &Path,
    progress: &mut Progress,
) -> Result<(), Fault> {
    let Some(first) = reading.next()? else {
        return Ok(());
    };
    let mut pushed = first.len() as u64;
    sorter.push(first).map_err(external)?;
    let Some(second) = reading.next()? else {
        return Ok(());
    };
    let size = reading.reader.size();
    check_space(directory, size.unwrap_or(0))?;
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(0);
        scope.spawn(move || reading.send_all(&sender));
        for chunk in std::iter::once(Ok(second)).chain(receiver) {
            let chunk = chunk?;
            pushed += chunk.len() as u64;
            sorter.push(chunk).map_err(external)?;
            progress.bytes("sorting parts:", pushed, size);
        }
        Ok(())
    })
}

/// The input of a sort, read in chunks.
struct Reading<'a> {
    reader: ChunkReader,
    layout: &'a dyn Layout,
    verifier: Option<Verifier<'a>>,
    /// Bytes of memory for a chunk.
    budget: u64,
}

impl Reading<'_> {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let chunk = self.reader.next(self.layout, self.budget)?;
        if let (Some(verifier), Some(chunk)) = (&mut self.verifier, &chunk) {
            verifier.read(chunk);
        }
        Ok(chunk)
    }

    /// Reads each chunk while the receiver works on the one before, until the receiver is gone.
    fn send_all(&mut self, sender: &SyncSender<Result<Vec<u8>, Fault>>) {
        while let Some(chunk) = self.next().transpose() {
            let has_failed = chunk.is_err();
            if sender.send(chunk).is_err() || has_failed {
                break;
            }
        }
    }
}
