//! The kernels that each test runs, for the table in `tests/README.md`, which
//! `.ci/kernels-of-tests` makes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The file to which notes are appended, and the lines that it has from this process.
type Notes = Mutex<(File, BTreeSet<String>)>;

/// The variable of the environment that names the file.
pub const KERNELS_OF_TESTS: &str = "WGPU_BCFSORT_KERNELS_OF_TESTS";

/// The notes of this process; `None` if the variable is not set.
static NOTES: LazyLock<Option<Notes>> = LazyLock::new(|| {
    let path = std::env::var_os(KERNELS_OF_TESTS).filter(|path| !path.is_empty())?;
    let file = File::options().append(true).create(true).open(path);
    Some(Mutex::new((file.unwrap(), BTreeSet::new())))
});

/// True if notes are taken.
pub fn are_noted() -> bool {
    NOTES.is_some()
}

/// Notes that the test on whose thread this is called runs a kernel. Threads that a test starts
/// have no name, so what they run is not noted.
pub fn note(label: &str) {
    let Some(notes) = &*NOTES else {
        return;
    };
    let thread = std::thread::current();
    let Some((file, _)) = thread.name().and_then(|test| test.split_once("::")) else {
        return;
    };
    let binary = std::env::current_exe().unwrap();
    let binary = binary.file_stem().unwrap().to_string_lossy().into_owned();
    let folder = binary.split('-').next().unwrap_or_default();
    let kernel = family(label);
    let line = format!("{kernel} {folder}/{file}.rs\n");
    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.1.insert(line.clone()) {
        notes.0.write_all(line.as_bytes()).unwrap();
    }
}

/// The name that kernels of all sizes and shapes of record have in common: `samplesort.sort`.
pub fn family(label: &str) -> String {
    let label = label.strip_prefix("bcfsort.").unwrap_or(label);
    let parts: Vec<&str> = label.split('.').take(2).collect();
    parts.join(".")
}
