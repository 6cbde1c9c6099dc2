//! The command `merge` for records.

use super::Layout;
use super::args::Plan;
use super::check::Ordered;
use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use super::sorter::Records;
use super::writing::Writing;
use crate::input::{FileArgs, Inputs};
use crate::merge::streams::{Files, Shares, Stream, merge as merge_streams, open_all};
use crate::spool::Spooled;
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::Memory;
use bcfsort_term::notice::Progress;
use std::ops::Range;
use std::path::Path;

/// A merge of sorted files of records.
pub(crate) struct Job<'a> {
    pub(crate) inputs: Inputs,
    pub(crate) files: &'a FileArgs,
    pub(crate) output: &'a Path,
    pub(crate) plan: Plan,
    /// Writes only the first of the records with the same key.
    pub(crate) unique: bool,
    pub(crate) memory: &'a Memory,
    pub(crate) quiet: bool,
}

/// Merges sorted files of records.
pub(crate) fn merge(job: Job) -> Result<(), Fault> {
    let memory = job.memory.bytes();
    let shares = Shares::new(memory, job.inputs.count);
    let mut reader = ChunkReader::open(job.inputs)?;
    let mut output = job.files.output(job.output)?;
    let all = reader.size_of_all();
    if let (Some(bytes), false) = (all, job.unique) {
        output.reserve(bytes);
    }
    let directory = job.memory.directory(output.directory());
    let (layout, header) = job.plan.open(&mut reader, memory)?;
    let records = Records::new(&*layout, false, &|_| Ok(Contender::cpu()));
    let mut files = Apart {
        first: Some(reader.apart()),
        reader,
        layout: &*layout,
        chunk: shares.chunk,
    };
    let streams = open_all(&records, &mut files, shares, &directory)?;

    // What is in front may depend on all files, which are open or read by now.
    let reader = files.reader;
    let mut writing = Writing::new(output, &reader, header, job.unique, &directory)?;
    let mut unique = job.unique.then(|| Neighbours::new(&*layout));
    let mut progress = Progress::new(job.quiet);
    let mut taken = 0;
    merge_streams(&records, streams, &mut |block| {
        taken += block.len() as u64;
        progress.bytes("merging", taken, all);
        writing.take(block, unique.as_mut())
    })?;
    let (output, _) = writing.finish(&reader)?;
    output.commit_last()
}

/// The files of a reader, each alone.
struct Apart<'a> {
    first: Option<ChunkReader>,
    reader: ChunkReader,
    layout: &'a dyn Layout,
    /// Bytes of memory for a chunk.
    chunk: u64,
}

impl<'a> Files<'a, u8> for Apart<'a> {
    fn next(&mut self) -> Result<Option<Stream<'a, u8>>, Fault> {
        let file = match self.first.take() {
            Some(first) => Some(first),
            None => self.reader.next_apart(self.layout)?,
        };
        let chunk = self.chunk;
        Ok(file.map(|file| -> Stream<'a, u8> {
            let mut records = Ordered::new(file, self.layout, false);
            Box::new(move || Ok(records.next(chunk)?))
        }))
    }

    fn reopen(&self, spooled: &Spooled, run: Range<u64>) -> Stream<'a, u8> {
        let bytes = run.end - run.start;
        let mut reader = ChunkReader::of_part(spooled.name(), spooled.part(run), bytes);
        let (layout, chunk) = (self.layout, self.chunk);
        Box::new(move || reader.next(layout, chunk))
    }
}
