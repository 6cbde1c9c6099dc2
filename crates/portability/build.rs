//! Digests of sources, which name results on disk, so that results of other sources are not used.

use sha2::{Digest as _, Sha256};
use std::path::Path;

/// Sources that determine the cases, beside the recordings and the kernels' texts: they choose and
/// execute dispatches.
const CASES: [&str; 5] = [
    "src/cases.rs",
    "../bcfsort-testkit/src/recordings",
    "../wgsl-lockstep/src",
    "../../src/recording.rs",
    "../../Cargo.lock",
];

/// Sources that determine a gate's verdict, beside the kernel's text, the cases and the tools.
const GATES: [&str; 6] = [
    "src",
    "tools",
    "Cargo.toml",
    "../../Cargo.toml",
    "../../Cargo.lock",
    // The limits of the drivers' devices.
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

/// Adds a file, or all files of a folder in order of their names.
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
