//! An executor of recordings that stops between any two dispatches.

use crate::device::Gpu;
use bcfsort_testkit::kernels_of_tests::note;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use wgpu_bcfsort::internals::recording::{Buffer, Recording, Step};
use wgpu_bcfsort::internals::shader::{Access, Assembled, Kernel, PARAMETER_BLOCK};

/// A compiled kernel.
pub(crate) struct Pipeline {
    pipeline: wgpu::ComputePipeline,
    assembled: Assembled,
}

impl Pipeline {
    /// The pipeline of a kernel on a shared device.
    fn get(gpu: &Gpu, kernel: &Kernel) -> Arc<Self> {
        note(kernel.label());
        let mut pipelines = gpu.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let assembled = kernel.assemble().unwrap();
            // Compiled as the sorter does, so that lavapipe finds the program in Mesa's cache.
            let descriptor = wgpu::ShaderModuleDescriptor {
                label: Some(kernel.label()),
                source: wgpu::ShaderSource::Wgsl(assembled.wgsl.as_str().into()),
            };
            let checks = wgpu::ShaderRuntimeChecks::unchecked();
            // SAFETY: these are the library's own kernels. Their recordings are made by the
            // library, or have buffers of the size that it gives them. The lock-step executor has
            // checked that every access is within its buffer.
            let module = unsafe { gpu.device.create_shader_module_trusted(descriptor, checks) };
            // A layout derived by wgpu would leave out unused bindings.
            let entries: Vec<_> = assembled
                .bindings
                .iter()
                .map(|binding| wgpu::BindGroupLayoutEntry {
                    binding: binding.binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: match binding.access {
                            Access::Uniform => wgpu::BufferBindingType::Uniform,
                            Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                            Access::ReadWrite => {
                                wgpu::BufferBindingType::Storage { read_only: false }
                            }
                        },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                })
                .collect();
            let layout = gpu
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: None,
                    entries: &entries,
                });
            let layout = gpu
                .device
                .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                    label: None,
                    bind_group_layouts: &[Some(&layout)],
                    immediate_size: 0,
                });
            let pipeline = gpu
                .device
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(kernel.label()),
                    layout: Some(&layout),
                    module: &module,
                    entry_point: Some("main"),
                    compilation_options: wgpu::PipelineCompilationOptions {
                        zero_initialize_workgroup_memory: false,
                        ..Default::default()
                    },
                    cache: None,
                });
            Arc::new(Self {
                pipeline,
                assembled,
            })
        };
        pipelines.entry(kernel.clone()).or_insert_with(make).clone()
    }
}

/// A recording being executed, step by step.
pub(crate) struct Execution<'a> {
    gpu: &'a Gpu,
    recording: &'a Recording,
    buffers: BTreeMap<Buffer, wgpu::Buffer>,
}

impl<'a> Execution<'a> {
    /// Makes the recording's buffers. `keys` are the words of the keys.
    pub(crate) fn new(gpu: &'a Gpu, recording: &'a Recording, keys: &[u32]) -> Self {
        let mut buffers: BTreeMap<_, _> = recording
            .buffers
            .iter()
            .map(|(&role, &bytes)| (role, gpu.empty_buffer(bytes)))
            .collect();
        buffers.insert(Buffer::Keys, gpu.buffer(keys));
        Self {
            gpu,
            recording,
            buffers,
        }
    }

    /// Runs one dispatch.
    pub(crate) fn step(&self, step: &Step) {
        let Gpu { device, queue, .. } = self.gpu;
        let pipeline = Pipeline::get(self.gpu, &step.kernel);
        let mut parameters = step.parameters.words().to_vec();
        if let Some(block) = self.recording.block(step) {
            parameters[0] = self.read(Buffer::Parameters)[block * PARAMETER_BLOCK as usize / 4];
        }
        parameters.resize(parameters.len().next_multiple_of(4), 0);
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("tests.parameters"),
            size: parameters.len() as u64 * 4,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&uniforms, 0, bytemuck::cast_slice(&parameters));
        let entries: Vec<_> = pipeline
            .assembled
            .bindings
            .iter()
            .map(|binding| wgpu::BindGroupEntry {
                binding: binding.binding,
                resource: match step.buffer(&binding.name) {
                    Some(role) if binding.access != Access::Uniform => {
                        self.buffers[&role].as_entire_binding()
                    }
                    _ => uniforms.as_entire_binding(),
                },
            })
            .collect();
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &bind_group, &[]);
            pass.dispatch_workgroups(step.workgroups[0], step.workgroups[1], 1);
        }
        queue.submit([encoder.finish()]);
    }

    /// Makes a user buffer with these words.
    pub(crate) fn set_buffer(&mut self, buffer: Buffer, words: &[u32]) {
        self.buffers.insert(buffer, self.gpu.buffer(words));
    }

    pub(crate) fn read(&self, buffer: Buffer) -> Vec<u32> {
        self.gpu.read(&self.buffers[&buffer])
    }

    pub(crate) fn write(&self, buffer: Buffer, words: &[u32]) {
        let bytes = bytemuck::cast_slice(words);
        self.gpu
            .queue
            .write_buffer(&self.buffers[&buffer], 0, bytes);
    }
}
