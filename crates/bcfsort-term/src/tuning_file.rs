//! The file that `tune` writes, and that `--tuning` reads.

use clap::builder::{PathBufValueParser, TypedValueParser};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use wgpu_bcfsort::internals::plan::Tuning;
use wgpu_bcfsort::wgpu;

/// What the numbers brought for one kind of sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub keys: u64,
    pub r#type: String,
    /// `keys` alone, or `values` with them.
    pub payload: String,
    pub default_ms: f64,
    pub tuned_ms: f64,
}

/// The numbers of the sample sort, and where they were found. Only the numbers are needed: a file
/// may be written by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningFile {
    #[serde(default)]
    adapter: String,
    #[serde(default)]
    backend: String,
    #[serde(default)]
    driver: String,
    /// Of wgpu-bcfsort.
    #[serde(default)]
    version: String,
    pub tuning: Tuning,
    #[serde(default)]
    measured: Vec<Measured>,
}

impl TuningFile {
    /// What was found on an adapter.
    pub fn new(adapter: &wgpu::AdapterInfo, tuning: Tuning, measured: Vec<Measured>) -> Self {
        let driver = format!("{} {}", adapter.driver, adapter.driver_info);
        Self {
            adapter: adapter.name.clone(),
            backend: adapter.backend.to_string(),
            driver: driver.trim().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tuning,
            measured,
        }
    }

    /// Reads the file while the command line is parsed: its faults are told as those of any
    /// option's value.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().try_map(|path| Self::load(&path))
    }

    fn load(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_json::from_str(text).map_err(|error| {
            // The line names the field.
            let line = text.lines().nth(error.line().saturating_sub(1));
            let line = line.map_or("", str::trim);
            if line.is_empty() || line.len() > 60 {
                format!("not a tuning file: {error}")
            } else {
                let line = line.replace(char::is_control, " ");
                format!("not a tuning file: {error}, in '{line}'")
            }
        })?;
        file.tuning.validate().map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// A warning, if the numbers are of another adapter. (Drivers are updated all the time.)
    pub fn mismatch(&self, adapter: &wgpu::AdapterInfo) -> Option<String> {
        let (name, backend) = (&adapter.name, adapter.backend.to_string());
        let differs = self.adapter != *name || self.backend != backend;
        (differs && !self.adapter.is_empty()).then(|| {
            format!(
                "the tuning file was made for {} ({}), and this adapter is {name} ({backend}): run \
                 'wgpu-bcfsort tune' to make one for it",
                self.adapter, self.backend
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let file = TuningFile {
            adapter: "some GPU".to_owned(),
            backend: "vulkan".to_owned(),
            driver: String::new(),
            version: "0.1.0".to_owned(),
            tuning: Tuning::cpu(),
            measured: vec![Measured {
                keys: 1 << 20,
                r#type: "u32".to_owned(),
                payload: "keys".to_owned(),
                default_ms: 0.2,
                tuned_ms: 0.1,
            }],
        };
        let text = serde_json::to_string_pretty(&file).unwrap();
        assert_eq!(TuningFile::parse(&text), Ok(file));
        // Written by hand; and by a later version.
        let by_hand = TuningFile::parse(r#"{"tuning": {"tile": 2048}, "comment": 1}"#).unwrap();
        assert_eq!(by_hand.tuning.tile, 2048);
    }

    #[test]
    fn faults_name_what_is_wrong() {
        for (text, told) in [
            ("", "not a tuning file"),
            ("{}", "missing field `tuning`"),
            (r#"{"tuning": {"tiles": 2048}}"#, "unknown field `tiles`"),
            ("{\"tuning\": {\n\"tile\": -1}}", "line 2"),
            ("{\"tuning\": {\n\"tile\": -1}}", "in '\"tile\": -1}}'"),
            (r#"{"tuning": {"samples": 100}}"#, "tuning.samples is 100"),
        ] {
            let error = TuningFile::parse(text).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
