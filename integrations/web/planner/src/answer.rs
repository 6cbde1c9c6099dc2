//! What the executor gets.

use serde::Serialize;
use std::collections::BTreeMap;
use wgpu_bcfsort::internals::device::NEEDED_LIMITS;
use wgpu_bcfsort::internals::job::Bound;
use wgpu_bcfsort::internals::recording::Step as RecordedStep;
use wgpu_bcfsort::internals::recording::{Buffer, ParameterBlocks, Recording};
use wgpu_bcfsort::internals::shader::{Access, Kernel};
use wgpu_bcfsort::{BufferRole, Error};

#[derive(Serialize)]
struct Failure<'a> {
    code: &'a str,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    /// The user's buffers: what is bound of each.
    bindings: BTreeMap<String, Binding>,
    /// Bytes of each scratch buffer.
    buffers: BTreeMap<String, u64>,
    scratch_bytes: u64,
    /// What names the texts of kernels, once each.
    kernels: Vec<String>,
    steps: Vec<Step>,
    /// The first step of each submission, and the number of all.
    submissions: Vec<usize>,
}

#[derive(Serialize)]
struct Binding {
    offset: u64,
    size: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// The number of its kernel.
    kernel: usize,
    workgroups: [u32; 2],
    /// The buffers of the kernel's bindings, by name.
    bindings: BTreeMap<&'static str, String>,
    /// Whether its parameters are those of an indirect count.
    is_counted: bool,
    /// The byte offset of its parameters.
    parameters: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KernelText<'a> {
    label: &'a str,
    wgsl: String,
    bindings: Vec<KernelBinding>,
}

#[derive(Serialize)]
struct KernelBinding {
    binding: u32,
    name: String,
    /// The type of the buffer in a bind group's layout.
    r#type: &'static str,
}

/// A text that the types of this module cannot fail to be written as.
fn text(of: &impl Serialize) -> String {
    serde_json::to_string(of).unwrap_or_default()
}

/// A failure. Limits have WebGPU's names in its text.
pub(crate) fn failure(code: &str, message: &str) -> String {
    let names = NEEDED_LIMITS.map(|(name, _)| name);
    let names = names.into_iter().chain(["max_buffer_size"]);
    let message = names.fold(message.to_owned(), |message, name| {
        message.replace(name, &camel_case(name))
    });
    text(&Failure { code, message })
}

/// What a job calls its buffers, by their names in plans.
pub(crate) type Names = BTreeMap<String, String>;

/// The message of an error, with the names that the parts of a job and the options have in
/// JavaScript.
pub(crate) fn message(error: &Error, names: &Names) -> String {
    let part = |role: &BufferRole| match names.get(&Buffer::from(*role).to_string()) {
        Some(name) => name.clone(),
        None if *role == BufferRole::Scratch => "the scratch memory".to_owned(),
        None => role.to_string(),
    };
    match error {
        Error::BufferTooSmall {
            buffer,
            needed,
            actual,
            ..
        } => format!("{} has {actual} bytes, but needs {needed}", part(buffer)),
        Error::BindingTooLarge {
            buffer,
            needed,
            limit,
            ..
        } => format!(
            "{} would need {needed} bytes, but this device binds at most {limit} at once \
             (max_storage_buffer_binding_size): sort fewer records, or smaller ones",
            part(buffer)
        ),
        Error::Offset {
            buffer,
            offset,
            multiple_of,
            ..
        } => format!(
            "the offset of {} is {offset}, but must be a multiple of {multiple_of}",
            part(buffer)
        ),
        Error::SameBuffer { first, second, .. } => same_buffer(&part(first), &part(second)),
        Error::InvalidOption {
            name,
            value,
            allowed,
            ..
        } => {
            let name = match *name {
                "tuning.tile" => "tile",
                "keys_per_dispatch" => "keysPerDispatch",
                "number of payloads" => "payload.length",
                "bytes of a payload row" => "payload[].bytes",
                "stride of the structs" => "field.stride",
                "offset of the key" => "field.offset",
                "start of the range" => "range[0]",
                "end of the range" => "range[1]",
                "start of the bits of a key" => "bits[0]",
                "end of the bits of a key" => "bits[1]",
                other => other,
            };
            invalid_option(name, *value, allowed)
        }
        Error::NotInOrder(why) => format!(
            "runs, unique, startsOf, lowerBound and upperBound need keys that are all in order, \
             but {why}"
        ),
        Error::NoCells(key) => format!("startsOf needs keys of an unsigned type, not {key}"),
        other => other.to_string(),
    }
}

pub(crate) fn same_buffer(first: &str, second: &str) -> String {
    format!(
        "{first} and {second} are in one buffer, which a dispatch cannot bind twice: copy one of \
         them to another buffer"
    )
}

pub(crate) fn invalid_option(name: &str, value: u64, allowed: &str) -> String {
    format!("{name} is {value}, but must be {allowed}")
}

pub(crate) fn needed_limits() -> String {
    let limits = NEEDED_LIMITS.map(|(name, least)| (camel_case(name), least));
    text(&BTreeMap::from(limits))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (first, rest) = word.split_at(word.len().min(1));
        name + &first.to_uppercase() + rest
    })
}

/// The kernels of a recording, once each, in the order of their first steps.
pub(crate) fn kernels(recording: &Recording) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for step in &recording.steps {
        let kernel = &step.kernel;
        if !kernels.contains(kernel) {
            kernels.push(kernel.clone());
        }
    }
    kernels
}

/// What names a kernel's text: that of a kernel with a custom function is the function's own.
fn kernel_name(recording: &Recording, kernel: &Kernel) -> String {
    let custom = recording.custom.as_ref();
    let custom = custom.filter(|_| kernel.role().is_some());
    let text = custom.map(wgpu_bcfsort::internals::text_of);
    format!("{kernel:?}{}", text.unwrap_or_default())
}

pub(crate) fn plan(
    recording: &Recording,
    kernels: &[Kernel],
    blocks: &ParameterBlocks,
    bindings: &[(BufferRole, Bound)],
    keys_per_dispatch: u32,
) -> String {
    let bindings = bindings.iter().map(|&(role, Bound { offset, size })| {
        (Buffer::from(role).to_string(), Binding { offset, size })
    });
    let buffers = recording.buffers.iter();
    let number = |step: &RecordedStep| kernels.iter().position(|other| *other == step.kernel);
    let steps = recording.steps.iter().zip(&blocks.offsets);
    let steps = steps.map(|(step, &parameters)| Step {
        kernel: number(step).unwrap_or_default(),
        workgroups: step.workgroups,
        bindings: (step.bindings.iter())
            .map(|(name, buffer)| (*name, buffer.to_string()))
            .collect(),
        is_counted: step.is_counted(),
        parameters,
    });
    let submissions = recording.submissions(keys_per_dispatch);
    let firsts = submissions.iter().map(|range| range.start);
    text(&Plan {
        bindings: bindings.collect(),
        buffers: buffers
            .map(|(buffer, &bytes)| (buffer.to_string(), bytes))
            .collect(),
        scratch_bytes: recording.scratch_bytes(),
        kernels: (kernels.iter())
            .map(|kernel| kernel_name(recording, kernel))
            .collect(),
        steps: steps.collect(),
        submissions: firsts.chain([recording.steps.len()]).collect(),
    })
}

pub(crate) fn kernel(recording: &Recording, kernel: &Kernel) -> Result<String, Error> {
    let assembled = kernel.assemble_with(recording.custom.as_ref())?;
    let bindings = assembled.bindings.into_iter().map(|of| KernelBinding {
        binding: of.binding,
        name: of.name,
        r#type: match of.access {
            Access::Uniform => "uniform",
            Access::Read => "read-only-storage",
            Access::ReadWrite => "storage",
        },
    });
    Ok(text(&KernelText {
        label: kernel.label(),
        wgsl: assembled.wgsl,
        bindings: bindings.collect(),
    }))
}
