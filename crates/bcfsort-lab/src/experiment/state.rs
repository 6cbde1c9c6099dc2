//! The results so far, in a file that a later run continues.
//!
//! `results.jsonl` holds one JSON object per line: the settings, the requested figures, and the
//! measurements, each written as soon as it is made. All other files of the directory are drawn
//! from it. When the file is read again, a line that an interrupt cut short is dropped.

use bcfsort_term::fault::Fault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of the file.
pub(crate) const FILE: &str = "results.jsonl";

/// The settings shared by all measurements of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) version: String,
    pub(crate) adapter: String,
    pub(crate) repeats: u32,
    pub(crate) seed: u64,
    /// Shown in the report. Not compared: a run may continue on another machine with the same
    /// adapter.
    pub(crate) host: String,
}

impl Settings {
    /// The first difference that makes the measurements incomparable.
    fn difference(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("version", self.version.clone(), other.version.clone()),
            ("adapter", self.adapter.clone(), other.adapter.clone()),
            (
                "repeats",
                self.repeats.to_string(),
                other.repeats.to_string(),
            ),
            ("seed", self.seed.to_string(), other.seed.to_string()),
        ];
        let differs = |(what, there, here): (&str, String, String)| {
            (there != here).then(|| format!("{what} '{there}', not '{here}'"))
        };
        pairs.into_iter().find_map(differs)
    }
}

/// The result of one contender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) contender: String,
    /// The adapter, the CPU, or the device that a peer reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) device: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) clock: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) times_s: Vec<f64>,
    /// Quantities other than times, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) values: BTreeMap<String, f64>,
    /// The reason why there are neither times nor values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Outcome {
    pub(crate) fn failed(contender: impl Into<String>, error: impl Into<String>) -> Self {
        Self {
            contender: contender.into(),
            error: Some(error.into()),
            ..Self::default()
        }
    }

    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }
}

/// The smallest unit of measurement: it is stored or repeated as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Names everything that affects the result, except the settings.
    pub(crate) id: String,
    /// Seconds since 1970.
    pub(crate) at: u64,
    pub(crate) outcomes: Vec<Outcome>,
    /// True if a later run should retry it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) again: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Settings(Settings),
    Figure(String),
    Part(Part),
}

/// The measurements.
#[derive(Debug, Default)]
pub(crate) struct Results {
    parts: BTreeMap<String, Part>,
    figures: BTreeSet<String>,
}

impl Results {
    pub(crate) fn get(&self, id: &str) -> Option<&Part> {
        self.parts.get(id)
    }

    /// The parts whose ids have this prefix.
    pub(crate) fn starting_with(&self, prefix: String) -> impl Iterator<Item = &Part> {
        self.parts
            .range(prefix.clone()..)
            .map(|(_, part)| part)
            .take_while(move |part| part.id.starts_with(&prefix))
    }

    /// True if the figure was ever requested.
    pub(crate) fn wants(&self, figure: &str) -> bool {
        self.figures.contains(figure)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.values()
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Settings(_) => {}
            Line::Figure(name) => {
                self.figures.insert(name);
            }
            Line::Part(part) => {
                self.parts.insert(part.id.clone(), part);
            }
        }
    }
}

/// The measurements, and the file that stores them.
pub(crate) struct State {
    pub(crate) results: Results,
    /// The settings of the first run.
    pub(crate) settings: Settings,
    file: File,
    name: String,
}

impl State {
    /// Opens the file in a directory, or creates it.
    pub(crate) fn open(
        directory: &Path,
        settings: &Settings,
        restart: bool,
    ) -> Result<Self, Fault> {
        let path = directory.join(FILE);
        let name = path.display().to_string();
        let old = match fs::read(&path) {
            Ok(old) if !restart => old,
            Ok(_) => Vec::new(),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Fault::io(&name, "cannot read", &error)),
        };
        // Anything after the last newline is an incomplete line.
        let whole = old
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        let mut results = Results::default();
        let mut begun: Option<Settings> = None;
        for (i, line) in old[..whole].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let line: Line = serde_json::from_slice(line).map_err(|error| {
                Fault::Usage(format!(
                    "{name}: line {}: {error}: --restart measures everything again",
                    i + 1
                ))
            })?;
            if let Line::Settings(there) = &line {
                if let Some(difference) = there.difference(settings) {
                    return Err(Fault::Usage(format!(
                        "{name} holds measurements with {difference}: take another --out, or \
                         --restart to measure everything again"
                    )));
                }
                begun.get_or_insert_with(|| there.clone());
            }
            results.take(line);
        }
        let failed = |error: std::io::Error| Fault::io(&name, "cannot write", &error);
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        let mut state = Self {
            results,
            settings: begun.clone().unwrap_or_else(|| settings.clone()),
            file,
            name,
        };
        if begun.is_none() {
            state.append(Line::Settings(settings.clone()))?;
        }
        Ok(state)
    }

    /// Adds a figure to the report, from this run on.
    pub(crate) fn want(&mut self, figure: &str) -> Result<(), Fault> {
        if self.results.wants(figure) {
            return Ok(());
        }
        self.append(Line::Figure(figure.to_owned()))
    }

    /// Stores a measurement.
    pub(crate) fn keep(
        &mut self,
        id: String,
        outcomes: Vec<Outcome>,
        again: bool,
    ) -> Result<(), Fault> {
        self.append(Line::Part(Part {
            id,
            at: now(),
            outcomes,
            again,
        }))
    }

    /// True if a part must still be measured.
    pub(crate) fn lacks(&self, id: &str) -> bool {
        self.results.get(id).is_none_or(|part| part.again)
    }

    fn append(&mut self, line: Line) -> Result<(), Fault> {
        let mut text =
            serde_json::to_string(&line).map_err(|error| Fault::Usage(error.to_string()))?;
        text.push('\n');
        // One call, so that after an interrupt the file has the whole line or none of it.
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| Fault::io(&self.name, "cannot write", &error))?;
        self.results.take(line);
        Ok(())
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(adapter: &str) -> Settings {
        Settings {
            version: "1".to_owned(),
            adapter: adapter.to_owned(),
            repeats: 3,
            seed: 1,
            host: "here".to_owned(),
        }
    }

    #[test]
    fn half_a_line_is_dropped_and_the_rest_kept() -> Result<(), Fault> {
        let directory = tempfile::tempdir().unwrap();
        let outcome = Outcome {
            contender: "bcf".to_owned(),
            times_s: vec![0.25],
            ..Outcome::default()
        };
        {
            let mut state = State::open(directory.path(), &settings("a"), false)?;
            state.want("random")?;
            state.keep("one".to_owned(), vec![outcome.clone()], false)?;
            state.keep("two".to_owned(), vec![outcome.clone()], true)?;
        }
        let path = directory.path().join(FILE);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"part\":{\"id\":\"thr");
        fs::write(&path, text).unwrap();
        let mut state = State::open(directory.path(), &settings("a"), false)?;
        assert!(state.results.wants("random") && !state.results.wants("distinct"));
        assert!(!state.lacks("one") && state.lacks("two") && state.lacks("three"));
        assert_eq!(state.results.get("one").unwrap().outcomes, [outcome]);
        state.keep("three".to_owned(), Vec::new(), false)?;
        let state = State::open(directory.path(), &settings("a"), false)?;
        assert!(!state.lacks("three"));
        assert_eq!(state.results.starting_with("t".to_owned()).count(), 2);
        Ok(())
    }

    #[test]
    fn other_settings_are_refused_unless_all_begins_again() -> Result<(), Fault> {
        let directory = tempfile::tempdir().unwrap();
        State::open(directory.path(), &settings("a"), false)?.want("random")?;
        let refused = State::open(directory.path(), &settings("b"), false);
        let message = refused.err().unwrap().message().unwrap().to_owned();
        assert!(message.contains("adapter 'a', not 'b'"), "{message}");
        let state = State::open(directory.path(), &settings("b"), true)?;
        assert!(!state.results.wants("random"));
        Ok(())
    }
}
