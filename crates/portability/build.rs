//! Digests of sources, under which what they decide is kept on disk: that of others is never read.

use sha2::{Digest as _, Sha256};
use std::path::Path;

/// What decides the cases but for the recordings and the kernels' texts: how dispatches are chosen
/// and executed.
const CASES: [&str; 5] = [
    "src/cases.rs",
    "../bcfsort-testkit/src/recordings",
    "../wgsl-lockstep/src",
    "../../src/recording.rs",
    "../../Cargo.lock",
];

/// What decides a gate's verdict but for the kernel's text, the cases and the tools.
const GATES: [&str; 6] = [
    "src",
    "tools",
    "Cargo.toml",
    "../../Cargo.toml",
    "../../Cargo.lock",
    // The limits that the drivers' devices have.
    "../../src/gpu/adapter.rs",
];

fn main() -> std::io::Result<()> {
    for (name, paths) in [("CASES", &CASES[..]), ("GATES", &GATES[..])] {
        let mut digest = Sha256::new();
        for path in paths {
            println!("cargo:rerun-if-changed={path}");
            add(&mut digest, Path::new(path))?;
        }
        let digest = &digest.finalize()[..];
        println!("cargo:rustc-env=PORTABILITY_{name}={digest:02x?}");
    }
    Ok(())
}

/// Adds a file, or all files of a folder in the order of their names.
fn add(digest: &mut Sha256, path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        return entries
            .iter()
            .try_for_each(|entry| add(digest, &entry.path()));
    }
    digest.update(path.to_string_lossy().as_bytes());
    digest.update(std::fs::read(path)?);
    Ok(())
}
