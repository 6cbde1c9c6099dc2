//! The command `uniq` for records.

use super::args::Plan;
use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use super::writing::Writing;
use crate::input::{FileArgs, Inputs};
use crate::uniq::{CHUNK_BYTES, Counts, Groups, Kept, push_count};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use std::path::Path;

/// What to keep of a file of records.
pub(crate) struct Job<'a> {
    pub(crate) inputs: Inputs,
    pub(crate) files: &'a FileArgs,
    pub(crate) output: &'a Path,
    pub(crate) plan: Plan,
    pub(crate) kept: Kept,
    /// Writes the counts in front of lines.
    pub(crate) counts_in_front: bool,
    /// The file of counts.
    pub(crate) counts: Option<&'a Path>,
    pub(crate) quiet: bool,
}

/// Keeps the first of equal neighbours.
pub(crate) fn uniq(job: Job) -> Result<(), Fault> {
    let mut reader = ChunkReader::open(job.inputs)?;
    let output = job.files.output(job.output)?;
    let mut counts = Counts::create(job.counts)?;
    let directory = output.directory();
    let (layout, header) = job.plan.open(&mut reader, CHUNK_BYTES)?;
    let mut writing = Writing::new(output, &reader, header, true, &directory)?;
    let mut progress = Progress::new(job.quiet);
    let mut neighbours = Neighbours::new(&*layout);
    let mut groups = Groups::new(job.kept);
    let (mut kept, mut counts_of_kept) = (Vec::new(), Vec::new());
    loop {
        let mut take = |first: &[u8], count| {
            if job.counts_in_front {
                push_count(count, &mut kept);
            }
            kept.extend_from_slice(first);
            counts_of_kept.push(count);
        };
        let chunk = reader.next(&*layout, CHUNK_BYTES)?;
        let is_last = chunk.is_none();
        if let Some(chunk) = chunk {
            let bounds = layout.bounds(&chunk);
            let orders = neighbours.compare(&chunk, &bounds);
            for (index, order) in orders.into_iter().enumerate() {
                groups.push(&chunk[bounds.range(index)], order.is_eq(), &mut take);
            }
        } else {
            groups.end(&mut take);
        }
        writing.put(&kept, counts_of_kept.len() as u64)?;
        counts.write(&counts_of_kept)?;
        if is_last {
            break;
        }
        kept.clear();
        counts_of_kept.clear();
        progress.bytes("reading", reader.position(), reader.size_of_all());
    }
    let (output, _) = writing.finish(&reader)?;
    counts.commit(output)
}
