//! The gate of SPIR-V: spirv-val checks naga's output for Vulkan by the specification.

use crate::gate::{Gate, Subject, caught};
use crate::tools;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use std::process::Command;
use wgpu_bcfsort::internals::mergesort::kernels::bucket_offsets;

/// The versions of SPIR-V that wgpu writes, each for a version of Vulkan.
const VERSIONS: [((u8, u8), &str); 4] = [
    ((1, 0), "vulkan1.0"),
    ((1, 3), "vulkan1.1"),
    ((1, 5), "vulkan1.2"),
    ((1, 6), "vulkan1.3"),
];

pub(crate) struct SpirV;

impl Gate for SpirV {
    fn name(&self) -> &'static str {
        "SPIR-V"
    }

    fn catches(&self) -> &'static str {
        "modules outside the Vulkan specification, which drivers take on trust"
    }

    fn ready(&self) -> Result<String, String> {
        let version = tools::run(Command::new("spirv-val").arg("--version"), b"")?;
        let version = String::from_utf8_lossy(&version);
        let version = version.lines().next().unwrap_or_default();
        Ok(format!("spirv-val, {version}, for Vulkan 1.0 to 1.3"))
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        for (version, environment) in VERSIONS {
            for checked in [true, false] {
                let form = if checked { "checked" } else { "unchecked" };
                write(subject, version, checked)
                    .and_then(|words| validate(&words, environment))
                    .map_err(|e| format!("{environment}, {form}: {e}"))?;
            }
        }
        Ok(())
    }

    fn planted(&self) -> Result<String, String> {
        let module = || {
            let subject = Subject::specimen(&bucket_offsets())?;
            write(&subject, (1, 3), false)
        };
        let plant = |fault, reason, change: &dyn Fn(&mut [u32])| {
            let mut words = module()?;
            change(&mut words);
            caught(fault, validate(&words, "vulkan1.1"), reason)
        };
        validate(&module()?, "vulkan1.1")?;
        Ok([
            plant("a sum of a type", "OpIAdd", &|words| {
                let sum = instruction(words, numbers::OP_I_ADD, |_| true);
                words[sum + 3] = words[sum + 1];
            })?,
            plant(
                "a parameter at an odd address",
                "is not aligned to 4",
                &|words| {
                    let offset = instruction(words, numbers::OP_MEMBER_DECORATE, |operands| {
                        operands[1] == 2 && operands[2] == numbers::OFFSET
                    });
                    words[offset + 4] += 1;
                },
            )?,
        ]
        .join("; "))
    }
}

/// Numbers in the specification that planted faults use.
mod numbers {
    pub(super) const OP_MEMBER_DECORATE: u32 = 72;
    pub(super) const OFFSET: u32 = 35;
    pub(super) const OP_I_ADD: u32 = 128;
}

/// The start of the first instruction of a kind whose operands satisfy a condition.
fn instruction(words: &[u32], opcode: u32, is: impl Fn(&[u32]) -> bool) -> usize {
    const HEADER: usize = 5;
    let mut at = HEADER;
    loop {
        let length = (words[at] >> 16) as usize;
        if words[at] & 0xffff == opcode && is(&words[at + 1..at + length]) {
            return at;
        }
        at += length;
    }
}

/// The module of a kernel: as for untrusted text (`checked`), or as for this crate's own kernels.
fn write(subject: &Subject, lang_version: (u8, u8), checked: bool) -> Result<Vec<u32>, String> {
    let policy = if checked {
        BoundsCheckPolicy::Restrict
    } else {
        BoundsCheckPolicy::Unchecked
    };
    let assembled = subject.kernel.assemble().map_err(|e| e.to_string())?;
    let options = spv::Options {
        lang_version,
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        // The capabilities of all devices.
        capabilities: Some([spv::Capability::Shader].into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: match (checked, lang_version) {
            (false, _) => spv::ZeroInitializeWorkgroupMemoryMode::None,
            (true, (1, 6)) => spv::ZeroInitializeWorkgroupMemoryMode::Native,
            (true, _) => spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        },
        force_loop_bounding: checked,
        emit_int_div_checks: checked,
        // The bindings of a layout are numbered consecutively.
        binding_map: (0..)
            .zip(&assembled.bindings)
            .map(|(number, binding)| {
                (
                    naga::ResourceBinding {
                        group: 0,
                        binding: binding.binding,
                    },
                    spv::BindingInfo {
                        descriptor_set: 0,
                        binding: number,
                        binding_array_size: None,
                    },
                )
            })
            .collect(),
        ..spv::Options::default()
    };
    let entry = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: "main".to_owned(),
    };
    spv::write_vec(&subject.module, &subject.info, &options, Some(&entry))
        .map_err(|e| e.to_string())
}

fn validate(words: &[u32], environment: &str) -> Result<(), String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut command = Command::new("spirv-val");
    tools::run(command.args(["--target-env", environment, "-"]), &bytes).map(drop)
}
