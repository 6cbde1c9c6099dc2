//! The gate of Tint, which compiles WGSL in Chrome and Edge, run by Node.js on Dawn's null backend.
//!
//! It proves what naga does not look for: barriers in uniform control flow, no two pointers to the
//! same memory. Its null backend also holds pipelines against the limits that each device grants.

use crate::gate::{Gate, Subject, caught};
use crate::tools;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use wgpu_bcfsort::internals::kernel::Kernel;

/// A text, as tint.mjs gets it.
#[derive(Clone, Serialize)]
struct Text {
    label: String,
    wgsl: String,
}

impl From<&Subject> for Text {
    fn from(subject: &Subject) -> Self {
        Self {
            label: subject.label.clone(),
            wgsl: subject.wgsl.clone(),
        }
    }
}

/// What tint.mjs says of it.
#[derive(Deserialize)]
struct Verdict {
    /// What the compiler said: errors, warnings and its explanations of them.
    messages: Vec<String>,
    /// Why there is no pipeline of it; of a module with errors none is tried.
    pipeline: Option<String>,
}

/// Workgroup memory that the null backend has, and every browser's device.
const WORKGROUP_MEMORY: u32 = 16 << 10;

/// Lanes of a workgroup there, at the most.
const LANES: u32 = 256;

/// What it says of a kernel that takes more of either; none of one that does not.
fn refusal(subject: &Subject) -> Option<String> {
    let lanes = subject.module.entry_points[0].workgroup_size[0];
    let bytes = subject.specialised.workgroup_bytes();
    if lanes > LANES {
        Some(format!(
            "workgroup_size({lanes}, 1, 1) that exceeds the maximum"
        ))
    } else if bytes > WORKGROUP_MEMORY {
        Some(format!(
            "total use of workgroup storage ({bytes} bytes) is larger"
        ))
    } else {
        None
    }
}

pub(crate) struct Tint {
    texts: Vec<Text>,
    /// Kernels that take more workgroup memory or lanes than that: these are compiled, but no
    /// pipeline can be made of them.
    too_large: BTreeSet<String>,
    /// By label. Node.js starts once, for all texts.
    verdicts: OnceLock<Result<HashMap<String, Verdict>, String>>,
}

impl Tint {
    pub(crate) fn new(subjects: &[Subject]) -> Self {
        let too_large = (subjects.iter()).filter(|subject| refusal(subject).is_some());
        Self {
            texts: subjects.iter().map(Text::from).collect(),
            too_large: too_large
                .map(|subject| {
                    let words = subject.specialised.key().words();
                    format!("{} ({words}w)", subject.specialised.kernel().name())
                })
                .collect(),
            verdicts: OnceLock::new(),
        }
    }
}

impl Gate for Tint {
    fn name(&self) -> &'static str {
        "Tint"
    }

    fn catches(&self) -> &'static str {
        "what browsers refuse: divergent barriers, aliased pointers, limits exceeded"
    }

    fn ready(&self) -> Result<String, String> {
        let node = tools::run(Command::new("node").arg("--version"), b"")?;
        let manifest = tools::installed("node/node_modules/webgpu/package.json")?;
        let manifest = std::fs::read(manifest).map_err(|e| e.to_string())?;
        let manifest: serde_json::Value =
            serde_json::from_slice(&manifest).map_err(|e| e.to_string())?;
        compile(&[])?;
        let mut found = format!(
            "npm package webgpu {}, Node.js {}",
            manifest["version"].as_str().unwrap_or("of no version"),
            String::from_utf8_lossy(&node).trim(),
        );
        if !self.too_large.is_empty() {
            let names: Vec<&str> = self.too_large.iter().map(String::as_str).collect();
            found += "; compiled, but refused as too large for its 16 KiB of workgroup memory \
                      or its 256 lanes: ";
            found += &names.join(", ");
        }
        Ok(found)
    }

    // The first waits for all texts.
    fn takes_one_at_a_time(&self) -> bool {
        true
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        let verdicts = self.verdicts.get_or_init(|| compile(&self.texts)).as_ref();
        let verdict = judge(verdicts.map_err(String::clone)?, &subject.label);
        let Some(refusal) = refusal(subject) else {
            return verdict;
        };
        // The compiler has nothing to say; the device has this.
        match verdict {
            Err(message) if is_of_device(&message) && message.contains(&refusal) => Ok(()),
            Err(message) => Err(message),
            Ok(()) => Err("a pipeline, with more than the device has".to_owned()),
        }
    }

    fn planted(&self) -> Result<String, String> {
        let faults = [
            (
                "a barrier in divergent control flow",
                Subject::altered(
                    Kernel::BucketOffsets,
                    "        workgroupBarrier();\n        if lane >= distance {\n",
                    "        if lane >= distance {\n            workgroupBarrier();\n",
                )?,
                "'workgroupBarrier' must only be called from uniform control flow",
            ),
            (
                "two pointers to one array",
                Subject::altered(
                    Kernel::PageMerge,
                    "fn run_of(",
                    "fn copy(a: ptr<function, array<Key, 32>>, b: ptr<function, array<Key, 32>>) {
                        (*a)[0] = (*b)[1];
                    }
                    fn alias_r() { var r: array<Key, 32>; copy(&r, &r); }
                    fn run_of(",
                )?,
                "invalid aliased pointer argument",
            ),
            (
                "32 KiB of workgroup memory",
                Subject::altered(
                    Kernel::BucketOffsets,
                    "array<u32, 2u * LANES>",
                    "array<u32, 32u * LANES>",
                )?,
                "total use of workgroup storage",
            ),
        ];
        let texts: Vec<_> = faults
            .iter()
            .map(|(fault, subject, _)| Text {
                label: (*fault).to_owned(),
                ..subject.into()
            })
            .collect();
        let verdicts = compile(&texts)?;
        let caught: Result<Vec<_>, _> = faults
            .iter()
            .map(|(fault, _, reason)| caught(fault, judge(&verdicts, fault), reason))
            .collect();
        Ok(caught?.join("; "))
    }
}

/// Whether a message begins as those of pipelines do, not of compiled texts.
fn is_of_device(message: &str) -> bool {
    ["The ", "Entry-point "]
        .iter()
        .any(|begin| message.starts_with(begin))
}

fn compile(texts: &[Text]) -> Result<HashMap<String, Verdict>, String> {
    let script = Path::new(tools::TOOLS).join("tint.mjs");
    let package = tools::installed("node/node_modules/webgpu/index.js")?;
    let texts = serde_json::to_vec(texts).map_err(|e| e.to_string())?;
    let verdicts = tools::run(Command::new("node").arg(script).arg(package), &texts)?;
    serde_json::from_slice(&verdicts).map_err(|e| format!("tint.mjs: {e}"))
}

fn judge(verdicts: &HashMap<String, Verdict>, label: &str) -> Result<(), String> {
    let verdict = verdicts
        .get(label)
        .ok_or_else(|| format!("tint.mjs says nothing of {label}"))?;
    let mut wrong = verdict.messages.clone();
    wrong.extend(verdict.pipeline.clone());
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}
