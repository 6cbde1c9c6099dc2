//! A compute shader: parsing and running.

use crate::config::Config;
use crate::error::{Diagnostic, ShaderError};
use crate::overrides::OverrideDeclaration;
use crate::program::WorkgroupVariable;
use crate::report::{Location, Report, Space};
use crate::{lower, machine, mask, memory, nesting, overrides, program};
use std::collections::BTreeMap;

/// The contents of buffers in 32-bit words, by group and binding.
pub type Buffers = BTreeMap<(u32, u32), Vec<u32>>;

/// Bytes that a run needs for each word of a buffer that is written by whole words: the word, and
/// the state for race detection.
pub const MEMORY_A_WORD: u32 = 4 + memory::SHADOW_BYTES;

/// Maximum size of all registers in words, 256 MiB.
const MOST_REGISTERS: u64 = 1 << 26;

/// A buffer that a shader uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// Storage or uniform.
    pub space: Space,
    /// True if the shader may write it.
    pub writable: bool,
    /// Its minimum size in bytes.
    pub min_bytes: u32,
    /// Bytes per element of the runtime-sized array at its end, if it has one.
    pub stride: Option<u32>,
    /// Bytes that a run needs for each word of it.
    pub memory_a_word: u32,
}

/// Calls `read` on a stack that is deep enough for a text.
fn reading<T: Send>(
    wgsl: &str,
    read: impl FnOnce() -> Result<T, ShaderError> + Send,
) -> Result<T, ShaderError> {
    nesting::on_a_deep_stack(wgsl, read)
        .unwrap_or_else(|too_deep| Err(ShaderError::too_deep(&too_deep, wgsl)))
}

fn parse(wgsl: &str) -> Result<(naga::Module, naga::valid::ModuleInfo), ShaderError> {
    let module = naga::front::wgsl::parse_str(wgsl)
        .map_err(|e| ShaderError::Invalid(Diagnostic::of_text(&e, wgsl)))?;
    let flags = naga::valid::ValidationFlags::all();
    let info = naga::valid::Validator::new(flags, naga::valid::Capabilities::all())
        .validate(&module)
        .map_err(|e| ShaderError::Invalid(Diagnostic::of_module(&e, wgsl)))?;
    Ok((module, info))
}

fn compute_entry_points(module: &naga::Module) -> Vec<String> {
    let points = module.entry_points.iter();
    points
        .filter(|point| point.stage == naga::ShaderStage::Compute)
        .map(|point| point.name.clone())
        .collect()
}

/// A compute shader, ready to run.
///
/// # Examples
///
/// ```
/// use wgsl_lockstep::{Buffers, Config, Shader};
///
/// let shader = Shader::new(
///     "override FACTOR: u32;
///      @group(0) @binding(0) var<uniform> len: u32;
///      @group(0) @binding(1) var<storage, read_write> data: array<u32>;
///      @compute @workgroup_size(64)
///      fn main(@builtin(global_invocation_id) id: vec3<u32>) {
///          if id.x < len {
///              data[id.x] *= FACTOR;
///          }
///      }",
///     None,
///     &[("FACTOR".to_owned(), 3.0)],
/// )?;
/// assert_eq!(shader.entry(), "main");
/// assert_eq!(shader.workgroup_size(), [64, 1, 1]);
/// assert_eq!(shader.resources()[0].name, "len");
///
/// let mut buffers = Buffers::from([((0, 0), vec![100]), ((0, 1), (0..100).collect())]);
/// let report = shader.run(&mut buffers, [2, 1, 1], &Config::default())?;
/// assert_eq!(buffers[&(0, 1)][99], 297);
/// assert!(report.findings.is_empty());
/// # Ok::<(), wgsl_lockstep::ShaderError>(())
/// ```
#[derive(Debug)]
pub struct Shader {
    program: program::Program,
    entry: String,
    resources: Vec<Resource>,
    source: String,
}

impl Shader {
    /// Parses and validates WGSL, and prepares one compute entry point. `entry` may be `None` if
    /// there is only one. `overrides` are values for the shader's `override` declarations, by name
    /// or by the number of `@id`; declarations with a default may be left out.
    ///
    /// # Errors
    ///
    /// [`ShaderError::Invalid`], [`ShaderError::NoEntryPoint`], [`ShaderError::UnknownOverride`],
    /// [`ShaderError::MissingOverride`], [`ShaderError::Override`], [`ShaderError::Config`] for a
    /// workgroup of more than 1024 lanes, and [`ShaderError::Unsupported`] for constructs that the
    /// executor cannot run, such as textures, and for texts that are nested too deeply: expressions
    /// of more than 10,000 operators (in a browser, 500), more than 120 nested brackets, 10,000
    /// functions, or 200 `else if` in a chain.
    pub fn new(
        wgsl: &str,
        entry: Option<&str>,
        overrides: &[(String, f64)],
    ) -> Result<Self, ShaderError> {
        reading(wgsl, || Self::read(wgsl, entry, overrides))
    }

    fn read(
        wgsl: &str,
        entry: Option<&str>,
        overrides: &[(String, f64)],
    ) -> Result<Self, ShaderError> {
        let (module, info) = parse(wgsl)?;
        let available = compute_entry_points(&module);
        let name = match (entry, available.as_slice()) {
            (Some(name), names) if names.iter().any(|n| n == name) => name,
            (None, [only]) => only,
            _ => {
                return Err(ShaderError::NoEntryPoint {
                    name: entry.map(str::to_owned),
                    available,
                });
            }
        };

        let constants = overrides::constants(&module, overrides)?;
        let point = Some((naga::ShaderStage::Compute, name));
        let (module, info) =
            naga::back::pipeline_constants::process_overrides(&module, &info, point, &constants)
                .map_err(|e| overrides::error(&module, wgsl, &e))?;
        let index = module
            .entry_points
            .iter()
            .position(|e| e.name == name && e.stage == naga::ShaderStage::Compute)
            .unwrap_or(0);

        let program = lower::lower(&module, &info, index, wgsl)?;
        let lanes: u64 = program
            .workgroup_size
            .iter()
            .map(|&n| u64::from(n))
            .product();
        if lanes == 0 || lanes > mask::MOST_LANES as u64 {
            return Err(ShaderError::Config {
                what: "the workgroup's size",
                value: lanes.min(u64::from(u32::MAX)) as u32,
                allowed: "1 to 1024 lanes",
            });
        }
        // The registers of all lanes are allocated at once.
        let words = u64::from(program.slots) * lanes.next_multiple_of(32);
        if words > MOST_REGISTERS {
            return Err(ShaderError::Unsupported {
                what: format!("{lanes} lanes with {} scalars alive in each", program.slots),
                location: Location::default(),
                excerpt: String::new(),
            });
        }
        let resources = program
            .memories
            .iter()
            .filter_map(|memory| {
                let (group, binding) = memory.binding?;
                Some(Resource {
                    group,
                    binding,
                    name: memory.variable.clone(),
                    space: memory.space,
                    writable: memory.writable,
                    min_bytes: memory.bytes,
                    stride: memory.stride,
                    memory_a_word: memory.bytes_a_word(),
                })
            })
            .collect();
        Ok(Self {
            program,
            entry: name.to_owned(),
            resources,
            source: wgsl.to_owned(),
        })
    }

    /// The names of the compute entry points of a WGSL text.
    ///
    /// # Errors
    ///
    /// [`ShaderError::Invalid`].
    pub fn entry_points(wgsl: &str) -> Result<Vec<String>, ShaderError> {
        reading(wgsl, || Ok(compute_entry_points(&parse(wgsl)?.0)))
    }

    /// The `override` declarations of a WGSL text, in order.
    ///
    /// # Errors
    ///
    /// [`ShaderError::Invalid`].
    ///
    /// # Examples
    ///
    /// ```
    /// use wgsl_lockstep::Shader;
    ///
    /// let declared = Shader::overrides("@id(7) override LANES: u32; override SCALE = 1.5;")?;
    /// assert_eq!((declared[0].name.as_str(), declared[0].id), ("LANES", Some(7)));
    /// assert!(!declared[0].has_default && declared[1].has_default);
    /// assert_eq!([declared[0].kind, declared[1].kind], ["u32", "f32"]);
    /// # Ok::<(), wgsl_lockstep::ShaderError>(())
    /// ```
    pub fn overrides(wgsl: &str) -> Result<Vec<OverrideDeclaration>, ShaderError> {
        reading(wgsl, || Ok(overrides::declared(&parse(wgsl)?.0)))
    }

    /// The WGSL text. Each [`Location`] refers to it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The entry point's name.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Lanes of a workgroup in x, y and z.
    #[must_use]
    pub const fn workgroup_size(&self) -> [u32; 3] {
        self.program.workgroup_size
    }

    /// Bytes of workgroup memory that the entry point uses. Each variable is rounded up to 16
    /// bytes, as WebGPU does for `maxComputeWorkgroupStorageSize`.
    #[must_use]
    pub fn workgroup_bytes(&self) -> u32 {
        self.program.memories[0].bytes
    }

    /// The variables in workgroup memory that the entry point uses, in order of declaration.
    #[must_use]
    pub fn workgroup_variables(&self) -> &[WorkgroupVariable] {
        &self.program.workgroup_variables
    }

    /// The buffers that the entry point uses, in order of declaration.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// Dispatches `workgroups` in x, y and z on `buffers`, one workgroup after the other.
    ///
    /// The buffers are changed as on a GPU. Time is proportional to the
    /// [lane-instructions](Report::lane_instructions). Memory is [`Resource::memory_a_word`] for
    /// each word of a buffer. For an example see [`Shader`].
    ///
    /// # Errors
    ///
    /// [`ShaderError::NoBuffer`], [`ShaderError::BufferSize`] and [`ShaderError::Config`]; the
    /// buffers are then unchanged. Faults of the shader are not errors: see [`Report::findings`].
    pub fn run(
        &self,
        buffers: &mut Buffers,
        workgroups: [u32; 3],
        config: &Config,
    ) -> Result<Report, ShaderError> {
        self.run_with_data(buffers, workgroups, config, |_| true)
    }

    /// Like [`Shader::run`], for shaders with data in some of their storage buffers only.
    ///
    /// `holds_data` is called with each group and binding. An access whose address depends on a
    /// storage buffer with data is [not oblivious](crate::Site::oblivious). Buffers with parameters
    /// or addresses hold no data.
    ///
    /// # Errors
    ///
    /// The same as for [`Shader::run`].
    pub fn run_with_data(
        &self,
        buffers: &mut Buffers,
        workgroups: [u32; 3],
        config: &Config,
        holds_data: impl Fn((u32, u32)) -> bool,
    ) -> Result<Report, ShaderError> {
        self.check(buffers, config)?;
        let program = &self.program;
        let mut memories = Vec::new();
        for info in &program.memories {
            let words = match info.binding {
                Some(binding) => buffers.remove(&binding).unwrap_or_default(),
                None => vec![0; info.bytes.div_ceil(4) as usize],
            };
            memories.push(memory::Memory::new(
                words,
                info.space,
                info.writable,
                info.granule_shift,
            ));
        }
        let is_data = |info: &program::MemoryInfo| {
            info.space == Space::Storage && info.binding.is_some_and(&holds_data)
        };
        let data = program.memories.iter().map(is_data).collect();
        let mut machine = machine::Machine::new(program, config, memories, data);
        machine.run(workgroups);
        let report = machine.report();
        for (info, memory) in program.memories.iter().zip(machine.memories) {
            if let Some(binding) = info.binding {
                buffers.insert(binding, memory.words);
            }
        }
        Ok(report)
    }

    fn check(&self, buffers: &Buffers, config: &Config) -> Result<(), ShaderError> {
        if ![4, 8, 16, 32, 64].contains(&config.warp) {
            return Err(ShaderError::Config {
                what: "the warp",
                value: config.warp,
                allowed: "4, 8, 16, 32 or 64 lanes",
            });
        }
        if config.banks == 0 || config.banks > memory::MOST as u32 {
            return Err(ShaderError::Config {
                what: "the number of banks",
                value: config.banks,
                allowed: "1 to 64",
            });
        }
        for resource in &self.resources {
            let Resource { group, binding, .. } = *resource;
            let Some(words) = buffers.get(&(group, binding)) else {
                return Err(ShaderError::NoBuffer {
                    group,
                    binding,
                    name: resource.name.clone(),
                });
            };
            let actual = words.len() as u64 * 4;
            let size = |what, limit| ShaderError::BufferSize {
                group,
                binding,
                name: resource.name.clone(),
                actual,
                what,
                limit,
            };
            if actual < u64::from(resource.min_bytes) {
                return Err(size("the least", u64::from(resource.min_bytes)));
            }
            if actual > 1 << 31 {
                return Err(size("the most", 1 << 31));
            }
        }
        Ok(())
    }
}
