//! HLSL, as naga writes it for wgpu's DX12 backend.

use crate::gate::{DX12_WORKGROUP_BYTES, Subject};
use naga::back::hlsl;
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::mergesort::kernels::distribute;
use wgpu_bcfsort::internals::shader::Access;

/// The entry point. naga renames it only if HLSL reserves the name.
pub(crate) const ENTRY: &str = "main";

/// Says so if a kernel uses more workgroup memory than Direct3D gives.
pub(crate) fn exceeds_workgroup_memory(subject: &Subject) -> Option<&'static str> {
    (subject.kernel.workgroup_bytes() > DX12_WORKGROUP_BYTES)
        .then_some("use more workgroup memory than DX12 has, so its sorts take smaller tiles")
}

/// The HLSL of a kernel: as for untrusted text (`checked`), or as for this crate's own kernels.
pub(crate) fn write(
    subject: &Subject,
    shader_model: hlsl::ShaderModel,
    checked: bool,
) -> Result<String, String> {
    let options = hlsl::Options {
        shader_model,
        zero_initialize_workgroup_memory: checked,
        restrict_indexing: checked,
        force_loop_bounding: checked,
        ..layout(subject)?
    };
    let entry = hlsl::PipelineOptions {
        entry_point: Some((naga::ShaderStage::Compute, ENTRY.to_owned())),
    };
    let mut text = String::new();
    let reflected = hlsl::Writer::new(&mut text, &options, &entry)
        .write(&subject.module, &subject.info, None)
        .map_err(|e| e.to_string())?;
    match reflected.entry_point_names.as_slice() {
        [Ok(name)] if name == ENTRY => Ok(text),
        other => Err(format!("the entry point is {other:?}")),
    }
}

/// The registers of wgpu's pipeline layout: read-only buffers, written buffers, and parameters with
/// a dynamic offset are numbered from 0 each, and the size of the grid follows the parameters.
fn layout(subject: &Subject) -> Result<hlsl::Options, String> {
    let assembled = subject.kernel.assemble().map_err(|e| e.to_string())?;
    let [mut read, mut written, mut uniform] = [hlsl::BindTarget::default(); 3];
    let mut options = hlsl::Options::default();
    for binding in &assembled.bindings {
        let (next, restrict_indexing) = match binding.access {
            Access::Uniform => (&mut uniform, true),
            Access::Read => (&mut read, false),
            Access::ReadWrite => (&mut written, false),
        };
        options.binding_map.insert(
            naga::ResourceBinding {
                group: 0,
                binding: binding.binding,
            },
            hlsl::BindTarget {
                restrict_indexing,
                ..*next
            },
        );
        next.register += 1;
    }
    options.special_constants_binding = Some(uniform);
    Ok(options)
}

/// The text of a kernel without faults, to plant faults in.
pub(crate) fn sound(shader_model: hlsl::ShaderModel) -> Result<String, String> {
    write(
        &Subject::specimen(&distribute(KeyType::U32))?,
        shader_model,
        false,
    )
}
