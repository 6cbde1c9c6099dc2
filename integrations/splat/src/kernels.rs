//! The kernels, and objects of wgpu.

use crate::error::Error;
use crate::plan::{Kernel, WGSL};
use wgpu_bcfsort::wgpu;

/// A kernel with its bindings.
pub(crate) struct Dispatch {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    workgroups: [u32; 2],
}

impl Dispatch {
    /// Compiles a kernel, and binds its buffers, by the names of its variables.
    pub(crate) fn new(
        device: &wgpu::Device,
        module: &wgpu::ShaderModule,
        kernel: Kernel,
        bindings: &[(&str, wgpu::BindingResource<'_>)],
        workgroups: [u32; 2],
    ) -> Result<Self, Error> {
        let Kernel { entry, variables } = kernel;
        let label = format!("bcfsort.splat.{entry}");
        let pipeline = scoped(device, 0, || {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(&label),
                layout: None,
                module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })?;
        let entries: Vec<_> = variables
            .iter()
            .filter_map(|variable| {
                let (_, resource) = bindings.iter().find(|(name, _)| *name == variable.name)?;
                Some(wgpu::BindGroupEntry {
                    binding: variable.binding,
                    resource: resource.clone(),
                })
            })
            .collect();
        let bindings = scoped(device, 0, || {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&label),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            })
        })?;
        Ok(Self {
            pipeline,
            bindings,
            workgroups,
        })
    }

    pub(crate) fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

/// Compiles the text of the kernels.
pub(crate) fn module(device: &wgpu::Device) -> Result<wgpu::ShaderModule, Error> {
    scoped(device, 0, || {
        device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("bcfsort.splat"),
            source: wgpu::ShaderSource::Wgsl(WGSL.into()),
        })
    })
}

/// Calls wgpu, and returns its error. (Else wgpu would end the program.)
///
/// In a browser, which answers later, the device's own handler of errors gets it.
#[cfg_attr(target_arch = "wasm32", allow(clippy::unnecessary_wraps))]
pub(crate) fn scoped<T>(
    device: &wgpu::Device,
    bytes: u64,
    make: impl FnOnce() -> T,
) -> Result<T, Error> {
    #[cfg(target_arch = "wasm32")]
    {
        let _ = (device, bytes);
        Ok(make())
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        use wgpu_bcfsort::Error as Sort;
        let scopes = [
            wgpu::ErrorFilter::Validation,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
        ]
        .map(|filter| device.push_error_scope(filter));
        let made = make();
        // All of them are closed, the last one first: an open one would get later errors.
        let errors: Vec<_> = scopes
            .into_iter()
            .rev()
            .filter_map(|scope| pollster::block_on(scope.pop()))
            .collect();
        let Some(error) = errors.into_iter().next() else {
            return Ok(made);
        };
        let message = error
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        Err(Error::Sort(match error {
            wgpu::Error::OutOfMemory { .. } => Sort::OutOfMemory { bytes, message },
            _ => Sort::Device(message),
        }))
    }
}
