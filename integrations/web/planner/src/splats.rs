//! Frames of splats: the kernels of `bcfsort-splat`, and the sort after them.

use crate::answer::{self, Binding, Names, Step};
use crate::request::BufferRange;
use crate::{Plan, Planner, code_of, failed, failure};
use bcfsort_splat::internals::{self, Allowed, BEGIN, Frame, Kernel, Layout, Span, WRITE_KEYS};
use bcfsort_splat::{Depth, DepthKey, DrawOrder, Error, SplatBuffer};
use serde::Deserialize;
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::job::{AsSpan, BufferSort, Destination};
use wgpu_bcfsort::internals::radixsort;
use wgpu_bcfsort::internals::shader::PARAMETER_BLOCK;

/// What offsets of storage bindings are multiples of, on every device.
const ALIGNMENT: u32 = 256;

/// Where splats are, and how they are sorted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Splats {
    names: Names,
    /// Either x, y and z, or rows.
    arrays: Option<[BufferRange; 3]>,
    strided: Option<Strided>,
    length: u32,
    camera: BufferRange,
    /// What offsets of uniform bindings are multiples of, on this device.
    uniform_alignment: u32,
    #[serde(default, with = "DepthName")]
    depth: Depth,
    /// Keys of 16 bits, for depths in this range.
    range: Option<[f32; 2]>,
    #[serde(default, with = "DrawOrderName")]
    order: DrawOrder,
    margin: Option<f32>,
    vertices: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Strided {
    rows: BufferRange,
    stride: u32,
    offset: u32,
}

#[derive(Deserialize)]
#[serde(remote = "Depth", rename_all = "kebab-case")]
enum DepthName {
    W,
    Z,
    ReversedZ,
}

#[derive(Deserialize)]
#[serde(remote = "DrawOrder", rename_all = "kebab-case")]
enum DrawOrderName {
    FarToNear,
    NearToFar,
}

impl Splats {
    fn layout(&self) -> Result<Layout, String> {
        match (&self.arrays, &self.strided) {
            (Some(arrays), None) => Ok(Layout::Arrays(arrays.each_ref().map(span))),
            (None, Some(of)) => Ok(Layout::Strided {
                rows: span(&of.rows),
                stride: of.stride,
                offset: of.offset,
            }),
            _ => {
                let message = "positions are either arrays or rows";
                Err(answer::failure("InvalidArgument", message))
            }
        }
    }

    fn frame(&self) -> Result<Frame, String> {
        Ok(Frame {
            positions: self.layout()?,
            len: self.length,
            camera: span(&self.camera),
            depth: self.depth,
            key: match self.range {
                None => DepthKey::Bits32,
                Some([nearest, farthest]) => DepthKey::Bits16 { nearest, farthest },
            },
            order: self.order,
            margin: self.margin.unwrap_or(Frame::MARGIN),
            vertices: self.vertices.unwrap_or(Frame::VERTICES),
        })
    }

    /// The sort of the keys that a frame writes, as `SplatSorter::new` in Rust has it.
    fn sort(&self, limits: &DeviceLimits) -> BufferSort<BufferRange> {
        // (No buffer is empty: that could not be bound.)
        let bytes = u64::from(self.length.max(1)) * 4;
        let [keys, order] = [0, 1].map(|number| BufferRange::whole(number, bytes));
        let sort = BufferSort::new(keys, KeyType::U32, None, self.length.into());
        // Of keys of 16 bits only the indices are moved. Where the workgroup memory is too small
        // for a radix sort, that takes more memory than to sort them where they are.
        let of_16 = self.range.is_some() && radixsort::fits(limits);
        BufferSort {
            indices: Some(order),
            bits: of_16.then_some(0..16),
            output: if of_16 {
                Destination::None
            } else {
                Destination::InPlace
            },
            ..sort
        }
    }
}

/// The bytes of a range, within its buffer.
fn span(range: &BufferRange) -> Span {
    let span = range.span();
    Span {
        offset: span.offset,
        size: span.size,
    }
}

/// The kernels, in the order of their steps and of their numbers after those of the sort.
const KERNELS: [(Kernel, &str); 2] = [
    (BEGIN, "bcfsort.splat.begin"),
    (WRITE_KEYS, "bcfsort.splat.write_keys"),
];

/// A kernel's text, as JSON.
pub(crate) fn kernel(number: usize) -> String {
    let (kernel, label) = KERNELS[number];
    answer::splat_kernel(kernel, label)
}

pub(crate) fn plan(planner: &Planner, splats: &Splats) -> Result<Plan, String> {
    let frame = splats.frame()?;
    let limits = &planner.0.limits;
    let allowed = Allowed {
        storage_alignment: ALIGNMENT,
        uniform_alignment: splats.uniform_alignment,
        binding_size: limits.buffer_bytes,
        workgroups: limits.workgroups,
    };
    let before = frame.plan(&allowed);
    let before = before.map_err(|error| refused(&error, &splats.names))?;
    let sort = splats.sort(limits);
    let recording = planner.0.record(&sort).map_err(failure)?;
    let mut plan = planner.planned(&sort, recording).map_err(failure)?;
    precede(&mut plan, &before);
    Ok(plan)
}

/// What plans call the buffer of a variable. The parameters are in none of the step.
fn buffer_of(variable: &'static str) -> Option<&'static str> {
    match variable {
        "parameters" => None,
        "view_projection" => Some("camera"),
        "count" => Some("drawn"),
        "draw" => Some("indirect"),
        // Of the keys as the sort calls them.
        same => Some(same),
    }
}

/// Puts the steps of a frame before those of its sort, all in one submission.
fn precede(plan: &mut Plan, frame: &internals::Plan) {
    let fixed = &mut plan.blocks.fixed;
    let parameters = fixed.len() as u32;
    fixed.extend(frame.parameters.iter().flat_map(|word| word.to_le_bytes()));
    fixed.resize(parameters as usize + PARAMETER_BLOCK as usize, 0);

    let whole = |size| Span { offset: 0, size };
    let mut bound = vec![
        ("camera", frame.camera),
        ("drawn", whole(4)),
        ("indirect", whole(16)),
    ];
    bound.extend(
        ["x", "y", "z"]
            .into_iter()
            .zip(frame.coordinates.into_iter().flatten()),
    );
    let bound = bound.into_iter();
    let bound =
        bound.map(|(buffer, Span { offset, size })| (buffer.to_owned(), Binding { offset, size }));
    let listing = &mut plan.listing;
    listing.bindings.extend(bound);

    let first = plan.kernels.len();
    let step = |number: usize, workgroups| {
        let variables = KERNELS[number].0.variables.iter();
        let bindings = variables.filter_map(|variable| {
            let buffer = buffer_of(variable.name)?;
            Some((variable.name, buffer.to_owned()))
        });
        Step {
            kernel: first + number,
            workgroups,
            bindings: bindings.collect(),
            is_counted: false,
            parameters,
        }
    };
    let write_keys = frame.coordinates.map(|_| step(1, frame.grid));
    let steps = [step(0, [1, 1])].into_iter().chain(write_keys);
    listing.steps.splice(..0, steps);
    let labels = KERNELS.map(|(_, label)| label.to_owned());
    listing.kernels.extend(labels);
    listing.submissions = vec![0, listing.steps.len()];
}

/// A failure, with the names that the parts have in JavaScript.
fn refused(error: &Error, names: &Names) -> String {
    let part = |buffer: &SplatBuffer| names.get(&buffer.to_string()).cloned().unwrap_or_default();
    let message = match error {
        Error::Sort(error) => return failed(error, names),
        Error::BufferTooSmall {
            buffer,
            needed,
            actual,
            ..
        } => answer::too_small(&part(buffer), *needed, *actual),
        Error::BindingTooLarge {
            buffer,
            needed,
            limit,
            ..
        } => answer::too_large(&part(buffer), (*needed).into(), *limit),
        Error::Offset {
            buffer,
            offset,
            multiple_of,
            ..
        } => answer::unaligned(&part(buffer), *offset, *multiple_of),
        Error::Stride { stride, offset, .. } => format!(
            "positions.stride is {stride} and positions.offset {offset}: both must be multiples of \
             4, and the 12 bytes of a position must be within its row"
        ),
        Error::Margin(margin) => {
            format!("margin is {margin}, but must be 0 or a positive finite number, such as 0.3")
        }
        Error::DepthRange {
            nearest, farthest, ..
        } => format!(
            "key.nearest is {nearest} and key.farthest {farthest}: both must be finite and not \
             negative, and the first one less than the second"
        ),
        other => other.to_string(),
    };
    answer::failure(&code_of(error), &message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{checked, code, device, message, range, with};
    use serde_json::{Value, json};

    fn planner() -> Planner {
        Planner::new(&device().to_string()).unwrap()
    }

    /// A thousand splats in rows of 16 bytes, with these parts.
    fn splats(parts: &Value) -> String {
        let job = json!({
            "names": {"positions": "positions.rows", "camera": "camera", "y": "positions[1]"},
            "strided": {"rows": range(0, 16_000), "stride": 16, "offset": 0},
            "length": 1000, "camera": range(1, 64), "uniformAlignment": 256,
        });
        with(job, parts).to_string()
    }

    #[test]
    fn a_frame_is_two_steps_and_those_of_the_sort_in_one_submission() {
        let planner = planner();
        let steps_of = |parts: &Value| {
            let plan = planner.plan_splats(&splats(parts)).unwrap();
            let text = checked(&plan);
            let steps = text["steps"].as_array().unwrap().clone();
            assert_eq!(text["submissions"], json!([0, steps.len()]));
            let begin = &steps[0];
            let parameters = usize::try_from(begin["parameters"].as_u64().unwrap()).unwrap();
            let words = &plan.fixed()[parameters..];
            assert_eq!(words.len(), 256);
            let length = text["bindings"]["x"].is_object().then_some(1000_u32);
            assert_eq!(words[..4], length.unwrap_or_default().to_le_bytes());
            steps
        };
        let of_32 = steps_of(&json!({}));
        assert_eq!(of_32[1]["bindings"]["keys"], "keys");
        let of_16 = steps_of(&json!({"range": [0.1, 1000]}));
        assert!(of_16.len() <= of_32.len());
        let arrays = json!([range(0, 4000), range(0, 4000), range(2, 4000)]);
        steps_of(&json!({"strided": null, "arrays": arrays, "depth": "reversed-z"}));
        assert_eq!(steps_of(&json!({"length": 0})).len(), 1);
    }

    #[test]
    fn keys_of_16_bits_are_sorted_by_digits_where_there_is_memory_for_it() {
        let of = |bytes: u32| {
            let mut device = device();
            device["limits"]["maxComputeWorkgroupStorageSize"] = json!(bytes);
            let planner = Planner::new(&device.to_string()).unwrap();
            let rows = json!({"rows": range(0, 12_000_000), "stride": 12, "offset": 0});
            let million = json!({"length": 1_000_000, "strided": rows});
            let text = |parts: &Value| {
                let plan = planner.plan_splats(&splats(&with(million.clone(), parts)));
                checked(&plan.unwrap())
            };
            [json!({}), json!({"range": [0.1, 1000]})].map(|parts| {
                let text = text(&parts);
                let scratch = text["scratchBytes"].as_u64().unwrap();
                (text["steps"].as_array().unwrap().len(), scratch)
            })
        };
        let [of_32, of_16] = of(32 << 10);
        assert!(
            of_16.0 < of_32.0 && of_16.1 < of_32.1,
            "{of_16:?} {of_32:?}"
        );
        // With the least that a device may have, both are sorted in the same way.
        let [of_32, of_16] = of(16 << 10);
        assert_eq!(of_16, of_32);
    }

    #[test]
    fn failures_name_parts_as_javascript_does() {
        let planner = planner();
        let strided = |stride, offset| {
            let rows = range(0, 16_000);
            json!({"strided": {"rows": rows, "stride": stride, "offset": offset}})
        };
        let at = |offset| json!({"buffer": 1, "offset": offset, "size": 64, "bufferSize": 512});
        for (parts, expected, text) in [
            (
                json!({"length": 1001}),
                "BufferTooSmall",
                "positions.rows has 16000 bytes, but needs 16012",
            ),
            (
                json!({
                    "strided": null,
                    "arrays": [range(0, 4000), range(0, 3996), range(0, 4000)],
                }),
                "BufferTooSmall",
                "positions[1] has 3996 bytes, but needs 4000",
            ),
            (
                json!({"camera": range(1, 60)}),
                "BufferTooSmall",
                "camera has 60 bytes, but needs 64",
            ),
            (
                json!({"camera": at(64)}),
                "Offset",
                "the offset of camera is 64, but must be a multiple of 256",
            ),
            (
                strided(16, 8),
                "Stride",
                "positions.stride is 16 and positions.offset 8: both",
            ),
            (
                json!({"margin": 1e300}),
                "Margin",
                "margin is inf, but must be 0 or",
            ),
            (
                json!({"range": [2, 1]}),
                "DepthRange",
                "key.nearest is 2 and key.farthest 1: both must be finite",
            ),
            (
                json!({
                    "length": 20_000_000,
                    "strided": {"rows": range(0, 240_000_000), "stride": 12, "offset": 0},
                }),
                "BindingTooLarge",
                "positions.rows would need 240000000 bytes, but this device binds at most \
                 134217728",
            ),
            (
                json!({"arrays": [range(0, 4000), range(0, 4000), range(0, 4000)]}),
                "InvalidArgument",
                "positions are either arrays or rows",
            ),
        ] {
            let failure = planner.plan_splats(&splats(&parts)).unwrap_err();
            assert_eq!(code(&failure), expected);
            assert!(message(&failure).starts_with(text), "{failure}");
        }
    }
}
