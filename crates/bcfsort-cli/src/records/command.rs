//! The command `sort` for records.

use super::args::Plan;
use super::layout::Layout;
use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use super::sorter::{Choose, Records};
use super::verify::Verifier;
use super::writing::Writing;
use crate::external::{self, Chunks, push_all};
use crate::input::{FileArgs, Inputs};
use bcfsort_term::args::Checks;
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::Memory;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::timings;
use std::path::Path;
use std::time::Instant;
use wgpu_bcfsort::ExternalSorter;

/// A sort of a file of records.
pub(crate) struct Job<'a> {
    pub(crate) inputs: Inputs,
    /// How the output is compressed.
    pub(crate) files: &'a FileArgs,
    pub(crate) output: &'a Path,
    pub(crate) plan: Plan,
    /// Writes only the first of the records with the same key.
    pub(crate) unique: bool,
    /// Opens what sorts, for the number of records.
    pub(crate) choose: &'a Choose<'a>,
    pub(crate) memory: &'a Memory,
    pub(crate) checks: &'a Checks,
    pub(crate) quiet: bool,
}

/// Sorts a file of records.
pub(crate) fn sort(job: Job) -> Result<(), Fault> {
    let started = Instant::now();
    let memory = job.memory.bytes();
    let mut reader = ChunkReader::open(job.inputs)?;
    let mut output = job.files.output(job.output)?;
    if let (Some(bytes), false) = (reader.size_of_all(), job.unique) {
        output.reserve(bytes);
    }
    let directory = job.memory.directory(output.directory());
    let (layout, header) = job.plan.open(&mut reader, memory)?;
    // A verifier wants all records.
    let leaves_out = job.unique && !job.checks.verify;
    let records = Records::new(&*layout, leaves_out, job.choose);
    let mut sorter = ExternalSorter::new(&records, memory, &directory);
    let mut reading = Reading {
        reader,
        layout: &*layout,
        verifier: job.checks.verify.then(|| Verifier::new(&*layout)),
        budget: sorter.chunk_bytes(),
        count: job.checks.timings.then_some(0),
    };
    let mut progress = Progress::new(job.quiet);
    let mut chunks = 0;
    if let Some(first) = reading.next()? {
        chunks = push_all(&mut sorter, first, &mut reading, &directory, &mut progress)?;
    }

    let (mut verifier, reader, count) = (reading.verifier, reading.reader, reading.count);
    // The sort of all has left out all repeats, and counted the others.
    let has_left_out = leaves_out && chunks == 1;
    let mut unique = (job.unique && !has_left_out).then(|| Neighbours::new(&*layout));
    let mut writing = Writing::new(output, &reader, header, job.unique, &directory)?;
    let all = reader.position();
    let mut taken = 0;
    let mut take = |block: &[u8]| {
        taken += block.len() as u64;
        progress.bytes("writing", taken, (!leaves_out).then_some(all));
        if let Some(verifier) = &mut verifier {
            verifier.write(block)?;
        }
        if has_left_out {
            return writing.put(block, 0);
        }
        writing.take(block, unique.as_mut())
    };
    sorter.finish(&mut take).map_err(external::fault)?;
    if let Some(verifier) = &verifier {
        verifier.finish()?;
    }
    if has_left_out {
        writing.count(records.kept());
    }
    let (output, written) = writing.finish(&reader)?;
    output.commit_last()?;
    drop(progress);
    if let Some(verifier) = verifier.filter(|_| !job.quiet) {
        let count = verifier.count();
        let written = if job.unique {
            format!("; {written} written")
        } else {
            String::new()
        };
        notice::say(&format!(
            "verified: {count} records, sorted, the same as in the input{written}"
        ));
    }
    if let Some(count) = count {
        let written = job.unique.then_some(written);
        let report = records.report(count, written) + &timings::total(count, started.elapsed());
        notice::say_lines(&report);
    }
    Ok(())
}

/// The input of a sort, read in chunks.
struct Reading<'a> {
    reader: ChunkReader,
    layout: &'a dyn Layout,
    verifier: Option<Verifier<'a>>,
    /// Bytes of memory for a chunk.
    budget: u64,
    /// The number of records so far, if it is wanted.
    count: Option<u64>,
}

impl Chunks<u8> for Reading<'_> {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let chunk = self.reader.next(self.layout, self.budget)?;
        if let (Some(verifier), Some(chunk)) = (&mut self.verifier, &chunk) {
            verifier.read(chunk);
        }
        if let (Some(count), Some(chunk)) = (&mut self.count, &chunk) {
            *count += self.layout.count(chunk) as u64;
        }
        Ok(chunk)
    }

    fn bytes(&self) -> Option<u64> {
        self.reader.size_of_all()
    }
}
