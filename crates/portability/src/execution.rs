//! The gates of Vulkan drivers, which run kernels.

use crate::cases::{Case, Contents, backwards};
use crate::gate::{Gate, Subject};
use crate::tools;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use wgpu_bcfsort::{adapters, requirements};

/// Compiles and runs each kernel on one driver, and compares the results.
pub(crate) struct Vulkan {
    name: &'static str,
    catches: &'static str,
    /// A part of the adapter's name.
    adapter: &'static str,
    /// Folders of the manifest, relative to the [tools' folder](tools::folder), and the prefix of
    /// its name.
    manifests: &'static [&'static str],
    prefix: &'static str,
    install: &'static str,
    /// True if it is fast at compiling kernels that sort tiles in registers.
    compiles_sorts_fast: bool,
}

/// If set, lavapipe also runs kernels that sort tiles in registers.
const ALL_FORMS: &str = "WGPU_BCFSORT_ALL_FORMS";

/// Mesa's CPU driver.
pub(crate) const LAVAPIPE: Vulkan = Vulkan {
    name: "lavapipe",
    catches: "a wrong result through SPIR-V, Mesa and LLVM",
    adapter: "llvmpipe",
    manifests: &[
        "/usr/share/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
        "/etc/vulkan/icd.d",
    ],
    prefix: "lvp_icd",
    install: "'make setup' installs it",
    compiles_sorts_fast: false,
};

/// Google's CPU driver, which shares no compiler with Mesa's.
pub(crate) const SWIFTSHADER: Vulkan = Vulkan {
    name: "SwiftShader",
    catches: "a wrong result through SPIR-V and Reactor",
    adapter: "SwiftShader",
    manifests: &["swiftshader"],
    prefix: "vk_swiftshader_icd",
    install: tools::SETUP,
    compiles_sorts_fast: true,
};

impl Vulkan {
    fn manifest(&self) -> Option<PathBuf> {
        let is_it = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(self.prefix) && name.ends_with(".json")
        };
        (self.manifests.iter())
            .filter_map(|folder| std::fs::read_dir(tools::folder().join(folder)).ok())
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| is_it(path))
    }
}

/// Limits the Vulkan loader of this process to these two drivers.
///
/// Must be called before another thread is started.
pub(crate) fn choose_drivers() {
    let manifests = [LAVAPIPE, SWIFTSHADER]
        .iter()
        .filter_map(Vulkan::manifest)
        .collect::<Vec<_>>();
    let Ok(list) = std::env::join_paths(manifests) else {
        return;
    };
    // Mesa complains about each device that it lists, if no login session has set this directory.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: as below.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
    // Each kernel runs briefly and only once, so lavapipe need not optimise it.
    if std::env::var_os("GALLIVM_PERF").is_none() {
        // SAFETY: as below.
        unsafe { std::env::set_var("GALLIVM_PERF", "nopt") };
    }
    // The second variable is the older name of the first.
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        // SAFETY: no other thread exists that could read the environment meanwhile.
        unsafe { std::env::set_var(variable, &list) };
    }
}

/// A device of one driver.
struct Driver {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
}

/// A compiled kernel.
struct Pipeline {
    compiled: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    /// The bindings other than storage buffers.
    uniforms: Vec<u32>,
}

impl Driver {
    /// The driver whose adapter has this in its name.
    fn get(name: &str) -> Result<&'static Self, String> {
        static ALL: LazyLock<Vec<(String, Result<Driver, String>)>> = LazyLock::new(|| {
            (adapters().iter())
                .filter(|adapter| adapter.get_info().backend == wgpu::Backend::Vulkan)
                .map(|adapter| (adapter.get_info().name, Driver::open(adapter)))
                .collect()
        });
        let (_, driver) = (ALL.iter())
            .find(|(adapter, _)| adapter.contains(name))
            .ok_or_else(|| format!("no adapter is named {name}"))?;
        driver.as_ref().map_err(Clone::clone)
    }

    fn open(adapter: &wgpu::Adapter) -> Result<Self, String> {
        let needs = requirements(adapter).map_err(|e| e.to_string())?;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("portability"),
            required_limits: needs.limits,
            ..Default::default()
        }))
        .map_err(|e| e.to_string())?;
        Ok(Self {
            device,
            queue,
            info: adapter.get_info(),
        })
    }

    /// Compiles a text as the sorter does.
    fn compile(&self, label: &str, wgsl: &str, module: &naga::Module) -> Result<Pipeline, String> {
        let mut entries = Vec::new();
        let mut uniforms = Vec::new();
        for (_, variable) in module.global_variables.iter() {
            let Some(resource) = variable.binding else {
                continue;
            };
            let ty = if let naga::AddressSpace::Storage { access } = variable.space {
                wgpu::BufferBindingType::Storage {
                    read_only: !access.contains(naga::StorageAccess::STORE),
                }
            } else {
                uniforms.push(resource.binding);
                wgpu::BufferBindingType::Uniform
            };
            entries.push(wgpu::BindGroupLayoutEntry {
                binding: resource.binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            });
        }
        let device = &self.device;
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        };
        // SAFETY: the sorter's own kernels, on its own dispatches, stay within their buffers. The
        // kernel that is altered here compares keys wrongly, which changes no address.
        let module = unsafe {
            device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let compiled = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(format!("does not compile: {error}"));
        }
        Ok(Pipeline {
            compiled,
            layout,
            uniforms,
        })
    }

    /// Runs one dispatch, and returns the contents of its buffers.
    fn dispatch(
        &self,
        pipeline: &Pipeline,
        workgroups: [u32; 2],
        before: &Contents,
    ) -> Result<Contents, String> {
        let Self { device, queue, .. } = self;
        let make = |words: usize, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: words as u64 * 4,
                usage,
                mapped_at_creation: false,
            })
        };
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let mut buffers = Vec::new();
        for (&binding, words) in before {
            let usage = if pipeline.uniforms.contains(&binding) {
                wgpu::BufferUsages::UNIFORM
            } else {
                wgpu::BufferUsages::STORAGE
            };
            let usage = usage | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let buffer = make(words.len(), usage);
            queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            buffers.push((binding, buffer, make(words.len(), usage)));
        }
        let entries: Vec<_> = (buffers.iter())
            .map(|(binding, buffer, _)| wgpu::BindGroupEntry {
                binding: *binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline.compiled);
            pass.set_bind_group(0, &bind_group, &[]);
            pass.dispatch_workgroups(workgroups[0], workgroups[1], 1);
        }
        for (_, buffer, staging) in &buffers {
            encoder.copy_buffer_to_buffer(buffer, 0, staging, 0, buffer.size());
        }
        queue.submit([encoder.finish()]);
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(format!("does not run: {error}"));
        }
        for (_, _, staging) in &buffers {
            staging.map_async(wgpu::MapMode::Read, .., |_| {});
        }
        device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|e| e.to_string())?;
        let read = |(binding, _, staging): &(u32, _, wgpu::Buffer)| {
            let range = staging.get_mapped_range(..).map_err(|e| e.to_string())?;
            Ok((*binding, bytemuck::pod_collect_to_vec(&range)))
        };
        buffers.iter().map(read).collect()
    }
}

/// The path of the driver's library, according to its manifest.
fn library(manifest: &Path) -> Result<Option<PathBuf>, String> {
    let fail = |e: &dyn std::fmt::Display| format!("{}: {e}", manifest.display());
    let text = std::fs::read(manifest).map_err(|e| fail(&e))?;
    let json: serde_json::Value = serde_json::from_slice(&text).map_err(|e| fail(&e))?;
    let path = json["ICD"]["library_path"].as_str();
    let path = path.ok_or_else(|| fail(&"it names no library"))?;
    let folder = manifest.parent().unwrap_or(manifest);
    Ok((path.contains('/')).then(|| folder.join(path)))
}

impl Gate for Vulkan {
    fn name(&self) -> &'static str {
        self.name
    }

    fn catches(&self) -> &'static str {
        self.catches
    }

    fn ready(&self) -> Result<String, String> {
        let Some(manifest) = self.manifest() else {
            return Err(format!("{} is missing: {}", self.name, self.install));
        };
        let info = &Driver::get(self.adapter)?.info;
        let mut found = format!("{}, {} {}", info.name, info.driver, info.driver_info);
        // A library named without a folder is identified by its version only.
        if let Some(library) = library(&manifest)? {
            found += &format!(", library {}", tools::fingerprint(&library)?);
        }
        Ok(found)
    }

    fn leaves_out(&self, subject: &Subject) -> Option<&'static str> {
        let kernel = &subject.kernel;
        let many_lanes = kernel.is("samplesort") && kernel.constant("LANES") > Some(256);
        if self.compiles_sorts_fast && many_lanes {
            return Some("have more lanes than SwiftShader's workgroups; lavapipe runs them");
        }
        let is_spread = kernel.name().contains(".spread");
        if self.compiles_sorts_fast && is_spread {
            return Some("take it minutes and 10 GB to compile; lavapipe runs them");
        }
        let runs_it = self.compiles_sorts_fast
            || is_spread
            || !subject.sorts_in_registers()
            || std::env::var_os(ALL_FORMS).is_some_and(|set| set != "0");
        (!runs_it).then_some(
            "take it longest to compile, and SwiftShader runs them; WGPU_BCFSORT_ALL_FORMS=1 \
             runs them here, too",
        )
    }

    fn runs_kernels(&self) -> bool {
        true
    }

    fn is_driver(&self) -> bool {
        true
    }

    // Lavapipe compiles one kernel at a time, for all threads.
    fn is_sequential(&self) -> bool {
        true
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        let driver = Driver::get(self.adapter)?;
        let pipeline = driver.compile(&subject.label, &subject.wgsl, &subject.module)?;
        for case in Case::of(&subject.kernel)? {
            case.check(&driver.dispatch(&pipeline, case.workgroups, &case.before)?)?;
        }
        Ok(())
    }

    fn planted(&self) -> Result<String, String> {
        match self.examine(&backwards()?) {
            Err(found) if found.contains("the result is wrong") => {
                Ok("a merge that takes the wrong key".to_owned())
            }
            Err(found) => Err(format!("a merge that takes the wrong key: {found}")),
            Ok(()) => Err("a merge that takes the wrong key got through".to_owned()),
        }
    }
}
