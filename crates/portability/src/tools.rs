//! The tools of the gates: their location, and how they are called.

use crate::cache;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How to install a missing tool.
pub(crate) const SETUP: &str = "'bash .ci/portability' installs it";

/// The folder of this crate with programs that run tools.
pub(crate) const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tools");

/// The folder in the target directory for the tools from `.ci/portability` and the files of this
/// crate.
pub(crate) fn folder() -> PathBuf {
    // The same as in that script, which runs in the workspace's root.
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    workspace.join(target).join("portability")
}

/// The path of a file that `.ci/portability` installed.
pub(crate) fn installed(path: &str) -> Result<PathBuf, String> {
    let file = folder().join(path);
    if file.exists() {
        Ok(file)
    } else {
        Err(format!("no {}: {SETUP}", file.display()))
    }
}

/// A short digest that identifies the version of a tool's library.
pub(crate) fn fingerprint(library: &Path) -> Result<String, String> {
    let bytes = std::fs::read(library).map_err(|e| format!("{}: {e}", library.display()))?;
    Ok(cache::digest([&bytes[..]])[..12].to_owned())
}

/// Runs a tool with an input. Returns its output, or its messages as an error.
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

/// Runs a program with a time limit. Returns its output and its exit status.
pub(crate) fn output(command: &mut Command, input: &[u8]) -> Result<Output, String> {
    const LIMIT: Duration = Duration::from_secs(300);
    fn read(pipe: Option<impl Read>) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some(mut pipe) = pipe {
            // On an error, the output read so far must do.
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
        // Writes and reads concurrently, since pipes have limited capacity. If the tool ends early,
        // writing fails, and the exit status tells the reason.
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
                    // It may have ended by itself.
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
