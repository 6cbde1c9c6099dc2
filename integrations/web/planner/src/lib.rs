//! Plans sorts for the browser package: from the description of a job to the kernels, buffers and
//! dispatches that the page's own device runs. It has no graphics API.
//!
//! Descriptions and plans are JSON, so that the executor in TypeScript has one text for both
//! directions, and nothing of it depends on this crate's types.

mod answer;
mod parts;
mod request;
mod splats;

use answer::Names;
use request::BufferRange;
use std::fmt::Debug;
use wasm_bindgen::prelude::wasm_bindgen;
use wgpu_bcfsort::internals::job::{AsSpan, Bound, BufferSort};
use wgpu_bcfsort::internals::planner;
use wgpu_bcfsort::internals::recording::{ParameterBlocks, Recording};
use wgpu_bcfsort::internals::scan::{ScanLayout, kernels::adds, record_scan};
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::{BufferRole, Error};

/// Plans jobs for one device.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Planner(planner::Planner);

/// One planned job.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Plan {
    recording: Recording,
    kernels: Vec<Kernel>,
    blocks: ParameterBlocks,
    listing: answer::Plan,
}

/// The limits that a device needs, as JSON: an object of names in WebGPU and least values.
#[wasm_bindgen(js_name = neededLimits)]
#[must_use]
pub fn needed_limits() -> String {
    answer::needed_limits()
}

#[wasm_bindgen]
impl Planner {
    /// A planner for a device, which JSON describes.
    ///
    /// # Errors
    ///
    /// A failure, as JSON: its code and its message.
    #[wasm_bindgen(constructor)]
    pub fn new(device: &str) -> Result<Self, String> {
        let device: request::Device = request::read(device)?;
        device.planner().map(Self).map_err(failure)
    }

    /// The largest number of keys of a type in one sort.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[wasm_bindgen(js_name = maxLength)]
    pub fn max_length(&self, key: &str) -> Result<f64, String> {
        let key = request::key_type(key)?;
        #[expect(clippy::cast_precision_loss, reason = "below 2^32")]
        Ok(self.0.max_len(key) as f64)
    }

    /// Plans a sort or a compaction, which JSON describes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn plan(&self, job: &str) -> Result<Plan, String> {
        let job: request::Job = request::read(job)?;
        let names = job.names.clone();
        let job = job.job()?;
        let recording = self.0.record(&job);
        let plan = recording.and_then(|recording| self.planned(&job, recording));
        plan.map_err(|error| failed(&error, &names))
    }

    /// Plans a scan, which JSON describes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[wasm_bindgen(js_name = planScan)]
    pub fn plan_scan(&self, scan: &str) -> Result<Plan, String> {
        let scan: request::Scan = request::read(scan)?;
        let (names, is_exclusive) = (scan.names.clone(), scan.exclusive);
        let job = scan.job()?;
        let recording = self.record_scan(&job, is_exclusive);
        let plan = recording.and_then(|recording| self.planned(&job, recording));
        plan.map_err(|error| failed(&error, &names))
    }

    /// Plans the top k of rows or segments, which JSON describes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[wasm_bindgen(js_name = planTopK)]
    pub fn plan_top_k(&self, top_k: &str) -> Result<Plan, String> {
        let (recording, bindings) = parts::top_k(&self.0, request::read(top_k)?)?;
        self.bound(recording, &bindings).map_err(failure)
    }

    /// Plans a merge, which JSON describes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[wasm_bindgen(js_name = planMerge)]
    pub fn plan_merge(&self, merge: &str) -> Result<Plan, String> {
        let (recording, bindings) = parts::merge(&self.0, request::read(merge)?)?;
        self.bound(recording, &bindings).map_err(failure)
    }

    /// Plans frames of splats, which JSON describes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[wasm_bindgen(js_name = planSplats)]
    pub fn plan_splats(&self, splats: &str) -> Result<Plan, String> {
        splats::plan(self, &request::read(splats)?)
    }
}

impl Planner {
    /// Records a scan of a job's keys. The job itself records nothing.
    fn record_scan(
        &self,
        job: &BufferSort<BufferRange>,
        is_exclusive: bool,
    ) -> Result<Recording, Error> {
        let of = job.key;
        if !adds(of) {
            return Err(Error::NoSums(of));
        }
        let len = self.0.record(job)?.len;
        let bindings = job.bindings()?;
        // (Offsets have been checked, to be multiples of what is counted.)
        let first = |wanted, bytes| {
            let binding = bindings.iter().find(|(role, ..)| *role == wanted);
            binding.map(|(_, range, bound)| ((range.span().offset - bound.offset) / bytes) as u32)
        };
        let layout = ScanLayout {
            first: first(BufferRole::Keys, of.bytes()).unwrap_or_default(),
            output: first(BufferRole::Output, of.bytes()),
            is_exclusive,
            count_at: first(BufferRole::Count, 4),
        };
        Ok(record_scan(len, of, &layout, &self.0.limits))
    }

    /// The plan of a recording, on the buffers of a job.
    fn planned(&self, job: &BufferSort<BufferRange>, recording: Recording) -> Result<Plan, Error> {
        let bindings = job.bindings()?.into_iter();
        let bindings: Vec<_> = bindings.map(|(role, _, bound)| (role, bound)).collect();
        self.bound(recording, &bindings)
    }

    /// The plan of a recording, and of what is bound.
    fn bound(&self, recording: Recording, bindings: &[(BufferRole, Bound)]) -> Result<Plan, Error> {
        let blocks = recording.parameter_blocks()?;
        let keys = self.0.limits.keys_per_dispatch;
        let kernels = answer::kernels(&recording);
        let listing = answer::plan(&recording, &kernels, &blocks, bindings, keys);
        Ok(Plan {
            recording,
            kernels,
            blocks,
            listing,
        })
    }
}

#[wasm_bindgen]
impl Plan {
    /// The buffers, kernels and steps, as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        self.listing.json()
    }

    /// The parameters of steps, constant.
    #[must_use]
    pub fn fixed(&self) -> Vec<u8> {
        self.blocks.fixed.clone()
    }

    /// The parameters of steps with an indirect count, which a kernel writes.
    #[must_use]
    pub fn indirect(&self) -> Vec<u8> {
        self.blocks.indirect.clone()
    }

    /// A kernel by its number, as JSON: its WGSL, and what it binds.
    ///
    /// # Errors
    ///
    /// As [`Planner::new`].
    pub fn kernel(&self, number: usize) -> Result<String, String> {
        match self.kernels.get(number) {
            Some(kernel) => answer::kernel(&self.recording, kernel).map_err(failure),
            None => Ok(splats::kernel(number - self.kernels.len())),
        }
    }
}

/// A failure of what is no job, as JSON.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failure(error: Error) -> String {
    failed(&error, &Names::new())
}

/// A failure as JSON.
fn failed(error: &Error, names: &Names) -> String {
    answer::failure(&code_of(error), &answer::message(error, names))
}

/// The name of an error's variant.
fn code_of(error: &impl Debug) -> String {
    let debug = format!("{error:?}");
    let name = debug.split(|c: char| !c.is_alphanumeric()).next();
    name.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    pub(crate) fn device() -> Value {
        json!({
            "isFallback": false,
            "seed": 7,
            "limits": {
                "maxBufferSize": 1 << 28,
                "maxStorageBufferBindingSize": 1 << 27,
                "maxComputeWorkgroupsPerDimension": 65_535,
                "maxComputeWorkgroupStorageSize": 16 << 10,
                "maxComputeInvocationsPerWorkgroup": 256,
                "maxComputeWorkgroupSizeX": 256,
                "maxStorageBuffersPerShaderStage": 8,
            },
        })
    }

    pub(crate) fn range(buffer: u32, bytes: u64) -> Value {
        json!({"buffer": buffer, "offset": 0, "size": bytes, "bufferSize": bytes})
    }

    /// A job with these parts, which replace those that it has.
    pub(crate) fn with(mut job: Value, parts: &Value) -> Value {
        let all = job.as_object_mut().unwrap();
        all.extend(parts.as_object().unwrap().clone());
        job
    }

    pub(crate) fn message(failure: &str) -> String {
        let failure: Value = serde_json::from_str(failure).unwrap();
        failure["message"].as_str().unwrap().to_owned()
    }

    pub(crate) fn code(failure: &str) -> String {
        let failure: Value = serde_json::from_str(failure).unwrap();
        failure["code"].as_str().unwrap().to_owned()
    }

    /// The plan's text, of which every buffer and kernel has been looked up.
    pub(crate) fn checked(plan: &Plan) -> Value {
        let text: Value = serde_json::from_str(&plan.json()).unwrap();
        for step in text["steps"].as_array().unwrap() {
            let number = usize::try_from(step["kernel"].as_u64().unwrap()).unwrap();
            let kernel: Value = serde_json::from_str(&plan.kernel(number).unwrap()).unwrap();
            let wgsl = kernel["wgsl"].as_str().unwrap();
            assert!(wgsl.contains("@compute"));
            // Some Safari versions fail silently on an override that is an array's size.
            assert!(!wgsl.contains("override"));
            assert!(!wgsl.contains("ptr<workgroup"));
            // What not every browser has is enabled or required first.
            assert!(!wgsl.contains("enable ") && !wgsl.contains("requires "));
            for binding in kernel["bindings"].as_array().unwrap() {
                let name = binding["name"].as_str().unwrap();
                let Some(buffer) = step["bindings"].get(name) else {
                    assert_eq!(name, "params");
                    continue;
                };
                let buffer = buffer.as_str().unwrap();
                let known = text["bindings"].get(buffer).or(text["buffers"].get(buffer));
                assert!(known.is_some() || buffer == "parameters", "{buffer}");
            }
        }
        text
    }

    #[test]
    fn a_plan_names_every_buffer_and_kernel_of_its_steps() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let bytes = 4_000_000;
        let job = json!({
            "type": "f32", "length": 1_000_000, "descending": true, "keys": range(0, bytes),
            "payload": [{"rows": range(1, bytes), "bytes": 4, "unstable": true}],
            "count": range(2, 4),
        });
        let plan = planner.plan(&job.to_string()).unwrap();
        let text = checked(&plan);
        assert!(text["steps"].as_array().unwrap().len() > 4);
        assert!(text["bindings"]["count"].is_object());
        assert_eq!(plan.indirect().len() % 256, 0);
        assert!(!plan.indirect().is_empty());
    }

    #[test]
    fn what_is_found_is_planned_after_the_sort_or_without_it() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let bytes = 40_000;
        let mut job = json!({
            "type": "u32", "length": 10_000, "keys": range(0, bytes), "count": range(1, 4),
            "payload": [{"rows": range(2, bytes), "bytes": 4, "firsts": range(3, bytes)}],
            "runs": {
                "count": range(4, 4), "starts": range(5, bytes), "lengths": range(6, bytes),
                "keys": range(7, bytes),
            },
            "startsOf": {"table": range(8, 404), "cells": 100},
            "search": {
                "needles": range(9, 40), "count": 10, "places": range(10, 40), "upper": true,
            },
        });
        let steps = |job: &Value| {
            let text = checked(&planner.plan(&job.to_string()).unwrap());
            assert!(text["bindings"]["run_payload.0"].is_object());
            text["steps"].as_array().unwrap().len()
        };
        let with_sort = steps(&job);
        job["sorted"] = json!(true);
        let without = steps(&job);
        assert!(without > 8 && without < with_sort, "{without} {with_sort}");
    }

    #[test]
    fn flags_are_counted_by_kernels_of_their_own() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let mut job = json!({
            "type": "u8", "length": 1000, "keys": range(0, 1000), "sorted": true,
            "runs": {"ofFlags": true, "count": range(1, 4), "starts": range(2, 4000)},
        });
        let kernels = |job: &Value| {
            let text = checked(&planner.plan(&job.to_string()).unwrap());
            text["kernels"].to_string()
        };
        let of_flags = kernels(&job);
        job["runs"]["ofFlags"] = json!(false);
        assert_ne!(of_flags, kernels(&job));
    }

    #[test]
    fn the_top_k_of_rows_and_of_segments_is_one_dispatch() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let plan = |parts: &Value| {
            let job = json!({
                "type": "u16", "length": 12_000, "keys": range(0, 24_000), "k": 20,
                "indices": range(1, 1000),
                "names": {
                    "keys": "keys", "values": "indices", "output": "output",
                    "offsets": "segments.offsets",
                },
            });
            planner.plan_top_k(&with(job, parts).to_string())
        };
        let planned = |parts: Value| checked(&plan(&parts).unwrap());
        for (parts, workgroups) in [
            (json!({"rows": 12}), [12, 1]),
            (
                json!({"segments": {"offsets": range(2, 28), "count": 7}}),
                [7, 1],
            ),
        ] {
            let text = planned(parts);
            assert_eq!(text["steps"][0]["workgroups"], json!(workgroups));
            assert_eq!(text["steps"].as_array().unwrap().len(), 1);
            assert_eq!(text["scratchBytes"], json!(0));
        }
        assert_eq!(planned(json!({"rows": 0, "length": 0}))["steps"], json!([]));
        let output = json!({"type": "u64", "keys": range(0, 96_000), "output": range(2, 1920)});
        let of_output = |parts: Value| plan(&with(parts, &output));
        checked(&of_output(json!({"rows": 12})).unwrap());
        for (failure, expected) in [
            (plan(&json!({})), "a top k is either of rows or of segments"),
            (
                plan(&json!({"rows": 7})),
                "length is 12000, but must be a multiple of rows",
            ),
            (
                plan(&json!({"rows": 12, "k": 0})),
                "k is 0, but must be 1 to 1024",
            ),
            (
                plan(&json!({"rows": 1, "length": 1_048_577, "keys": range(0, 2_097_154)})),
                "length / rows is 1048577, but must be at most 2^20",
            ),
            (
                plan(&json!({"rows": 13, "length": 13})),
                "indices has 1000 bytes, but needs 1040",
            ),
            (
                plan(&json!({"rows": 1, "indices": null})),
                "a top k leaves nothing to write: name output or indices",
            ),
            (
                plan(&json!({"rows": 1, "output": range(2, 80)})),
                "bits of the keys is 16, but must be 32 or 64 where keys are written: write their \
                 indices",
            ),
            (
                plan(&json!({"rows": 1, "indices": range(0, 80)})),
                "keys and indices are in one buffer, which a dispatch cannot bind twice: copy one \
                 of them to another buffer",
            ),
            (
                plan(&json!({"segments": {"offsets": range(2, 24), "count": 7}})),
                "segments.offsets has 24 bytes, but needs 28",
            ),
            (
                of_output(json!({"rows": 16})),
                "output has 1920 bytes, but needs 2560",
            ),
        ] {
            assert_eq!(message(&failure.unwrap_err()), expected);
        }
    }

    #[test]
    fn a_merge_reads_two_ranges_and_binds_no_empty_one() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let input = |buffer, length: u64, parts: Value| {
            let keys = range(buffer, length * 4);
            with(json!({"keys": keys, "length": length}), &parts)
        };
        let plan = |parts: &Value| {
            let none = json!({});
            let job = json!({
                "type": "f32", "first": input(0, 3000, none.clone()),
                "second": input(1, 2000, none), "output": {"keys": range(2, 20_000)},
                "names": {
                    "keys": "first.keys", "second_keys": "second.keys", "output": "output.keys",
                    "payload.1": "second.values", "second_count": "second.count",
                },
            });
            planner.plan_merge(&with(job, parts).to_string())
        };
        let planned = |parts: Value| checked(&plan(&parts).unwrap());
        let names = |text: &Value| {
            let bindings = text["bindings"].as_object().unwrap();
            bindings.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let plain = planned(json!({}));
        assert_eq!(plain["steps"].as_array().unwrap().len(), 2);
        assert_eq!(names(&plain), "keys output second_keys");
        let whole = planned(json!({
            "descending": true,
            "first": input(0, 3000, json!({"values": range(3, 12_000), "count": range(6, 4)})),
            "second": input(1, 2000, json!({"values": range(4, 8000), "count": range(6, 4)})),
            "output": {"keys": range(2, 20_000), "values": range(5, 20_000)},
        }));
        assert_eq!(
            names(&whole),
            "count keys output payload.0 payload.1 payload_output.0 second_count second_keys"
        );
        let half = json!({"buffer": 0, "offset": 12_000, "size": 8000, "bufferSize": 20_000});
        planned(json!({"second": {"keys": half, "length": 2000}}));
        let alone = planned(json!({"first": input(0, 0, json!({}))}));
        assert_eq!(names(&alone), "output second_keys");
        for (failure, expected) in [
            (
                plan(&json!({"type": "u16"})),
                "u16 keys are not merged: merges are of keys of 32 and 64 bits",
            ),
            (
                plan(&json!({"second": input(1, 2001, json!({}))})),
                "output.keys has 20000 bytes, but needs 20004",
            ),
            (
                plan(&json!({"second": {"keys": range(1, 7000), "length": 2000}})),
                "second.keys has 7000 bytes, but needs 8000",
            ),
            (
                plan(&json!({"output": {"keys": range(1, 20_000)}})),
                "second.keys and output.keys are in one buffer, which a dispatch cannot bind \
                 twice: copy one of them to another buffer",
            ),
            (
                plan(&json!({"output": {"keys": range(2, 20_000), "values": range(5, 20_000)}})),
                "values are those of first, second and output: name all or none",
            ),
            (
                plan(&json!({"first": input(0, 3000, json!({"count": range(6, 4)}))})),
                "count is that of first and of second: name both or none",
            ),
        ] {
            assert_eq!(message(&failure.unwrap_err()), expected);
        }
    }

    #[test]
    fn a_scan_begins_where_its_ranges_do() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let at = |buffer, offset| {
            let (size, all) = (8000, 20_000);
            json!({"buffer": buffer, "offset": offset, "size": size, "bufferSize": all})
        };
        let mut scan = json!({
            "type": "i64", "length": 1000, "values": at(0, 264), "output": at(1, 512 + 16),
            "count": at(2, 252), "exclusive": true,
        });
        let plan = planner.plan_scan(&scan.to_string()).unwrap();
        let text = checked(&plan);
        assert_eq!(
            text["bindings"]["keys"],
            json!({"offset": 256, "size": 8008})
        );
        assert_eq!(
            text["bindings"]["output"],
            json!({"offset": 512, "size": 8016})
        );
        assert_eq!(text["bindings"]["count"], json!({"offset": 0, "size": 256}));
        let steps = &plan.recording.steps;
        let last = steps.last().unwrap();
        let parameter = |name| last.parameter(name).unwrap();
        let firsts = (parameter("value_first"), parameter("output_first"));
        assert_eq!((firsts, parameter("exclusive")), ((1, 2), 1));
        assert_eq!(steps[0].parameter("count_at"), Some(63));

        for (part, value, expected) in [
            ("length", json!(1001), "BufferTooSmall"),
            ("length", json!(1 << 28), "TooLarge"),
            ("values", at(0, 260), "Offset"),
            ("output", at(0, 10_000), "SameBuffer"),
            ("type", json!("f64"), "NoSums"),
            ("type", json!("u128"), "InvalidArgument"),
            ("orders", json!(1), "InvalidArgument"),
        ] {
            let before = scan[part].clone();
            scan[part] = value;
            let failure = planner.plan_scan(&scan.to_string()).unwrap_err();
            assert_eq!(code(&failure), expected, "{failure}");
            scan[part] = before;
            if part == "orders" {
                scan.as_object_mut().unwrap().remove(part);
            }
        }
    }

    #[test]
    fn a_text_that_would_overflow_the_stack_is_refused() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let deep = |function: &str| {
            let body = "!".repeat(10_100);
            format!("struct P {{ x: u32 }} fn {function} -> bool {{ return {body}true; }}")
        };
        let predicate = deep("keeps(row: P)");
        let runs = json!({"count": range(1, 4), "ofFlags": true});
        let job = json!({
            "length": 1, "keys": range(0, 4), "sorted": true, "predicate": predicate, "runs": runs
        });
        let failure = planner.plan(&job.to_string()).unwrap_err();
        assert_eq!(code(&failure), "Predicate");
        let comparator = deep("precedes(a: P, b: P)");
        let job = json!({"length": 1, "keys": range(0, 4), "comparator": comparator});
        let failure = planner.plan(&job.to_string()).unwrap_err();
        assert_eq!(code(&failure), "Comparator");
        // A page's stack allows less: the tests in Chromium have that.
        assert!(failure.contains("line 1, column 10062"), "{failure}");
    }

    /// The message of a job's failure: of eight keys, with these parts.
    fn message_with(parts: &Value) -> String {
        let planner = Planner::new(&device().to_string()).unwrap();
        let names = json!({
            "payload.0": "payload[0].rows", "payload.1": "values",
            "offsets": "segments.offsets", "run_count": "unique.count",
            "run_starts": "runs.starts", "run_payload.0": "payload[0].firsts",
            "cells": "startsOf.table", "places": "upperBound.places",
        });
        let job = json!({
            "type": "u32", "length": 8, "keys": range(0, 32), "names": names,
        });
        message(&planner.plan(&with(job, parts).to_string()).unwrap_err())
    }

    #[test]
    fn failures_name_parts_of_the_job_as_javascript_does() {
        let rows = |buffer, bytes| json!({"rows": range(buffer, bytes), "bytes": 8});
        let values =
            |buffer, bytes| json!({"rows": range(buffer, bytes), "bytes": 4, "unstable": true});
        for (parts, expected) in [
            (
                json!({"payload": [rows(1, 60), values(2, 32)]}),
                "payload[0].rows has 60 bytes, but needs 64",
            ),
            (
                json!({"payload": [rows(1, 64), values(2, 28)]}),
                "values has 28 bytes, but needs 32",
            ),
            (
                json!({"segments": {"offsets": range(1, 4), "count": 2}}),
                "segments.offsets has 4 bytes, but needs 8",
            ),
            (
                json!({"range": [0, 9]}),
                "range[1] is 9, but must be at most the number of records",
            ),
            (
                json!({"field": {"stride": 6, "offset": 0}}),
                "field.stride is 6, but must be a multiple of 4 and of the key's bytes, and at \
                 least that",
            ),
            (
                json!({"type": "u8", "length": (1 << 25) + 1}),
                "33554433 u8 keys are too many: this device sorts at most 33554432 at once, each \
                 of which takes 4 bytes while it is sorted (maxStorageBufferBindingSize is \
                 134217728 bytes)",
            ),
        ] {
            assert_eq!(message_with(&parts), expected);
        }
    }

    #[test]
    fn failures_name_parts_of_what_is_found_as_javascript_does() {
        let values =
            |buffer, bytes| json!({"rows": range(buffer, bytes), "bytes": 4, "unstable": true});
        for (parts, expected) in [
            (
                json!({"runs": {"count": range(1, 0)}}),
                "unique.count has 0 bytes, but needs 4",
            ),
            (
                json!({"runs": {"count": range(1, 4), "starts": range(1, 32)}}),
                "unique.count and runs.starts are in one buffer, which a dispatch cannot bind \
                 twice: copy one of them to another buffer",
            ),
            (
                json!({
                    "runs": {"count": range(1, 4)},
                    "payload": [{"rows": range(2, 64), "bytes": 8, "firsts": range(3, 32)}],
                }),
                "payload[0].firsts has 32 bytes, but needs 64",
            ),
            (
                json!({"startsOf": {"table": range(1, 32), "cells": 8}}),
                "startsOf.table has 32 bytes, but needs 36",
            ),
            (
                json!({"type": "f32", "startsOf": {"table": range(1, 36), "cells": 8}}),
                "startsOf needs keys of an unsigned type, not f32",
            ),
            (
                json!({"search": {
                    "needles": range(1, 8), "count": 2, "places": range(2, 4), "upper": true,
                }}),
                "upperBound.places has 4 bytes, but needs 8",
            ),
            (
                json!({"range": [0, 1], "runs": {"count": range(1, 4)}}),
                "runs, unique, startsOf, lowerBound and upperBound need keys that are all in \
                 order, but only some ranks are sorted",
            ),
            (
                json!({"sorted": true}),
                "sorted leaves nothing to write: name runs, unique, startsOf, lowerBound or \
                 upperBound",
            ),
            (
                json!({"sorted": true, "runs": {"count": range(1, 4)}, "indices": range(2, 32)}),
                "sorted combines with none of keepKeys, output and indices: nothing is sorted",
            ),
            (
                json!({
                    "sorted": true, "runs": {"count": range(1, 4)}, "payload": [values(2, 32)],
                }),
                "sorted moves neither values nor payload: a payload has firsts, and no output",
            ),
            (
                json!({
                    "payload": [{"rows": range(1, 64), "bytes": 8, "firsts": range(2, 64)}],
                }),
                "payload[].firsts are those of runs: name runs or unique",
            ),
        ] {
            assert_eq!(message_with(&parts), expected);
        }
    }

    #[test]
    fn failures_have_the_code_of_their_error() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let of = |job: Value| code(&planner.plan(&job.to_string()).unwrap_err());
        let job = |length, keys| json!({"type": "u32", "length": length, "keys": keys});
        assert_eq!(of(job(2, range(0, 4))), "BufferTooSmall");
        assert_eq!(of(job(1 << 28, range(0, 4))), "TooLarge");
        let mut same = job(1, range(0, 4));
        same["indices"] = range(0, 4);
        assert_eq!(of(same), "SameBuffer");
        let mut unknown = job(1, range(0, 4));
        unknown["orders"] = json!(1);
        assert_eq!(of(unknown), "InvalidArgument");
        let mut small = device();
        small["limits"]["maxComputeInvocationsPerWorkgroup"] = json!(128);
        let failure = Planner::new(&small.to_string()).unwrap_err();
        assert_eq!(code(&failure), "AdapterTooSmall");
        assert!(
            failure.contains("maxComputeInvocationsPerWorkgroup"),
            "{failure}"
        );
    }
}
