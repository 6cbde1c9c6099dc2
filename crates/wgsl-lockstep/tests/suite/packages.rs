//! Packages of other crates, as cargo stores them.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/Cargo.toml");

/// A package unpacked by cargo.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) directory: PathBuf,
}

/// The packages of `tests/corpus/Cargo.lock` that this machine needs. Cargo downloads missing ones.
pub(crate) static PACKAGES: LazyLock<Vec<Package>> = LazyLock::new(|| {
    let metadata = |offline: bool| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["metadata", "--format-version=1", "--locked"]);
        command.args(["--manifest-path", MANIFEST, "--filter-platform", &host()]);
        if offline {
            command.arg("--offline");
        }
        command.output().unwrap()
    };
    // Usually all packages are there, and the registry is not needed.
    let mut output = metadata(true);
    if !output.status.success() {
        output = metadata(false);
    }
    let Output { status, stderr, .. } = &output;
    let stderr = String::from_utf8_lossy(stderr);
    assert!(status.success(), "cargo metadata of {MANIFEST}: {stderr}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let text = |key: &str| package[key].as_str().unwrap().to_owned();
            let manifest = PathBuf::from(text("manifest_path"));
            Package {
                name: text("name"),
                version: text("version"),
                directory: manifest.parent().unwrap().to_owned(),
            }
        })
        .collect()
});

/// The target triple of this machine.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.unwrap().to_owned()
}

/// The package with this name, of which there is one.
pub(crate) fn package(name: &str) -> &'static Package {
    PACKAGES.iter().find(|p| p.name == name).unwrap()
}
