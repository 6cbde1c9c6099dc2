//! The command `sort` for records.

use super::args::Plan;
use super::layout::Layout;
use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use super::sorter::{Choose, Records};
use super::verify::Verifier;
use crate::external::{self, Chunks, push_all};
use crate::input::{FileArgs, Inputs};
use bcfsort_term::args::Checks;
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::Memory;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::timings;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use wgpu_bcfsort::{ExternalSorter, RecordFormat};

/// Bytes of a temporary file that are written and read at a time.
const BUFFER: usize = 1 << 20;

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
    if let Some(bytes) = reader.size_of_all() {
        output.reserve(bytes);
    }
    let directory = job.memory.directory(output.directory());
    let (layout, header) = job.plan.open(&mut reader, memory)?;
    let records = Records::new(&*layout, job.choose);
    let mut sorter = ExternalSorter::new(&records, memory, &directory);
    let mut reading = Reading {
        reader,
        layout: &*layout,
        verifier: job.checks.verify.then(|| Verifier::new(&*layout)),
        budget: sorter.chunk_bytes(),
    };
    let mut progress = Progress::new(job.quiet);
    if let Some(first) = reading.next()? {
        push_all(&mut sorter, first, &mut reading, &directory, &mut progress)?;
    }

    let (mut verifier, all) = (reading.verifier, reading.reader.position());
    let name = output.name.clone();
    let mut written = 0;
    let mut write = |block: &[u8]| {
        written += block.len() as u64;
        progress.bytes("writing", written, Some(all));
        let done = output.write_all(block);
        done.map_err(|error| Fault::io(&name, "cannot write", &error))
    };
    // The number of records that are left is known at the end.
    let is_held = job.unique && reading.reader.front_of_count(0).is_some();
    let mut held = is_held.then(|| Held::new(&directory)).transpose()?;
    if held.is_none() {
        write(&reading.reader.front_of_all(header))?;
    }
    let mut count = 0;
    let mut unique = job.unique.then(|| Neighbours::new(&*layout));
    let mut take = |block: &[u8]| {
        if job.checks.timings {
            count += records.count(block) as u64;
        }
        if let Some(verifier) = &mut verifier {
            verifier.write(block)?;
        }
        let Some(unique) = &mut unique else {
            return write(block);
        };
        let kept = unique.unique(block);
        match &mut held {
            Some(held) => held.push(&kept, records.count(&kept)),
            None => write(&kept),
        }
    };
    sorter.finish(&mut take).map_err(external::fault)?;
    if let Some(held) = held {
        let front = reading.reader.front_of_count(held.records);
        write(&front.unwrap_or_default())?;
        held.pass_on(&mut write)?;
    }
    if let Some(verifier) = &verifier {
        verifier.finish()?;
    }
    output.commit_last()?;
    drop(progress);
    if let Some(verifier) = verifier.filter(|_| !job.quiet) {
        let count = verifier.count();
        notice::say(&format!(
            "verified: {count} records, sorted, the same as in the input"
        ));
    }
    if job.checks.timings {
        let report = records.report(count) + &timings::total(count, started.elapsed());
        notice::say_lines(&report);
    }
    Ok(())
}

/// Records in a temporary file, until their number is known.
struct Held {
    file: BufWriter<File>,
    directory: PathBuf,
    records: u64,
}

impl Held {
    fn new(directory: &Path) -> Result<Self, Fault> {
        let directory = directory.to_owned();
        match tempfile::tempfile_in(&directory) {
            Ok(file) => Ok(Self {
                file: BufWriter::with_capacity(BUFFER, file),
                directory,
                records: 0,
            }),
            Err(error) => Err(failed(&directory, &error)),
        }
    }

    fn push(&mut self, bytes: &[u8], records: usize) -> Result<(), Fault> {
        self.records += records as u64;
        let done = self.file.write_all(bytes);
        done.map_err(|error| failed(&self.directory, &error))
    }

    fn pass_on(self, take: &mut dyn FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault> {
        let failed = |error: &io::Error| failed(&self.directory, error);
        let mut file = self.file.into_inner().map_err(|e| failed(e.error()))?;
        file.rewind().map_err(|error| failed(&error))?;
        let mut block = vec![0; BUFFER];
        loop {
            match file.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(read) => take(&block[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&error)),
            }
        }
    }
}

/// A failure of a temporary file.
fn failed(directory: &Path, error: &io::Error) -> Fault {
    let name = directory.display();
    Fault::Usage(format!("{name}: the temporary file: {error}"))
}

/// The input of a sort, read in chunks.
struct Reading<'a> {
    reader: ChunkReader,
    layout: &'a dyn Layout,
    verifier: Option<Verifier<'a>>,
    /// Bytes of memory for a chunk.
    budget: u64,
}

impl Chunks<u8> for Reading<'_> {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let chunk = self.reader.next(self.layout, self.budget)?;
        if let (Some(verifier), Some(chunk)) = (&mut self.verifier, &chunk) {
            verifier.read(chunk);
        }
        Ok(chunk)
    }

    fn bytes(&self) -> Option<u64> {
        self.reader.size_of_all()
    }
}
