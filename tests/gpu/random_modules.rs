//! Random shaders on the lock-step executor and on this machine's adapter: the same bits in every
//! buffer.
//!
//! The shaders have one result each (`Style::Exact`). The generator leaves out what WGSL leaves open
//! and what drivers get wrong, and says so there.

use crate::device::{Gpu, gpu};
use bcfsort_testkit::random_wgsl::{Module, Style, generate};
use proptest::prelude::*;
use wgsl_lockstep::{Buffers, Config, Shader, Space};

/// Runs a shader on the adapter, with wgpu's own bounds checks.
fn run_on_adapter(gpu: &Gpu, module: &Module, shader: &Shader, words: &Buffers) -> Buffers {
    let Gpu { device, queue, .. } = gpu;
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("tests.random"),
        layout: None,
        module: &device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("tests.random"),
            source: wgpu::ShaderSource::Wgsl(module.wgsl.as_str().into()),
        }),
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &module
                .overrides
                .iter()
                .map(|(name, value)| (name.as_str(), *value))
                .collect::<Vec<_>>(),
            ..Default::default()
        },
        cache: None,
    });
    let buffers: Vec<(u32, wgpu::Buffer)> = shader
        .resources()
        .iter()
        .map(|resource| {
            let words = &words[&(resource.group, resource.binding)];
            let kind = match resource.space {
                Space::Uniform => wgpu::BufferUsages::UNIFORM,
                _ => wgpu::BufferUsages::STORAGE,
            };
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("tests.random"),
                size: words.len() as u64 * 4,
                usage: kind | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
            (resource.binding, buffer)
        })
        .collect();
    let entries: Vec<_> = buffers
        .iter()
        .map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding: *binding,
            resource: buffer.as_entire_binding(),
        })
        .collect();
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        let [x, y, z] = module.workgroups;
        pass.dispatch_workgroups(x, y, z);
    }
    queue.submit([encoder.finish()]);
    buffers
        .into_iter()
        .map(|(binding, buffer)| ((0, binding), gpu.read(&buffer)))
        .collect()
}

/// True if two words are the same, or both zeros of a float: WGSL leaves the sign open.
fn same(a: u32, b: u32) -> bool {
    const ZEROS: [u32; 2] = [0, 1 << 31];
    a == b || (ZEROS.contains(&a) && ZEROS.contains(&b))
}

const NVIDIA: u32 = 0x10de;

/// True if the adapter is known to get some random shaders wrong. One example is
/// `select(!b, b, b.y)`, where `b` is a vector of bools in private memory, all false: `SwiftShader`
/// selects `b`, lavapipe and lock-step select `!b`, as WGSL specifies.
fn miscompiles(gpu: &Gpu) -> bool {
    gpu.device.adapter_info().name.contains("SwiftShader")
}

/// True if the adapter is known to get this shader wrong. NVIDIA's Vulkan driver 580 does not always
/// load what was stored to bools in workgroup memory before a barrier. No kernel has such bools.
fn miscompiles_bools(gpu: &Gpu, wgsl: &str) -> bool {
    let has_bools = |line: &str| line.starts_with("var<workgroup>") && line.contains("bool");
    gpu.device.adapter_info().vendor == NVIDIA && wgsl.lines().any(has_bools)
}

fn check(gpu: &Gpu, bytes: &[u8]) -> Result<(), TestCaseError> {
    let module = generate(bytes, Style::Exact);
    if miscompiles_bools(gpu, &module.wgsl) {
        return Ok(());
    }
    let Some(shader) = module.shader() else {
        return Ok(());
    };
    let mut on_cpu = module.buffers(&shader, 0);
    let on_adapter = run_on_adapter(gpu, &module, &shader, &on_cpu);
    shader
        .run(&mut on_cpu, module.workgroups, &Config::default())
        .unwrap();
    for (place, expected) in &on_cpu {
        let got = &on_adapter[place];
        let wrong = (got.iter().zip(expected)).position(|(&a, &b)| !same(a, b));
        if let Some(i) = wrong {
            return Err(TestCaseError::fail(format!(
                "word {i} of binding {place:?} is {:#x} on the adapter and {:#x} in lock-step:\n{}",
                got[i], expected[i], module.wgsl
            )));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(
        ProptestConfig {
            cases: 48,
            failure_persistence: None,
            max_shrink_iters: 300,
            ..Default::default()
        }
    )]

    #[test]
    fn random_shaders_do_the_same_in_lock_step_as_on_the_adapter(
        bytes in prop::collection::vec(any::<u8>(), 0..2500),
    ) {
        let Some(gpu) = gpu() else { return Ok(()) };
        if miscompiles(gpu) {
            println!("left out: {} miscompiles some of them", gpu.device.adapter_info().name);
            return Ok(());
        }
        check(gpu, &bytes)?;
    }
}
