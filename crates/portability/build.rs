//! Digests of the sources that decide a verdict, so that what is kept on disk is never of others.

use sha2::{Digest as _, Sha256};
use std::path::Path;

/// What decides the recorded dispatches but for the kernels' texts: their choice, their execution,
/// and the version of naga.
const CASES: [&str; 6] = [
    "src/cases.rs",
    "../bcfsort-testkit/src/recordings/execution.rs",
    "../bcfsort-testkit/src/recordings/sums.rs",
    "../wgsl-lockstep/src",
    "../../src/recording.rs",
    "../../Cargo.lock",
];

fn main() -> std::io::Result<()> {
    let mut digest = Sha256::new();
    for path in CASES {
        println!("cargo:rerun-if-changed={path}");
        add(&mut digest, Path::new(path))?;
    }
    println!(
        "cargo:rustc-env=PORTABILITY_CASES={:x?}",
        &digest.finalize()[..]
    );
    Ok(())
}

/// Adds a file, or all files of a folder in the order of their names.
fn add(digest: &mut Sha256, path: &Path) -> std::io::Result<()> {
    if !path.is_dir() {
        digest.update(path.to_string_lossy().as_bytes());
        digest.update(std::fs::read(path)?);
        return Ok(());
    }
    let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    entries
        .iter()
        .try_for_each(|entry| add(digest, &entry.path()))
}
