//! The command `sort` for records.

use super::args::Plan;
use super::reader::ChunkReader;
use super::sorter::{Choose, Records};
use super::verify::Verifier;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::Output;
use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use wgpu_bcfsort::RecordFormat;

/// A sort of a file of records.
pub(crate) struct Job<'a> {
    pub(crate) input: &'a Path,
    pub(crate) output: &'a Path,
    pub(crate) plan: Plan,
    /// Opens what sorts, for the number of records.
    pub(crate) choose: &'a Choose,
    /// Bytes of memory that the sort may take.
    pub(crate) memory: u64,
    /// Checks the result.
    pub(crate) verify: bool,
    pub(crate) quiet: bool,
}

/// Sorts a file of records.
pub(crate) fn sort(job: Job) -> Result<(), Fault> {
    let mut reader = ChunkReader::open(job.input)?;
    let mut output = Output::create(job.output)?;
    let (layout, header) = job.plan.open(&mut reader, job.memory)?;
    let layout = &*layout;
    let verifier = RefCell::new(job.verify.then(|| Verifier::new(layout)));
    let mut progress = Progress::new(job.quiet);
    write(&mut output, &header)?;
    let mut next = |budget| {
        progress.show(|| format!("sorting, {} bytes so far", reader.position()));
        let chunk = reader.next(layout, budget)?;
        if let (Some(verifier), Some(chunk)) = (&mut *verifier.borrow_mut(), &chunk) {
            verifier.read(chunk);
        }
        Ok(chunk)
    };
    let mut take = |block: &[u8]| {
        if let Some(verifier) = &mut *verifier.borrow_mut() {
            verifier.write(block)?;
        }
        write(&mut output, block)
    };
    let records = Records::new(layout, job.choose);
    sort_chunks(&records, job.memory, &mut next, &mut take)?;
    drop(progress);
    if let Some(verifier) = verifier.into_inner() {
        verifier.finish()?;
        output.commit()?;
        if !job.quiet {
            let count = verifier.count();
            notice::say(&format!(
                "verified: {count} records, sorted, the same as in the input"
            ));
        }
        return Ok(());
    }
    output.commit()
}

/// Sorts all chunks that `next` returns for a number of bytes, and passes the result to `take`.
fn sort_chunks(
    records: &Records,
    _memory: u64,
    next: &mut dyn FnMut(u64) -> Result<Option<Vec<u8>>, Fault>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    match next(u64::MAX)? {
        Some(mut all) => records.sort(&mut all, take),
        None => Ok(()),
    }
}

fn write(output: &mut Output, bytes: &[u8]) -> Result<(), Fault> {
    output
        .write_all(bytes)
        .map_err(|error| Fault::io(&output.name, "cannot write", &error))
}
