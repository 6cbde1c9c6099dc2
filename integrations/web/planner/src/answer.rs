//! What the executor gets.

use bcfsort_splat::internals;
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

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// The user's buffers: what is bound of each.
    pub(crate) bindings: BTreeMap<String, Binding>,
    /// Bytes of each scratch buffer.
    buffers: BTreeMap<String, u64>,
    scratch_bytes: u64,
    /// What names the texts of kernels, once each.
    pub(crate) kernels: Vec<String>,
    pub(crate) steps: Vec<Step>,
    /// The first step of each submission, and the number of all.
    pub(crate) submissions: Vec<usize>,
}

impl Plan {
    pub(crate) fn json(&self) -> String {
        text(self)
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Binding {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl From<Bound> for Binding {
    fn from(Bound { offset, size }: Bound) -> Self {
        Self { offset, size }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    /// The number of its kernel.
    pub(crate) kernel: usize,
    pub(crate) workgroups: [u32; 2],
    /// The buffers of the kernel's bindings, by name.
    pub(crate) bindings: BTreeMap<&'static str, String>,
    /// Whether its parameters are those of an indirect count.
    pub(crate) is_counted: bool,
    /// The byte offset of its parameters.
    pub(crate) parameters: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KernelText<'a> {
    label: &'a str,
    wgsl: &'a str,
    /// Where the text has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_point: Option<&'a str>,
    bindings: Vec<KernelBinding<'a>>,
}

#[derive(Serialize)]
struct KernelBinding<'a> {
    binding: u32,
    /// `params`, or of a buffer of the step.
    name: &'a str,
    /// The type of the buffer in a bind group's layout.
    r#type: &'static str,
}

fn binding_type(access: Access) -> &'static str {
    match access {
        Access::Uniform => "uniform",
        Access::Read => "read-only-storage",
        Access::ReadWrite => "storage",
    }
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
        } => too_small(&part(buffer), *needed, *actual),
        Error::BindingTooLarge {
            buffer,
            needed,
            limit,
            ..
        } => too_large(&part(buffer), *needed, *limit),
        Error::Offset {
            buffer,
            offset,
            multiple_of,
            ..
        } => unaligned(&part(buffer), *offset, *multiple_of),
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

pub(crate) fn too_small(part: &str, needed: u64, actual: u64) -> String {
    format!("{part} has {actual} bytes, but needs {needed}")
}

pub(crate) fn too_large(part: &str, needed: u128, limit: u64) -> String {
    format!(
        "{part} would need {needed} bytes, but this device binds at most {limit} at once \
         (max_storage_buffer_binding_size): sort fewer records, or smaller ones"
    )
}

pub(crate) fn unaligned(part: &str, offset: u64, multiple_of: u64) -> String {
    format!("the offset of {part} is {offset}, but must be a multiple of {multiple_of}")
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
) -> Plan {
    let bindings = bindings.iter();
    let bindings = bindings.map(|&(role, bound)| (Buffer::from(role).to_string(), bound.into()));
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
    Plan {
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
    }
}

pub(crate) fn kernel(recording: &Recording, kernel: &Kernel) -> Result<String, Error> {
    let assembled = kernel.assemble_with(recording.custom.as_ref())?;
    let bindings = assembled.bindings.iter().map(|of| KernelBinding {
        binding: of.binding,
        name: &of.name,
        r#type: binding_type(of.access),
    });
    Ok(text(&KernelText {
        label: kernel.label(),
        wgsl: &assembled.wgsl,
        entry_point: None,
        bindings: bindings.collect(),
    }))
}

/// A kernel of frames of splats.
pub(crate) fn splat_kernel(kernel: internals::Kernel, label: &str) -> String {
    let name = |variable: &internals::Variable| {
        if variable.name == internals::PARAMETERS.name {
            "params"
        } else {
            variable.name
        }
    };
    let bindings = kernel.variables.iter().map(|of| KernelBinding {
        binding: of.binding,
        name: name(of),
        r#type: binding_type(match of.access {
            internals::Access::Uniform => Access::Uniform,
            internals::Access::Read => Access::Read,
            internals::Access::ReadWrite => Access::ReadWrite,
        }),
    });
    text(&KernelText {
        label,
        wgsl: internals::WGSL,
        entry_point: Some(kernel.entry),
        bindings: bindings.collect(),
    })
}
