//! How much memory a sort may use, and where it stores what exceeds it.

mod limits;

use crate::args::positive;
use crate::fault::Fault;
use std::path::{Path, PathBuf};

/// Memory that is used even if it is more than half of what is free: a sort in less takes many
/// small steps.
const LEAST: u64 = 64 << 20;

/// The memory of a sort.
#[derive(clap::Args)]
pub struct Memory {
    /// Memory for the data, e.g. 500M or 16G [default: half of what is free]
    ///
    /// Inputs that need more are sorted in parts, by way of a temporary file. The memory of the GPU
    /// and its driver comes on top.
    #[arg(
        short = 'S',
        long,
        alias = "buffer-size",
        value_name = "BYTES",
        value_parser = at_least_1m
    )]
    memory: Option<u64>,
    /// Directory for the temporary file of a large input [default: that of the output]
    #[arg(
        short = 'T',
        long,
        alias = "temporary-directory",
        value_name = "DIR",
        hide_short_help = true
    )]
    temp_dir: Option<PathBuf>,
}

impl Memory {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        or_default(self.memory)
    }

    /// The directory for the temporary file.
    pub fn directory(&self, default: PathBuf) -> PathBuf {
        self.temp_dir.clone().unwrap_or(default)
    }
}

/// The bytes that an option gives, or half of the memory that is free; of little memory, up to
/// three quarters.
pub fn or_default(bytes: Option<u64>) -> u64 {
    bytes.unwrap_or_else(|| {
        let free = free();
        (free / 2).max(LEAST.min(free / 4 * 3)).max(1 << 20)
    })
}

/// Bytes of memory that are free: of the machine or, if that is less, of a control group or of the
/// address space.
fn free() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let free = system.available_memory();
    // Of the address space, threads and the program itself take some.
    let of_process = limits::of_process().map(|free| free.saturating_sub(THREADS));
    let limits = [limits::of_groups(Path::new("/")), of_process];
    limits.into_iter().flatten().fold(free, u64::min)
}

/// Address space of threads that are started after the memory of a sort is known.
const THREADS: u64 = 16 << 20;

/// Bytes of address space and of the data segment that are free, if they are limited (`ulimit -v`,
/// `-d`).
pub(crate) fn address_space() -> Option<u64> {
    limits::of_process()
}

/// The number of files that a command may have open for its data, at most `most` and at least 2.
pub fn open_files(most: usize) -> usize {
    // Standard streams, the output, temporary files, directories, and what libraries open.
    const OTHERS: u64 = 16;
    let left = limits::of_files().map(|files| files.saturating_sub(OTHERS));
    let left = left.map_or(most, |left| usize::try_from(left).unwrap_or(most));
    left.clamp(2, most)
}

/// Fails if a directory has less space than a temporary file of `bytes` bytes needs.
pub fn check_space(directory: &Path, bytes: u64) -> Result<(), Fault> {
    let name = directory.display();
    let free = fs4::available_space(directory)
        .map_err(|error| Fault::io(&name.to_string(), "cannot be used", &error))?;
    if free >= bytes {
        return Ok(());
    }
    Err(Fault::Usage(format!(
        "{name} has {} free, and the temporary file needs {bytes}: name another \
         directory with --temp-dir, or allow more --memory",
        bcfsort_data::bytes(free)
    )))
}

/// Parses a number of bytes for a sort.
///
/// # Errors
///
/// What is wrong with it.
pub fn at_least_1m(text: &str) -> Result<u64, String> {
    match positive(text)? {
        bytes if bytes < 1_000_000 => Err("at least 1M is needed".to_owned()),
        bytes => Ok(bytes),
    }
}
