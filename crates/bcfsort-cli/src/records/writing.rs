//! The output of sorted records.

use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use crate::spool::Spool;
use bcfsort_term::fault::Fault;
use bcfsort_term::output::Output;
use std::io::{self, Read, Write};
use std::path::Path;

/// Bytes of a temporary file that are read at a time.
const BUFFER: usize = 1 << 20;

/// Writes what stands in front of records, and the records.
pub(super) struct Writing {
    output: Output,
    /// Records in a temporary file, if what is in front of them depends on their number.
    held: Option<Spool>,
    /// The number of records written, if some may be dropped.
    records: u64,
}

impl Writing {
    /// `first` is what the first file of the reader has in front. If some records `may_drop`, their
    /// number is known only in the end, and a temporary file in `directory` may have to hold them.
    pub(super) fn new(
        output: Output,
        reader: &ChunkReader,
        first: Vec<u8>,
        may_drop: bool,
        directory: &Path,
    ) -> Result<Self, Fault> {
        let is_held = may_drop && reader.front_of_count(0).is_some();
        let mut writing = Self {
            output,
            held: is_held.then(|| Spool::new(directory)).transpose()?,
            records: 0,
        };
        if !is_held {
            writing.write(&reader.front_of_all(first))?;
        }
        Ok(writing)
    }

    /// Writes the next sorted records; with `unique`, those whose key the one before them has not.
    pub(super) fn take(
        &mut self,
        sorted: &[u8],
        unique: Option<&mut Neighbours>,
    ) -> Result<(), Fault> {
        match unique {
            None => self.write(sorted),
            Some(unique) => {
                let (kept, count) = unique.unique(sorted);
                self.put(&kept, count)
            }
        }
    }

    /// Counts records that were put with a count of 0.
    pub(super) const fn count(&mut self, records: u64) {
        self.records += records;
    }

    /// Writes those `count` of the next records that are kept.
    pub(super) fn put(&mut self, kept: &[u8], count: u64) -> Result<(), Fault> {
        self.records += count;
        match &mut self.held {
            Some(held) => held.push(kept),
            None => self.write(kept),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let done = self.output.write_all(bytes);
        done.map_err(|error| Fault::io(&self.output.name, "cannot write", &error))
    }

    /// Writes what was held. Returns the output, and the number of records if some may have been
    /// dropped.
    pub(super) fn finish(mut self, reader: &ChunkReader) -> Result<(Output, u64), Fault> {
        if let Some(held) = self.held.take() {
            let front = reader.front_of_count(self.records);
            self.write(&front.unwrap_or_default())?;
            let bytes = held.written();
            let held = held.finish()?;
            let mut part = held.part(0..bytes);
            let mut block = vec![0; BUFFER];
            loop {
                match part.read(&mut block) {
                    Ok(0) => break,
                    Ok(read) => self.write(&block[..read])?,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(Fault::io(held.name(), "cannot read", &error)),
                }
            }
        }
        Ok((self.output, self.records))
    }
}
