//! The tools that gates run: where `.ci/portability` puts them, and how they are called.

use crate::cache;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How to get what a gate lacks.
pub(crate) const SETUP: &str = "'bash .ci/portability' installs it";

/// The folder of this crate that holds what tools are run with.
pub(crate) const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tools");

/// The folder in the target directory where `.ci/portability` puts the tools, and this crate its
/// files.
pub(crate) fn folder() -> PathBuf {
    // As that script does, which stands in the workspace.
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    workspace.join(target).join("portability")
}

/// A file that `.ci/portability` put there.
pub(crate) fn installed(path: &str) -> Result<PathBuf, String> {
    let file = folder().join(path);
    if file.exists() {
        Ok(file)
    } else {
        Err(format!("no {}: {SETUP}", file.display()))
    }
}

/// A few characters that tell a tool's library from those of other versions.
pub(crate) fn fingerprint(library: &Path) -> Result<String, String> {
    let bytes = std::fs::read(library).map_err(|e| format!("{}: {e}", library.display()))?;
    Ok(cache::digest([&bytes[..]])[..12].to_owned())
}

/// Runs a tool with an input, and gives its output; or what it said against that.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = output(command, input)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said += &String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}\n{said}", output.status))
}

/// Runs a program to its end, which must come: what it printed, and how it ended.
pub(crate) fn output(command: &mut Command, input: &[u8]) -> Result<Output, String> {
    const LIMIT: Duration = Duration::from_secs(300);
    fn read(pipe: Option<impl Read>) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read until then is all there is to show.
            let _ = pipe.read_to_end(&mut all);
        }
        all
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{name} does not start ({e}): {SETUP}"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        // Written and read at once, as no pipe holds it all. A tool that ends early breaks the
        // first one, and then its exit status tells.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let stdout = scope.spawn(|| read(stdout));
        let stderr = scope.spawn(|| read(stderr));
        let begin = Instant::now();
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if begin.elapsed() < LIMIT => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                ended => {
                    // It may have ended just now.
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(match ended {
                        Err(error) => format!("{name}: {error}"),
                        Ok(_) => format!("{name}: not done after {} s", LIMIT.as_secs()),
                    });
                }
            }
        };
        Ok(Output {
            status: ended?,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}
