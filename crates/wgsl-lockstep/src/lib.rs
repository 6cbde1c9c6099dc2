//! Runs WGSL on the CPU, the lanes of a warp in lock-step, and counts what a GPU would suffer:
//! bank conflicts, races, accesses out of bounds, barriers in divergent flow.
//!
//! It interprets the very module that a device gets, through naga's IR.
//!
//! | counted | how |
//! |---|---|
//! | bank conflicts | workgroup memory in 32 banks of 4 bytes; the degree of an access is the greatest number of different words that a warp's active lanes touch in one bank ([`Banks`]) |
//! | races | two invocations touch the same bytes, one of them writes, not both atomically, and no barrier of that kind of memory stands between: `workgroupBarrier` orders workgroup memory, `storageBarrier` orders storage, within a workgroup; nothing orders two workgroups |
//! | out of bounds | an index past an array's end, an address past a buffer's: loads give 0 then, stores do nothing |
//! | divergent barriers | a barrier that not all lanes of the workgroup reach together |
//! | uninitialised reads | of workgroup memory that no lane of this workgroup has written |
//! | runaway loops | more rounds than [`Config::max_iterations`] allows |
//! | coalescing | 32-byte sectors of storage a warp's access touches, against the fewest that hold as many bytes |
//!
//! A `bool` takes a byte, as naga lays it out; hardware may give it a word.
//!
//! A run is of one input. It holds for others where no value of the input decided an address, or
//! that an access is made; that is followed through the program, too ([`Site::oblivious`]).
//!
//! # Examples
//!
//! A transposition through workgroup memory without padding: 32 lanes meet in one bank.
//!
//! ```
//! use wgsl_lockstep::{Buffers, Config, Shader};
//!
//! let shader = Shader::new(
//!     "@group(0) @binding(0) var<storage, read_write> matrix: array<u32>;
//!      var<workgroup> tile: array<u32, 1024>;
//!      @compute @workgroup_size(32)
//!      fn main(@builtin(local_invocation_index) lane: u32) {
//!          for (var row = 0u; row < 32u; row++) {
//!              tile[row * 32u + lane] = matrix[row * 32u + lane];
//!          }
//!          workgroupBarrier();
//!          for (var row = 0u; row < 32u; row++) {
//!              matrix[row * 32u + lane] = tile[lane * 32u + row];
//!          }
//!      }",
//!     None,
//!     &[],
//! )?;
//! let mut buffers = Buffers::from([((0, 0), (0..1024).collect())]);
//! let report = shader.run(&mut buffers, [1, 1, 1], &Config::default())?;
//! assert_eq!(buffers[&(0, 0)][1], 32);
//! assert_eq!(report.banks().max_degree, 32);
//! assert!(report.findings.is_empty());
//! # Ok::<(), wgsl_lockstep::ShaderError>(())
//! ```

mod arithmetic;
mod lower;
mod machine;
mod mask;
mod memory;
mod program;
mod report;

pub use report::{AccessKind, Banks, Fault, Finding, Location, Report, Site, Space};

use std::collections::BTreeMap;

/// The contents of buffers in words, by group and binding.
pub type Buffers = BTreeMap<(u32, u32), Vec<u32>>;

/// The hardware to count for, and how far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Lanes of a warp: 4, 8, 16, 32 or 64. Subgroups are as large.
    pub warp: u32,
    /// Banks of 4 bytes in workgroup memory: 1 to 64.
    pub banks: u32,
    /// Rounds after which a loop counts as running away.
    pub max_iterations: u64,
    /// Lane-instructions after which a dispatch is stopped.
    pub max_lane_instructions: u64,
}

impl Default for Config {
    /// 32 lanes and 32 banks, as all of NVIDIA's GPUs have since 2010; 2^20 rounds of a loop, and
    /// no end otherwise.
    fn default() -> Self {
        Self {
            warp: 32,
            banks: 32,
            max_iterations: 1 << 20,
            max_lane_instructions: u64::MAX,
        }
    }
}

impl Config {
    /// With warps of this many lanes: 4, 8, 16, 32 or 64.
    #[must_use]
    pub const fn warp(self, warp: u32) -> Self {
        Self { warp, ..self }
    }

    /// With this many banks: 1 to 64.
    #[must_use]
    pub const fn banks(self, banks: u32) -> Self {
        Self { banks, ..self }
    }

    /// With loops of this many rounds at most.
    #[must_use]
    pub const fn max_iterations(self, max_iterations: u64) -> Self {
        Self {
            max_iterations,
            ..self
        }
    }

    /// With dispatches of this many lane-instructions at most.
    #[must_use]
    pub const fn max_lane_instructions(self, max_lane_instructions: u64) -> Self {
        Self {
            max_lane_instructions,
            ..self
        }
    }
}

/// Bytes that a run takes for each word of a buffer that is written as words: the word, and what is
/// remembered of it.
pub const MEMORY_A_WORD: u32 = 4 + memory::SHADOW_BYTES;

/// Words of registers, 256 MiB of them.
const MOST_REGISTERS: u64 = 1 << 26;

/// Why a shader was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShaderError {
    /// The text is no valid WGSL; naga's message shows where.
    #[error("{0}")]
    Invalid(String),
    /// There is no such compute entry point.
    #[error("no compute entry point{}; the shader has: {}", name.as_ref().map(|n| format!(" '{n}'")).unwrap_or_default(), list(available))]
    NoEntryPoint {
        /// The name asked for; without one, a shader needs exactly one entry point.
        name: Option<String>,
        /// The compute entry points there are.
        available: Vec<String>,
    },
    /// A value for an `override` is unknown or does not fit.
    #[error("{0}")]
    Override(String),
    /// The executor cannot run this construct.
    #[error("{}: cannot run {what}{excerpt}", line_of(*location))]
    Unsupported {
        /// The construct.
        what: String,
        /// Where it stands.
        location: Location,
        /// The line, marked.
        excerpt: String,
    },
    /// A binding that the shader uses has no buffer.
    #[error("binding {group}.{binding} ({name}) has no buffer")]
    NoBuffer {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// The variable's name.
        name: String,
    },
    /// A buffer is too small for its type, or too large to be addressed.
    #[error(
        "the buffer of binding {group}.{binding} ({name}) has {actual} bytes, and {what} is {limit}"
    )]
    BufferSize {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// The variable's name.
        name: String,
        /// Its bytes.
        actual: u64,
        /// Which limit it breaks.
        what: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// The configuration makes no sense.
    #[error("{what} is {value}, and must be {allowed}")]
    Config {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: u32,
        /// What it may be.
        allowed: &'static str,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn line_of(location: Location) -> String {
    match location.line {
        0 => "the shader".to_owned(),
        line => format!("line {line}"),
    }
}

/// What is wrong with the overrides, or with the shader once they have their values. Such an error
/// by itself says only in which function.
fn override_error(
    error: &naga::back::pipeline_constants::PipelineConstantError,
    source: &str,
) -> String {
    match error {
        naga::back::pipeline_constants::PipelineConstantError::ValidationError(error) => {
            error.emit_to_string(source)
        }
        other => other.to_string(),
    }
}

/// The line at a location with the place marked, for terminals, or nothing where it is not known.
fn excerpt(source: &str, location: Location) -> String {
    let Some(line) = (location.line as usize)
        .checked_sub(1)
        .and_then(|n| source.lines().nth(n))
    else {
        return String::new();
    };
    let column = (location.column as usize).saturating_sub(1);
    let before: String = line
        .bytes()
        .take(column)
        .map(|b| if b == b'\t' { '\t' } else { ' ' })
        .collect();
    let rest = line.len().saturating_sub(column).max(1);
    let marks = "^".repeat((location.length as usize).clamp(1, rest));
    format!("\n{:>5} | {line}\n      | {before}{marks}", location.line)
}

impl Location {
    /// The line of the source at this place, marked below, for terminals; empty if the place is not known.
    #[must_use]
    pub fn excerpt(self, source: &str) -> String {
        excerpt(source, self).trim_start_matches('\n').to_owned()
    }
}

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
    /// Whether the shader may write it.
    pub writable: bool,
    /// The fewest bytes it may have.
    pub min_bytes: u32,
    /// Bytes of an element of the runtime-sized array at its end, if it has one.
    pub stride: Option<u32>,
    /// Bytes that a run takes for each word of it.
    pub memory_a_word: u32,
}

/// A compute shader, ready to run.
#[derive(Debug)]
pub struct Shader {
    program: program::Program,
    entry: String,
    resources: Vec<Resource>,
    source: String,
}

impl Shader {
    /// Reads WGSL. `entry` may be left out where there is only one compute entry point. `overrides`
    /// are values for the shader's `override` declarations, by name (or by `@id`).
    ///
    /// # Errors
    ///
    /// [`ShaderError::Invalid`], [`ShaderError::NoEntryPoint`], [`ShaderError::Override`], and
    /// [`ShaderError::Unsupported`]: textures and samplers, for one.
    pub fn new(
        wgsl: &str,
        entry: Option<&str>,
        overrides: &[(String, f64)],
    ) -> Result<Self, ShaderError> {
        let module = naga::front::wgsl::parse_str(wgsl)
            .map_err(|e| ShaderError::Invalid(e.emit_to_string(wgsl)))?;
        let capabilities = naga::valid::Capabilities::all();
        let mut validator =
            naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities);
        let info = validator
            .validate(&module)
            .map_err(|e| ShaderError::Invalid(e.emit_to_string(wgsl)))?;

        let compute = |e: &&naga::EntryPoint| e.stage == naga::ShaderStage::Compute;
        let available: Vec<String> = module
            .entry_points
            .iter()
            .filter(compute)
            .map(|e| e.name.clone())
            .collect();
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

        let mut constants = naga::back::PipelineConstants::default();
        constants.extend(overrides.iter().cloned());
        let point = Some((naga::ShaderStage::Compute, name));
        let (module, info) =
            naga::back::pipeline_constants::process_overrides(&module, &info, point, &constants)
                .map_err(|e| ShaderError::Override(override_error(&e, wgsl)))?;
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
        // All lanes' registers lie side by side.
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

    /// The text it was made of, which [`Location`]s refer to.
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

    /// Bytes of workgroup memory it declares and uses.
    #[must_use]
    pub fn workgroup_bytes(&self) -> u32 {
        self.program.memories[0].bytes
    }

    /// The buffers it uses, in order of declaration.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// Runs a dispatch of `workgroups` on `buffers`, one workgroup after the other, and reports.
    ///
    /// The buffers are changed as by a GPU. Time grows with the lane-instructions, some hundred millions
    /// of which take a second; for the memory see [`Resource::memory_a_word`].
    ///
    /// # Errors
    ///
    /// [`ShaderError::NoBuffer`], [`ShaderError::BufferSize`] and [`ShaderError::Config`]; no
    /// buffer is changed then. What goes wrong in the shader is no error of the run: see
    /// [`Report::findings`].
    pub fn run(
        &self,
        buffers: &mut Buffers,
        workgroups: [u32; 3],
        config: &Config,
    ) -> Result<Report, ShaderError> {
        self.run_on(buffers, workgroups, config, |_| true)
    }

    /// [`Shader::run`], where only some storage buffers hold data, by which no address should be decided.
    ///
    /// # Errors
    ///
    /// Those of [`Shader::run`].
    pub fn run_on(
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
                Some(place) => buffers.remove(&place).unwrap_or_default(),
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
            if let Some(place) = info.binding {
                buffers.insert(place, memory.words);
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
