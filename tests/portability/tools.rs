//! The tools that gates run: where `.ci/portability` puts them, and how they are called.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How to get what a gate lacks.
pub(crate) const SETUP: &str = "'bash .ci/portability' installs it";

/// A file that `.ci/portability` put into the target directory.
pub(crate) fn installed(path: &str) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a folder of the target directory");
    let file = target.join("portability").join(path);
    if file.exists() {
        Ok(file)
    } else {
        Err(format!("no {}: {SETUP}", file.display()))
    }
}

/// Runs a tool with an input, and gives its output; or what it said against that.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{name} does not start ({e}): {SETUP}"))?;
    let mut stdin = child.stdin.take().expect("a pipe was asked for");
    let output = std::thread::scope(|scope| {
        // Written while the output is read, as neither pipe holds it all. A tool that ends early
        // breaks this pipe, and then its exit status tells.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output()
    })
    .map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said += &String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}\n{said}", output.status))
}
