//! The gate of Tint, the WGSL compiler of Chrome and Edge, run by Node.js on Dawn's null backend.
//!
//! It checks properties that naga does not: barriers are in uniform control flow, and no two
//! pointers alias. The null backend also checks pipelines against the limits of its device.

use crate::gate::{Gate, Subject, caught};
use crate::tools;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::mergesort::kernels::{bucket_offsets, page_merge};

/// A text in the input of tint.mjs.
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

/// The output of tint.mjs for a text.
#[derive(Deserialize)]
struct Verdict {
    /// The compiler's messages: errors, warnings and explanations.
    messages: Vec<String>,
    /// The error of creating a pipeline. Not tried for a module with errors.
    pipeline: Option<String>,
}

/// Workgroup memory of the null backend and of every browser's device.
const WORKGROUP_MEMORY: u32 = 16 << 10;

/// Maximum number of lanes per workgroup of these devices.
const LANES: u32 = 256;

/// The error for a kernel that exceeds either limit; `None` for others.
fn refusal(subject: &Subject) -> Option<String> {
    let lanes = subject.module.entry_points[0].workgroup_size[0];
    let bytes = subject.kernel.workgroup_bytes();
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
    /// Kernels that exceed a limit. They are compiled, but pipelines cannot be made of them.
    too_large: BTreeSet<String>,
    /// By label. Node.js is started once for all texts.
    verdicts: OnceLock<Result<HashMap<String, Verdict>, String>>,
}

impl Tint {
    pub(crate) fn new(subjects: &[Subject]) -> Self {
        let too_large = (subjects.iter()).filter(|subject| refusal(subject).is_some());
        Self {
            texts: subjects.iter().map(Text::from).collect(),
            too_large: too_large
                .map(|subject| {
                    let words = subject.kernel.key().words();
                    format!("{} ({words}w)", subject.kernel.name())
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

    // The first call compiles all texts, and others wait.
    fn is_sequential(&self) -> bool {
        true
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        let verdicts = self.verdicts.get_or_init(|| compile(&self.texts)).as_ref();
        let verdict = judge(verdicts.map_err(String::clone)?, &subject.label);
        let Some(refusal) = refusal(subject) else {
            return verdict;
        };
        // The compiler must accept it, but the device must not.
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
                    &bucket_offsets(),
                    "        workgroupBarrier();\n        if lane >= distance {\n",
                    "        if lane >= distance {\n            workgroupBarrier();\n",
                )?,
                "'workgroupBarrier' must only be called from uniform control flow",
            ),
            (
                "two pointers to one array",
                Subject::altered(
                    &page_merge(KeyType::U32),
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
                    &bucket_offsets(),
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

/// True if a message begins like an error of a pipeline, not of a text.
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
