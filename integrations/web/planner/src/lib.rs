//! Plans sorts for the browser package: from the description of a sort to the kernels, buffers and
//! dispatches that the page's own device runs. It has no graphics API.
//!
//! Descriptions and plans are JSON, so that the executor in TypeScript has one text for both
//! directions, and nothing of it depends on this crate's types.

mod answer;
mod request;

use wasm_bindgen::prelude::wasm_bindgen;
use wgpu_bcfsort::Error;
use wgpu_bcfsort::internals::planner;
use wgpu_bcfsort::internals::recording::{ParameterBlocks, Recording};
use wgpu_bcfsort::internals::shader::Kernel;

/// Plans sorts for one device.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Planner(planner::Planner);

/// One planned sort.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Plan {
    recording: Recording,
    kernels: Vec<Kernel>,
    blocks: ParameterBlocks,
    text: String,
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

    /// Plans a sort, which JSON describes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn plan(&self, job: &str) -> Result<Plan, String> {
        let job = request::read::<request::Job>(job)?.job()?;
        let values = job.payload.iter().position(|payload| payload.unstable);
        let failure = |error| failed(&error, values);
        let recording = self.0.record(&job).map_err(failure)?;
        let blocks = recording.parameter_blocks().map_err(failure)?;
        let bindings = job.bindings().map_err(failure)?;
        let keys = self.0.limits.keys_per_dispatch;
        let kernels = answer::kernels(&recording);
        let text = answer::plan(&recording, &kernels, &blocks, &bindings, keys);
        Ok(Plan {
            recording,
            kernels,
            blocks,
            text,
        })
    }
}

#[wasm_bindgen]
impl Plan {
    /// The buffers, kernels and steps, as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        self.text.clone()
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
        answer::kernel(&self.recording, &self.kernels[number]).map_err(failure)
    }
}

/// A failure of what is no job, as JSON.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failure(error: Error) -> String {
    failed(&error, None)
}

/// A failure as JSON. The code is the name of the error's variant. `values` is the number of the
/// payload that is a job's `values`.
fn failed(error: &Error, values: Option<usize>) -> String {
    let debug = format!("{error:?}");
    let end = debug.find(|c: char| !c.is_alphanumeric());
    let code = &debug[..end.unwrap_or(debug.len())];
    answer::failure(code, &answer::message(error, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn device() -> Value {
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

    fn range(buffer: u32, bytes: u64) -> Value {
        json!({"buffer": buffer, "offset": 0, "size": bytes, "bufferSize": bytes})
    }

    fn code(failure: &str) -> String {
        let failure: Value = serde_json::from_str(failure).unwrap();
        failure["code"].as_str().unwrap().to_owned()
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
        let text: Value = serde_json::from_str(&plan.json()).unwrap();
        let steps = text["steps"].as_array().unwrap();
        assert!(steps.len() > 4);
        for step in steps {
            let number = usize::try_from(step["kernel"].as_u64().unwrap()).unwrap();
            let kernel: Value = serde_json::from_str(&plan.kernel(number).unwrap()).unwrap();
            assert!(kernel["wgsl"].as_str().unwrap().contains("@compute"));
            // Some Safari versions fail silently on an override that is an array's size.
            assert!(!kernel["wgsl"].as_str().unwrap().contains("override"));
            assert!(!kernel["wgsl"].as_str().unwrap().contains("ptr<workgroup"));
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
        assert!(text["bindings"]["count"].is_object());
        assert_eq!(plan.indirect().len() % 256, 0);
        assert!(!plan.indirect().is_empty());
    }

    #[test]
    fn a_comparator_that_would_overflow_the_stack_is_refused() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let comparator = format!(
            "struct P {{ x: u32 }} fn precedes(a: P, b: P) -> bool {{ return {}true; }}",
            "!".repeat(10_100)
        );
        let job = json!({"length": 1, "keys": range(0, 4), "comparator": comparator});
        let failure = planner.plan(&job.to_string()).unwrap_err();
        assert_eq!(code(&failure), "Comparator");
        // A page's stack allows less: the tests in Chromium have that.
        assert!(failure.contains("line 1, column 10062"), "{failure}");
    }

    #[test]
    fn failures_name_parts_of_the_job_as_javascript_does() {
        let planner = Planner::new(&device().to_string()).unwrap();
        let of = |parts: Value| {
            let mut job = json!({"type": "u32", "length": 8, "keys": range(0, 32)});
            job.as_object_mut()
                .unwrap()
                .extend(parts.as_object().unwrap().clone());
            let failure = planner.plan(&job.to_string()).unwrap_err();
            let failure: Value = serde_json::from_str(&failure).unwrap();
            failure["message"].as_str().unwrap().to_owned()
        };
        let rows = |buffer, bytes| json!({"rows": range(buffer, bytes), "bytes": 8});
        let values =
            |buffer, bytes| json!({"rows": range(buffer, bytes), "bytes": 4, "unstable": true});
        for (parts, expected) in [
            (
                json!({"payload": [rows(1, 64), rows(2, 60)]}),
                "payload[1].rows has 60 bytes, but needs 64",
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
            assert_eq!(of(parts), expected);
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
