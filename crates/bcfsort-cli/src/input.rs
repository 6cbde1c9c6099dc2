//! Opens input files.

use bcfsort_term::fault::Fault;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

const BUFFER: usize = 1 << 18;

/// An open input.
///
/// Inputs are read as streams, never memory-mapped: if another program truncates a file, the result
/// is an error or fewer keys, not a crash.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) stream: Box<dyn BufRead + Send>,
}

impl Input {
    /// Opens the file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        if path == Path::new("-") {
            return Ok(Self {
                name: "stdin".to_owned(),
                stream: Box::new(BufReader::with_capacity(BUFFER, io::stdin())),
            });
        }
        let name = path.display().to_string();
        let failed = |error: &io::Error| Fault::io(&name, "cannot read", error);
        let file = File::open(path).map_err(|error| failed(&error))?;
        if file.metadata().map_err(|error| failed(&error))?.is_dir() {
            return Err(Fault::Usage(format!(
                "{name} is a directory: give a file of keys"
            )));
        }
        Ok(Self {
            name,
            stream: Box::new(BufReader::with_capacity(BUFFER, file)),
        })
    }
}
