//! Third-party sorts: programs that measure themselves on the same keys.

use super::state::Outcome;
use bcfsort_data::{Format, KeyWriter};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::{Engine, KeyType, SortKey};

/// The default directory of peers; it may be missing.
pub(crate) const DEFAULT: &str = "target/peers";

/// Prefix of the directories of keys for peers. Leftovers of an interrupted run are removed.
const FILES: &str = ".keys-for-peers-";

/// A third-party sorting program.
pub(crate) struct Peer {
    /// Its file name, without an extension.
    pub(crate) name: String,
    path: PathBuf,
    /// The reason to skip it for the rest of this run.
    given_up: Option<String>,
}

/// All peers, and the directory for their keys.
pub(crate) struct Peers {
    pub(crate) list: Vec<Peer>,
    directory: PathBuf,
    timeout: Duration,
}

/// The files of a data set.
pub(crate) struct Files {
    input: PathBuf,
    expected: PathBuf,
    _directory: TempDir,
}

/// The result of running a peer.
pub(crate) struct Found {
    pub(crate) outcomes: Vec<Outcome>,
    /// True if a later run should retry it.
    pub(crate) again: bool,
}

/// The output of a peer.
#[derive(Deserialize)]
struct Reply {
    peer: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    device: String,
    #[serde(default)]
    clock: String,
    results: Vec<Sorted>,
}

/// The result of one engine of a peer.
#[derive(Deserialize)]
struct Sorted {
    engine: String,
    #[serde(default, rename = "type")]
    key: Option<String>,
    #[serde(default)]
    keys: Option<u64>,
    #[serde(default)]
    times_s: Vec<f64>,
    #[serde(default)]
    verified: bool,
    #[serde(default)]
    scratch_bytes: Option<f64>,
    #[serde(default)]
    moves: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

impl Peers {
    /// Returns an empty set of peers.
    pub(crate) fn none(directory: &Path) -> Self {
        Self {
            list: Vec::new(),
            directory: directory.to_owned(),
            timeout: Duration::ZERO,
        }
    }

    /// Finds the executable files of a directory. Their keys are written to files below `out`.
    pub(crate) fn find(from: &Path, out: &Path, timeout: Duration) -> Result<Self, Fault> {
        let failed =
            |error: std::io::Error| Fault::io(&from.display().to_string(), "cannot read", &error);
        let mut peers = Self::none(out);
        peers.timeout = timeout;
        for entry in fs::read_dir(from).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if !executable(&path) {
                continue;
            }
            // A relative path must not depend on the working directory of the peer.
            let path = fs::canonicalize(&path).map_err(failed)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            peers.list.push(Peer {
                name: name.into_owned(),
                path,
                given_up: None,
            });
        }
        peers.list.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in fs::read_dir(out).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(FILES) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(peers)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.list.iter().map(|peer| peer.name.as_str()).collect()
    }

    /// Writes a data set for peers to read.
    pub(crate) fn files<T: SortKey>(&self, input: &[T], expected: &[T]) -> Result<Files, Fault> {
        let name = self.directory.display().to_string();
        let failed =
            |error: std::io::Error| Fault::io(&name, "cannot write keys for peers", &error);
        let directory = tempfile::Builder::new()
            .prefix(FILES)
            .tempdir_in(&self.directory)
            .map_err(failed)?;
        let write = |name: &str, keys: &[T]| -> Result<PathBuf, Fault> {
            let path = directory.path().join(name);
            let file = fs::File::create(&path).map_err(failed)?;
            let mut writer = KeyWriter::new(BufWriter::new(file), Format::Raw);
            let written = writer.write(keys).and_then(|()| writer.finish());
            written
                .map_err(std::io::Error::other)
                .and_then(|mut file| file.flush())
                .map_err(failed)?;
            fs::canonicalize(path).map_err(failed)
        };
        Ok(Files {
            input: write("keys.bin", input)?,
            expected: write("sorted.bin", expected)?,
            _directory: directory,
        })
    }

    /// Runs one of the peers.
    pub(crate) fn run(
        &mut self,
        peer: usize,
        files: &Files,
        key: KeyType,
        payload: PayloadKind,
        count: usize,
        repeats: u32,
    ) -> Found {
        let timeout = self.timeout;
        let peer = &mut self.list[peer];
        let failed = |error: String| Found {
            outcomes: vec![Outcome::failed(&peer.name, error)],
            again: true,
        };
        if let Some(reason) = &peer.given_up {
            return failed(format!("not asked again after: {reason}"));
        }
        let mut command = Command::new(&peer.path);
        command
            .arg("--input")
            .arg(&files.input)
            .arg("--expected")
            .arg(&files.expected)
            .args(["--type", key.name()])
            .args(["--repeats", &repeats.to_string()]);
        if payload != PayloadKind::None {
            command.arg("--pairs");
        }
        let reply = match finish(&mut command, timeout) {
            Ended::Well(stdout) => parse(&stdout),
            Ended::Badly(reason) => Err(reason),
            Ended::ForGood(reason) => {
                notice::say(&format!(
                    "peer {}: {reason}: going on without it",
                    peer.name
                ));
                let found = failed(reason.clone());
                peer.given_up = Some(reason);
                return found;
            }
        };
        match reply {
            Ok(reply) => Found {
                outcomes: reply.outcomes(key, count as u64),
                again: false,
            },
            Err(reason) => failed(reason),
        }
    }
}

impl Reply {
    fn outcomes(&self, key: KeyType, count: u64) -> Vec<Outcome> {
        let by = format!("{} {}", self.peer, self.version);
        let by = by.trim();
        let device = match self.device.as_str() {
            "" => by.to_owned(),
            device => format!("{device} ({by})"),
        };
        self.results
            .iter()
            .map(|sorted| Outcome {
                device: device.clone(),
                clock: match self.clock.as_str() {
                    "" => "the peer's own".to_owned(),
                    clock => clock.to_owned(),
                },
                ..sorted.outcome(&self.peer, key, count)
            })
            .collect()
    }
}

impl Sorted {
    fn outcome(&self, peer: &str, key: KeyType, count: u64) -> Outcome {
        let mut name = self.engine.clone();
        // The lines of a figure need distinct names.
        if ["cpu", "cpu-rayon"].contains(&name.as_str()) || name.parse::<Engine>().is_ok() {
            name = format!("{peer}:{name}");
        }
        if let Some(moves) = self.moves.as_deref().filter(|&moves| moves != "keys") {
            name += &format!(" ({moves})");
        }
        let error = if let Some(error) = &self.error {
            Some(error.clone())
        } else if self.key.as_deref().is_some_and(|k| k != key.name())
            || self.keys.is_some_and(|keys| keys != count)
        {
            Some(format!("sorted something else than {count} {key} keys"))
        } else if !self.verified {
            Some("its result is wrong".to_owned())
        } else if self.times_s.is_empty() || !self.times_s.iter().all(|t| t.is_finite() && *t > 0.0)
        {
            Some("gave no times".to_owned())
        } else {
            None
        };
        if let Some(error) = error {
            return Outcome::failed(name, error);
        }
        let scratch = self
            .scratch_bytes
            .map(|bytes| ("scratch_bytes".to_owned(), bytes));
        Outcome {
            contender: name,
            times_s: self.times_s.clone(),
            values: scratch.into_iter().collect::<BTreeMap<_, _>>(),
            ..Outcome::default()
        }
    }
}

/// Parses the last line that is not empty. Libraries may print a greeting before it.
fn parse(stdout: &str) -> Result<Reply, String> {
    let line = stdout.lines().rfind(|line| !line.trim().is_empty());
    let line = line.ok_or("printed nothing")?;
    serde_json::from_str(line).map_err(|error| format!("printed no result: {error}"))
}

/// The end of a peer's process.
enum Ended {
    Well(String),
    /// A failure that other keys may avoid.
    Badly(String),
    /// A failure with any keys.
    ForGood(String),
}

fn finish(command: &mut Command, timeout: Duration) -> Ended {
    let spawned = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return Ended::ForGood(format!("cannot be run: {error}")),
    };
    // Read continuously: a full pipe would block the peer.
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let deadline = Instant::now() + timeout;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ended::ForGood(format!(
                    "took longer than {} s (--peer-timeout)",
                    timeout.as_secs()
                ));
            }
            Err(error) => return Ended::Badly(error.to_string()),
        }
    };
    // A process left running by the peer may keep the pipes open; its output is ignored.
    let text = |reader: Option<mpsc::Receiver<String>>| {
        reader
            .and_then(|text| text.recv_timeout(Duration::from_secs(5)).ok())
            .unwrap_or_default()
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    if status.success() {
        return Ended::Well(stdout);
    }
    let why = stderr.lines().rfind(|line| !line.trim().is_empty());
    let why = why.map_or(String::new(), |line| format!(": {line}"));
    match status.code() {
        Some(2) => Ended::ForGood(format!("does not know the arguments{why}")),
        Some(3) => Ended::ForGood(format!("finds no device{why}")),
        _ => Ended::Badly(format!("{status}{why}")),
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (text, received) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = text.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    received
}

#[cfg(unix)]
fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn executable(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|extension| extension == "exe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_believed_only_where_they_may_be() {
        let reply = parse(
            "hello\n{\"peer\":\"p\",\"version\":\"1\",\"device\":\"d\",\"clock\":\"c\",\"results\":[\
             {\"engine\":\"good\",\"type\":\"u32\",\"keys\":4,\"times_s\":[0.5],\"verified\":true,\
              \"scratch_bytes\":16,\"moves\":\"keys\"},\
             {\"engine\":\"pairs\",\"times_s\":[0.5],\"verified\":true,\"moves\":\"pairs\"},\
             {\"engine\":\"bcf\",\"times_s\":[0.5],\"verified\":true},\
             {\"engine\":\"wrong\",\"times_s\":[0.5],\"verified\":false},\
             {\"engine\":\"other\",\"keys\":5,\"times_s\":[0.5],\"verified\":true},\
             {\"engine\":\"idle\",\"verified\":true},\
             {\"engine\":\"small\",\"error\":\"no memory\"}]}\n\n",
        )
        .unwrap();
        let outcomes = reply.outcomes(KeyType::U32, 4);
        let names: Vec<&str> = outcomes.iter().map(|o| o.contender.as_str()).collect();
        assert_eq!(
            names,
            [
                "good",
                "pairs (pairs)",
                "p:bcf",
                "wrong",
                "other",
                "idle",
                "small"
            ]
        );
        let good: Vec<bool> = outcomes.iter().map(|o| o.error.is_none()).collect();
        assert_eq!(good, [true, true, true, false, false, false, false]);
        assert_eq!(outcomes[0].value("scratch_bytes"), Some(16.0));
        assert_eq!(outcomes[0].device, "d (p 1)");
        assert!(parse("").is_err() && parse("{\"peer\":1}").is_err());
    }
}
