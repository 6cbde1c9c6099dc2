//! The tuning file, which `tune` writes and `--tuning` reads.

use clap::builder::{PathBufValueParser, TypedValueParser};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use wgpu_bcfsort::Tuning;
use wgpu_bcfsort::wgpu;

/// The most bytes of a tuning file. Those that `tune` writes have some hundreds.
const MOST_BYTES: u64 = 1 << 20;

/// Times of one sort with the default and the tuned parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub keys: u64,
    pub r#type: String,
    /// `keys`, or `values` for a key-value sort.
    pub payload: String,
    pub default_ms: f64,
    pub tuned_ms: f64,
}

/// Tuning parameters of sample sort, and the device they were measured on. Only the parameters are
/// required, so that the file can be written by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "a JSON object")]
pub struct TuningFile {
    #[serde(default)]
    adapter: String,
    #[serde(default)]
    backend: String,
    #[serde(default)]
    driver: String,
    /// Version of wgpu-bcfsort.
    #[serde(default)]
    version: String,
    pub tuning: Tuning,
    #[serde(default)]
    measured: Vec<Measured>,
}

impl TuningFile {
    /// Makes a file from the parameters found on an adapter.
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

    /// Reads the file while the command line is parsed, so that errors are reported as for any
    /// other option.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().try_map(|path| Self::load(&path))
    }

    fn load(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| format!("cannot read: {error}"))?;
        if text.len() as u64 > MOST_BYTES {
            return Err("not a file of 'wgpu-bcfsort tune -o': it has more than 1 MiB".to_owned());
        }
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_json::from_str(text).map_err(|error| {
            // The line contains the name of the field.
            let line = text.lines().nth(error.line().saturating_sub(1));
            let line = line.map_or("", str::trim);
            let fault = format!("not a file of 'wgpu-bcfsort tune -o': {error}");
            if line.is_empty() || line.len() > 60 {
                fault
            } else {
                format!("{fault}, in '{}'", line.replace(char::is_control, " "))
            }
        })?;
        file.tuning.validate().map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// Returns a warning if the tuning is for another adapter. The driver's version is not
    /// compared, as it changes often.
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
        // Written by hand or by a later version.
        let by_hand = TuningFile::parse(r#"{"tuning": {"tile": 2048}, "comment": 1}"#).unwrap();
        assert_eq!(by_hand.tuning.tile, 2048);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_without_an_end_is_refused() {
        let error = TuningFile::load(Path::new("/dev/zero")).unwrap_err();
        assert!(error.contains("more than 1 MiB"), "{error}");
    }

    #[test]
    fn faults_name_what_is_wrong() {
        for (text, expected) in [
            ("", "not a file of 'wgpu-bcfsort tune -o'"),
            ("5", "expected a JSON object"),
            ("{}", "missing field `tuning`"),
            (r#"{"tuning": {"tiles": 2048}}"#, "unknown field `tiles`"),
            ("{\"tuning\": {\n\"tile\": -1}}", "line 2"),
            ("{\"tuning\": {\n\"tile\": -1}}", "in '\"tile\": -1}}'"),
            (r#"{"tuning": {"samples": 100}}"#, "tuning.samples is 100"),
        ] {
            let error = TuningFile::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
