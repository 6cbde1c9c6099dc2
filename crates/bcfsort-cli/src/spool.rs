//! A temporary file without a name, which is written once and then read in parts.

use crate::input::read_some_at;
use bcfsort_term::fault::Fault;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are written at a time.
const BUFFER: usize = 1 << 18;

/// A temporary file that is written.
pub(crate) struct Spool {
    file: BufWriter<File>,
    directory: PathBuf,
    written: u64,
}

impl Spool {
    pub(crate) fn new(directory: &Path) -> Result<Self, Fault> {
        let file = tempfile::tempfile_in(directory).map_err(|error| failed(directory, &error))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER, file),
            directory: directory.to_owned(),
            written: 0,
        })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let done = self.file.write_all(bytes);
        done.map_err(|error| failed(&self.directory, &error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// The number of bytes written so far.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn finish(self) -> Result<Spooled, Fault> {
        let Self {
            file, directory, ..
        } = self;
        let file = file.into_inner();
        let file = file.map_err(|error| failed(&directory, error.error()))?;
        Ok(Spooled {
            file: Arc::new(file),
            name: name_in(&directory),
        })
    }
}

/// A temporary file that is read. It is gone with its last part.
pub(crate) struct Spooled {
    file: Arc<File>,
    name: String,
}

impl Spooled {
    /// What to call it in a message.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Some of its bytes, as a file.
    pub(crate) fn part(&self, bytes: Range<u64>) -> Part {
        Part {
            file: Arc::clone(&self.file),
            bytes,
        }
    }
}

/// A part of a temporary file.
pub(crate) struct Part {
    file: Arc<File>,
    /// What is not read yet.
    bytes: Range<u64>,
}

impl Read for Part {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.bytes.end - self.bytes.start;
        let most = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let read = read_some_at(&self.file, &mut bytes[..most], self.bytes.start)?;
        self.bytes.start += read as u64;
        Ok(read)
    }
}

fn name_in(directory: &Path) -> String {
    format!("{}: the temporary file", directory.display())
}

fn failed(directory: &Path, error: &io::Error) -> Fault {
    Fault::Usage(format!("{}: {error}", name_in(directory)))
}
