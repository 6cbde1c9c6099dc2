//! The temporary file: sequential writes, then positioned reads on several threads.

use super::ExternalError;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file without a name. The operating system frees it when it is closed, also if the program is
/// killed.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    pub(super) file: File,
    directory: PathBuf,
    written: u64,
    read: AtomicU64,
}

impl TemporaryFile {
    pub(super) fn create<E>(directory: &Path) -> Result<Self, ExternalError<E>> {
        let file =
            tempfile::tempfile_in(directory).map_err(|source| ExternalError::TemporaryFile {
                directory: directory.to_owned(),
                doing: "create",
                source,
            })?;
        Ok(Self {
            file,
            directory: directory.to_owned(),
            written: 0,
            read: AtomicU64::new(0),
        })
    }

    /// The number of bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The number of bytes read so far.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Fills `bytes` from a byte offset. A file that ends before is an error.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        read_exact_at(&self.file, bytes, offset)?;
        self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn error<E>(&self, doing: &'static str, source: io::Error) -> ExternalError<E> {
        ExternalError::TemporaryFile {
            directory: self.directory.clone(),
            doing,
            source,
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
