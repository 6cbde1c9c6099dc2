//! Opens input files.

use bcfsort_term::fault::Fault;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

const BUFFER: usize = 1 << 18;

/// Bytes that a thread reads at a time.
const PART: usize = 4 << 20;

/// An open input.
///
/// Inputs are read as streams, never memory-mapped: if another program truncates a file, the result
/// is an error or fewer keys, not a crash.
pub(crate) struct Input {
    pub(crate) name: String,
    /// The size in bytes, if it is known.
    pub(crate) bytes: Option<u64>,
    pub(crate) stream: Box<dyn BufRead + Send>,
}

impl Input {
    /// Opens the file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        if path == Path::new("-") {
            return Ok(Self {
                name: "stdin".to_owned(),
                bytes: None,
                stream: Box::new(BufReader::with_capacity(BUFFER, io::stdin())),
            });
        }
        // (Every message that has the name is one line.)
        let name = path.display().to_string().replace('\n', "\\n");
        let failed = |error: &io::Error| Fault::io(&name, "cannot read", error);
        let file = File::open(path).map_err(|error| failed(&error))?;
        let metadata = file.metadata().map_err(|error| failed(&error))?;
        if metadata.is_dir() {
            return Err(Fault::Usage(format!(
                "{name} is a directory: give a file of keys"
            )));
        }
        // (Files of /proc have contents, and a size of 0.)
        let bytes = Some(metadata.len()).filter(|&bytes| metadata.is_file() && bytes > 0);
        let stream: Box<dyn BufRead + Send> = match bytes {
            Some(_) => Box::new(BufReader::with_capacity(BUFFER, Parallel { file, at: 0 })),
            None => Box::new(BufReader::with_capacity(BUFFER, file)),
        };
        Ok(Self {
            name,
            bytes,
            stream,
        })
    }
}

/// A regular file, of which large parts are read on all cores. One core copies from the cache of
/// files at a fraction of the speed of memory.
struct Parallel {
    file: File,
    at: u64,
}

impl Read for Parallel {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let parts: Vec<(usize, io::Result<usize>)> = bytes
            .par_chunks_mut(PART)
            .enumerate()
            .map(|(i, part)| {
                let at = self.at + (i * PART) as u64;
                (part.len(), read_at(&self.file, part, at))
            })
            .collect();
        // The file ends in the first part that is not full, whatever the ones after it have: it
        // may have grown meanwhile.
        let mut read = 0;
        for (len, of_part) in parts {
            let of_part = match of_part {
                // What was read before is returned first.
                Err(_) if read > 0 => break,
                of_part => of_part?,
            };
            read += of_part;
            if of_part < len {
                break;
            }
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// Fills `bytes` from an offset, unless the file ends.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match read_some_at(file, &mut bytes[read..], at + read as u64) {
            Ok(0) => break,
            Ok(some) => read += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(unix)]
fn read_some_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

#[cfg(windows)]
fn read_some_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, at)
}
