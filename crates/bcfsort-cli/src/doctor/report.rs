//! The report of a device: what is written to a file, read from one, and printed.
//!
//! A report holds nothing private: no name of the user or the host, no path, and no value of an
//! environment variable. What the library and drivers say of an error is [cleared](super::private)
//! of these.

use crate::devices::Listed;
use bcfsort_term::timings::{rate, time};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

/// The version of the fields below. It grows when one is renamed, removed, or gets another meaning;
/// a new field that may be absent leaves it.
pub(crate) const SCHEMA: u32 = 1;

/// The source of reports that this command wrote.
pub(crate) const DOCTOR: &str = "doctor";

/// What was found on one device. The fields are the keys of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// [`SCHEMA`].
    pub(crate) schema: u32,
    /// `doctor`, or what else ran there: `test suite`, `benchmark`.
    pub(crate) source: String,
    /// The version of wgpu-bcfsort.
    pub(crate) version: String,
    /// The device that was examined. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<Device>,
    /// What was seen, if not by `doctor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<Seen>,
    /// What `doctor` found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<Found>,
}

/// A device, as it names itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub(crate) r#type: String,
    /// `vulkan`, `metal`, `dx12`, `gl`, or the program that runs WebGPU.
    pub(crate) backend: String,
    /// Its name and its version. Empty if neither is known.
    pub(crate) driver: String,
}

impl From<&Listed> for Device {
    fn from(listed: &Listed) -> Self {
        let driver = format!("{} {}", listed.driver, listed.driver_info);
        Self {
            name: listed.name.clone(),
            r#type: listed.r#type.clone(),
            backend: listed.backend.clone(),
            driver: driver.trim().to_owned(),
        }
    }
}

/// What was seen by another program than this command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// What ran, and how it ended.
    pub(crate) what: String,
    /// The page of the repository that tells it.
    pub(crate) page: String,
}

/// The sections of a report, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// True for `--quick`.
    pub(crate) quick: bool,
    pub(crate) system: System,
    /// The names of the variables of wgpu, Vulkan and this program that are set.
    pub(crate) environment: Vec<String>,
    /// All adapters that can sort, best first.
    pub(crate) adapters: Vec<Listed>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) features: Vec<Feature>,
    pub(crate) tuning: Option<Tuning>,
    pub(crate) kernels: Option<Kernels>,
    pub(crate) sorts: Vec<Sort>,
    pub(crate) times: Vec<Time>,
    /// What is wrong, one line each. Empty: all is right.
    pub(crate) problems: Vec<String>,
    /// What helps to understand the report, or to mend a problem.
    pub(crate) notes: Vec<String>,
    /// Duration of all checks.
    pub(crate) seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct System {
    pub(crate) os: String,
    pub(crate) arch: String,
    pub(crate) cores: usize,
}

/// A limit of the device that a sort depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Limit {
    /// wgpu's name.
    pub(crate) name: String,
    pub(crate) value: u64,
    /// The least with which a device can sort.
    pub(crate) needed: u64,
}

/// An optional feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Feature {
    /// wgpu's name.
    pub(crate) name: String,
    pub(crate) available: bool,
    /// What it is for.
    pub(crate) purpose: String,
}

/// The sizes that the sorter chose for the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tuning {
    pub(crate) tile: u32,
    pub(crate) samples: u32,
    pub(crate) merged: u32,
    pub(crate) gpu: bool,
    /// The default engine for 2^20 ascending keys of u32, on this device.
    pub(crate) engine: String,
    /// The most keys of u32 and u64 that fit the device at once.
    pub(crate) max_len_u32: u64,
    pub(crate) max_len_u64: u64,
}

/// The kernels, each run on the device and in the lock-step executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kernels {
    /// Labels of the kernels that left the same bits as in the executor.
    pub(crate) right: Vec<String>,
    /// Kernels that left other bits than in the executor.
    pub(crate) wrong: Vec<Outcome>,
    /// Kernels that did not run to the end: an error, a panic, a lost device.
    pub(crate) failed: Vec<Outcome>,
    /// Kernels that were not run, by the reason.
    pub(crate) left_out: Vec<LeftOut>,
    /// The recordings that ran.
    pub(crate) recordings: usize,
    /// Recordings whose result in the executor is not the CPU's.
    pub(crate) executor_wrong: Vec<String>,
}

/// A kernel, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) kernel: String,
    pub(crate) what: String,
}

/// Kernels that are not run for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    pub(crate) reason: String,
    pub(crate) kernels: Vec<String>,
}

/// One sort, compared with the CPU's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the name of the field in reports"
)]
pub(crate) struct Sort {
    /// What is sorted, e.g. `u32` or `argsort of f32`.
    pub(crate) sort: String,
    pub(crate) len: u64,
    /// Absent: right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wrong: Option<String>,
}

/// The time of one sort of random keys that are on the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) sort: String,
    pub(crate) keys: u64,
    pub(crate) engine: String,
    /// `GPU timestamps` or `wall clock`.
    pub(crate) clock: String,
    pub(crate) median_s: f64,
    pub(crate) min_s: f64,
}

impl Found {
    /// True if nothing is wrong.
    pub(crate) fn is_right(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Report {
    pub(crate) fn new(device: Option<Device>, found: Found) -> Self {
        Self {
            schema: SCHEMA,
            source: DOCTOR.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device,
            seen: None,
            found: Some(found),
        }
    }

    /// Reads a report, of either form.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            schema: u32,
        }
        let start = if text.starts_with('{') {
            Some(0)
        } else {
            text.find("\n{").map(|at| at + 1)
        };
        let json = start.map(|start| &text[start..]).ok_or("it has no JSON")?;
        let versioned: Versioned = serde_json::from_str(json).map_err(|e| e.to_string())?;
        if versioned.schema != SCHEMA {
            return Err(format!(
                "it has schema {}, and this version reads schema {SCHEMA}",
                versioned.schema
            ));
        }
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The report for people, with the JSON at its end.
    pub(crate) fn text(&self) -> Result<String, serde_json::Error> {
        let mut text = String::new();
        if let Some(found) = &self.found {
            text += &heading(&self.version, found);
            for section in Section::ALL {
                text += &section.text(found, self.device.as_ref());
            }
        }
        let json = self.json()?;
        Ok(format!(
            "{text}\nThe same as JSON (schema {SCHEMA}), with the names of all kernels:\n{json}"
        ))
    }
}

/// The first line.
pub(crate) fn heading(version: &str, found: &Found) -> String {
    let System { os, arch, cores } = &found.system;
    format!("wgpu-bcfsort doctor {version} ({os}, {arch}, {cores} cores)\n")
}

/// A part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Devices,
    Limits,
    Kernels,
    Sorts,
    Times,
    Verdict,
}

impl Section {
    const ALL: [Self; 6] = [
        Self::Devices,
        Self::Limits,
        Self::Kernels,
        Self::Sorts,
        Self::Times,
        Self::Verdict,
    ];

    /// The section, with an empty line before it; empty if it has nothing to say.
    pub(crate) fn text(self, found: &Found, device: Option<&Device>) -> String {
        let (title, lines) = match self {
            Self::Devices => ("Devices", devices(found, device)),
            Self::Limits => ("Limits, features, tuning", limits(found)),
            Self::Kernels => (
                "Kernels",
                found.kernels.as_ref().map_or_else(Vec::new, kernels),
            ),
            Self::Sorts => ("Sorts, compared with the CPU's", sorts(&found.sorts)),
            Self::Times => (
                "Times of keys on the device, without transfers",
                times(found),
            ),
            Self::Verdict => ("Result", verdict(found)),
        };
        if lines.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{title}\n");
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

fn devices(found: &Found, device: Option<&Device>) -> Vec<String> {
    let mut lines = Vec::new();
    for adapter in &found.adapters {
        let Device {
            name,
            backend,
            driver,
            ..
        } = adapter.into();
        lines.push(format!(
            "{}: {name}, {backend}, driver: {driver}",
            adapter.index
        ));
    }
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    if let Some(device) = device {
        lines.push(format!("examined: {}, type {}", device.name, device.r#type));
    }
    if !found.environment.is_empty() {
        lines.push(format!("variables set: {}", found.environment.join(", ")));
    }
    lines
}

fn limits(found: &Found) -> Vec<String> {
    let mut lines: Vec<String> = (found.limits.iter())
        .map(|limit| {
            format!(
                "{:<42} {:>12}  needed: {}",
                limit.name, limit.value, limit.needed
            )
        })
        .collect();
    lines.extend(found.features.iter().map(|feature| {
        let there = if feature.available { "yes" } else { "no" };
        format!("{:<42} {there:>12}  for {}", feature.name, feature.purpose)
    }));
    if let Some(tuning) = &found.tuning {
        lines.push(format!(
            "sample sort: tile {}, samples {}, merged {}, kernels for {}",
            tuning.tile,
            tuning.samples,
            tuning.merged,
            if tuning.gpu { "GPUs" } else { "CPUs" }
        ));
        lines.push(format!(
            "engine of 2^20 u32 keys: {}; at once: {} u32 keys, {} u64 keys",
            tuning.engine, tuning.max_len_u32, tuning.max_len_u64
        ));
    }
    lines
}

fn kernels(kernels: &Kernels) -> Vec<String> {
    let right = kernels.right.len();
    let run = right + kernels.wrong.len() + kernels.failed.len();
    let left_out: usize = kernels.left_out.iter().map(|out| out.kernels.len()).sum();
    let mut lines = vec![
        format!(
            "{run} of {} run, in {} recordings",
            run + left_out,
            kernels.recordings
        ),
        format!("{right} leave the same bits as in the lock-step executor on the CPU"),
    ];
    if kernels.executor_wrong.is_empty() {
        lines.push("the executor's results are the CPU's".to_owned());
    }
    for (outcomes, verb) in [(&kernels.wrong, "WRONG"), (&kernels.failed, "FAILED")] {
        let listed = outcomes.iter();
        lines.extend(listed.map(|one| format!("{verb}: {}: {}", one.kernel, one.what)));
    }
    let wrong = kernels.executor_wrong.iter();
    lines.extend(wrong.map(|what| format!("WRONG in the executor: {what}")));
    for out in &kernels.left_out {
        lines.push(format!("not run: {}: {}", out.kernels.len(), out.reason));
    }
    lines
}

fn sorts(sorts: &[Sort]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for sort in sorts {
        if names.contains(&sort.sort.as_str()) {
            continue;
        }
        names.push(&sort.sort);
        let of_name = || sorts.iter().filter(|other| other.sort == sort.sort);
        let right = of_name().filter(|sort| sort.wrong.is_none());
        let right: Vec<String> = right.map(|sort| sort.len.to_string()).collect();
        if !right.is_empty() {
            lines.push(format!("{:<24} right: {}", sort.sort, right.join(", ")));
        }
        for (sort, wrong) in of_name().filter_map(|sort| Some((sort, sort.wrong.as_ref()?))) {
            lines.push(format!("{:<24} WRONG: {}: {wrong}", sort.sort, sort.len));
        }
    }
    lines
}

fn times(found: &Found) -> Vec<String> {
    let line = |one: &Time| {
        let median = Duration::from_secs_f64(one.median_s);
        format!(
            "{:<20} {:>10} {:>10} {:>15}  {}, {}",
            one.sort,
            one.keys,
            time(median),
            rate(one.keys, median),
            one.engine,
            one.clock
        )
    };
    found.times.iter().map(line).collect()
}

fn verdict(found: &Found) -> Vec<String> {
    let problem = |problem: &String| format!("problem: {problem}");
    let mut lines: Vec<String> = found.problems.iter().map(problem).collect();
    lines.extend(found.notes.iter().map(|note| format!("note: {note}")));
    lines.push(if found.is_right() {
        format!("all is right ({:.1} s)", found.seconds)
    } else {
        format!("something is wrong ({:.1} s)", found.seconds)
    });
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A report with something in every field.
    pub(crate) fn full() -> Report {
        let adapter = serde_json::json!({
            "index": 0, "name": "A GPU", "type": "discrete", "backend": "vulkan",
            "driver": "a driver", "driver_info": "1.2", "vendor_id": 1, "device_id": 2,
            "timestamps": true, "max_buffer_size": 1, "max_storage_buffer_binding_size": 1,
            "max_compute_workgroup_storage_size": 1, "max_compute_invocations_per_workgroup": 1,
        });
        let adapter: Listed = serde_json::from_value(adapter).unwrap();
        let outcome = |kernel: &str| Outcome {
            kernel: kernel.to_owned(),
            what: "keys differ".to_owned(),
        };
        let found = Found {
            quick: true,
            system: System {
                os: "linux".to_owned(),
                arch: "x86_64".to_owned(),
                cores: 2,
            },
            environment: vec!["VK_DRIVER_FILES".to_owned()],
            limits: vec![Limit {
                name: "max_buffer_size".to_owned(),
                value: 1 << 30,
                needed: 16 << 20,
            }],
            features: vec![Feature {
                name: "TIMESTAMP_QUERY".to_owned(),
                available: true,
                purpose: "times".to_owned(),
            }],
            tuning: Some(Tuning {
                tile: 4096,
                samples: 4096,
                merged: 65536,
                gpu: true,
                engine: "sample-sort".to_owned(),
                max_len_u32: 9,
                max_len_u64: 4,
            }),
            kernels: Some(Kernels {
                right: vec!["bcfsort.a".to_owned()],
                wrong: vec![outcome("bcfsort.b")],
                failed: vec![outcome("bcfsort.c")],
                left_out: vec![LeftOut {
                    reason: "too large".to_owned(),
                    kernels: vec!["bcfsort.d".to_owned()],
                }],
                recordings: 3,
                executor_wrong: vec!["3 u32 keys".to_owned()],
            }),
            sorts: [None, Some("key 3 is 4, not 5".to_owned())]
                .map(|wrong| Sort {
                    sort: "u32".to_owned(),
                    len: 1001,
                    wrong,
                })
                .to_vec(),
            times: vec![Time {
                sort: "u32".to_owned(),
                keys: 1 << 20,
                engine: "sample-sort".to_owned(),
                clock: "GPU timestamps".to_owned(),
                median_s: 0.25,
                min_s: 0.125,
            }],
            problems: vec!["sorts: 1 of 2 are wrong".to_owned()],
            notes: vec!["a note".to_owned()],
            seconds: 1.5,
            adapters: vec![adapter],
        };
        let device = Device::from(&found.adapters[0]);
        Report::new(Some(device), found)
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = full();
        for text in [report.json().unwrap(), report.text().unwrap()] {
            assert_eq!(Report::parse(&text), Ok(report.clone()), "{text}");
        }
        let seen = r#"{"schema": 1, "source": "test suite", "version": "0.1.0",
            "device": {"name": "A", "type": "cpu", "backend": "gl", "driver": ""},
            "seen": {"what": "all of it", "page": "docs/portability.md"}}"#;
        let seen = Report::parse(seen).unwrap();
        assert_eq!(Report::parse(&seen.json().unwrap()), Ok(seen));
    }

    #[test]
    fn other_files_and_schemas_are_refused() {
        let newer = full()
            .json()
            .unwrap()
            .replace("\"schema\": 1", "\"schema\": 2");
        let refused = Report::parse(&newer).unwrap_err();
        assert!(refused.contains("schema 2"), "{refused}");
        for other in ["", "a text", "{}", "[1]", "text\n{\"schema\": 1}"] {
            assert!(Report::parse(other).is_err(), "{other}");
        }
    }

    #[test]
    fn what_is_wrong_is_shown() {
        let text = full().text().unwrap();
        for line in [
            "  0: A GPU, vulkan, driver: a driver 1.2\n",
            "  3 of 4 run, in 3 recordings\n",
            "  WRONG: bcfsort.b: keys differ\n",
            "  FAILED: bcfsort.c: keys differ\n",
            "  WRONG in the executor: 3 u32 keys\n",
            "  not run: 1: too large\n",
            "  u32                      right: 1001\n",
            "  u32                      WRONG: 1001: key 3 is 4, not 5\n",
            "  problem: sorts: 1 of 2 are wrong\n",
            "  something is wrong (1.5 s)\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(!text.contains("the executor's results are the CPU's"));
    }
}
