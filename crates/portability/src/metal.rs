//! Kernels in Metal's language, as naga writes it for wgpu, compiled as C++ and run on the CPU.
//!
//! `tools/metal/` has the parts of Metal's standard library that kernels use, and a driver that
//! executes dispatches.

use crate::cases::{Case, Contents, backwards};
use crate::gate::{Gate, Subject};
use crate::tools;
use bcfsort_testkit::recordings::dispatched;
use naga::back::msl;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::mergesort::kernels;
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::paper::BaseCase;

const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/metal");

/// The versions of Metal's language that wgpu requests, from macOS 11 on.
const VERSIONS: [(u8, u8); 6] = [(2, 3), (2, 4), (3, 0), (3, 1), (3, 2), (4, 0)];

/// A sanitizer that the compiler adds to a kernel.
struct Watch {
    /// The name of its folder.
    name: &'static str,
    flags: &'static [&'static str],
    /// Maximum number of cases per kernel.
    cases: usize,
    /// The object file of the driver, compiled once.
    driver: OnceLock<Result<PathBuf, String>>,
}

/// Cases per kernel in the search for accesses out of bounds. Other gates run all cases.
const RUN: usize = 12;
/// Accesses out of bounds in buffers and in workgroup memory.
static BOUNDS: Watch = Watch::new("bounds", &["-fsanitize=address"], RUN);
/// Cases per kernel in the search for races. The lock-step executor searches all cases; this only
/// checks that Metal's text has every barrier.
const RACED: usize = 3;
/// Races, in one kind of memory at a time: a barrier for one kind does not order the other.
static RACES: [Watch; 2] = [
    Watch::new(
        "workgroup-races",
        &["-fsanitize=thread", "-DUNWATCHED_DEVICE"],
        RACED,
    ),
    Watch::new(
        "buffer-races",
        &["-fsanitize=thread", "-DUNWATCHED_THREADGROUP"],
        RACED,
    ),
];

/// Checks that each kernel is valid and gives the right result, within its buffers.
pub(crate) struct Metal;

/// Checks that no two lanes access one word without a barrier in between if one of them writes.
pub(crate) struct Races;

impl Watch {
    const fn new(name: &'static str, flags: &'static [&'static str], cases: usize) -> Self {
        Self {
            name,
            flags,
            cases,
            driver: OnceLock::new(),
        }
    }

    fn folder(&self, label: &str) -> Result<PathBuf, String> {
        let folder = tools::folder().join("metal").join(self.name).join(label);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(folder)
    }

    fn compiler(&self) -> Result<Command, String> {
        let mut command = Command::new(&Clang::get()?.program);
        // Optimised kernels mostly take several times as long to compile, and run no faster.
        // Without optimisation, the sanitizers observe all accesses in the text.
        command
            .args(["-std=c++20", "-O0", "-g1", "-w", "-I", RUNTIME])
            .args(self.flags);
        Ok(command)
    }

    fn driver(&self) -> Result<&Path, String> {
        let made = self.driver.get_or_init(|| {
            let object = self.folder("")?.join("driver.o");
            let mut compiler = self.compiler()?;
            compiler.arg("-c").arg(format!("{RUNTIME}/driver.cpp"));
            run(compiler.arg("-o").arg(&object))?;
            Ok(object)
        });
        made.as_deref().map_err(Clone::clone)
    }

    /// Runs a program with a sanitizer.
    fn command(program: &Path) -> Command {
        // The thread sanitizer needs fixed addresses, which may be in use if addresses are
        // randomised.
        let mut command = Command::new("setarch");
        command
            .arg("-R")
            .arg(program)
            // The leak check fails where processes may not be traced. The lanes' variables must be
            // on the lanes' stacks.
            .env(
                "ASAN_OPTIONS",
                "detect_leaks=0 detect_stack_use_after_return=0",
            )
            // No thread is running at the end.
            .env("TSAN_OPTIONS", "halt_on_error=1 atexit_sleep_ms=0");
        command
    }

    /// Checks that the compiler's programs with this sanitizer run here.
    fn ready(&self) -> Result<String, String> {
        let version = &Clang::get()?.version;
        let folder = self.folder("ready")?;
        let (source, program) = (folder.join("nothing.cpp"), folder.join("nothing"));
        write(&source, b"int main() {}\n")?;
        run(self.compiler()?.arg(&source).arg("-o").arg(&program))
            .and_then(|()| run(&mut Self::command(&program)))
            .map_err(|e| {
                format!(
                    "{version} cannot watch a program: {e}; 'make portability' installs its library"
                )
            })?;
        self.driver()?;
        Ok(version.clone())
    }

    /// Compiles and runs a kernel translated to C++, and compares the results.
    fn examine(&self, subject: &Subject, text: &str) -> Result<(), String> {
        let folder = self.folder(&subject.label)?;
        let source = folder.join("kernel.cpp");
        // Another process may examine the same kernel. Programs are large, so only the text is kept
        // for inspection.
        let own = tempfile::tempdir_in(&folder).map_err(|e| e.to_string())?;
        let [program, before, after] =
            ["kernel", "before", "after"].map(|name| own.path().join(name));
        // Metal copies structs between address spaces; C++ needs constructors for that.
        let row = "struct user_row {\n    uint key;\n};";
        let copied = "struct user_row {\n    uint key;\n    user_row() = default;\n    \
                      user_row(const user_row &row) = default;\n    \
                      user_row &operator=(const user_row &row) = default;\n\
                      #ifdef UNWATCHED_DEVICE\n    \
                      user_row(const device user_row &row) : key(row.key) {}\n#endif\n\
                      #ifdef UNWATCHED_THREADGROUP\n    \
                      user_row(const threadgroup user_row &row) : key(row.key) {}\n#endif\n};";
        let text: String = text
            .replace(row, copied)
            .split_inclusive('\n')
            .map(
                |line| match line.trim_end().split_once("node_rows.inner[") {
                    Some((array, rest)) if rest.ends_with(';') && rest.contains("] = ") => {
                        let (cell, value) = rest
                            .trim_end_matches(';')
                            .split_once("] = ")
                            .unwrap_or((rest, ""));
                        format!("{array}node_rows.inner[{cell}].key = {value}.key;\n")
                    }
                    _ => line.to_owned(),
                },
            )
            .collect();
        write(&source, text.as_bytes())?;
        let mut compiler = self.compiler()?;
        compiler.arg(&source).arg(self.driver()?);
        run(compiler.arg("-o").arg(&program)).map_err(|e| format!("does not compile: {e}"))?;
        let cases = Case::of(&subject.kernel)?;
        // Evenly distributed, from the first on.
        let every = cases.len().div_ceil(self.cases);
        for case in cases.iter().step_by(every) {
            let mut words = case.workgroups.to_vec();
            words.push(case.before.len() as u32);
            for buffer in case.before.values() {
                words.push(buffer.len() as u32);
                words.extend(buffer);
            }
            write(&before, bytemuck::cast_slice(&words))?;
            run(Self::command(&program).args([&before, &after]))
                .map_err(|e| format!("{}: {e}", case.what))?;
            let bytes = std::fs::read(&after).map_err(|e| e.to_string())?;
            let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
            let mut rest = &words[..];
            let mut result = Contents::new();
            for (&binding, buffer) in &case.before {
                let (first, others) = rest.split_at(buffer.len().min(rest.len()));
                result.insert(binding, first.to_vec());
                rest = others;
            }
            case.check(&result)?;
        }
        Ok(())
    }

    /// Checks that a fault is caught, with `reason` in the message.
    fn catches(
        &self,
        fault: &str,
        reason: &str,
        subject: &Subject,
        text: &str,
    ) -> Result<(), String> {
        match self.examine(subject, text) {
            Err(found) if found.contains(reason) => Ok(()),
            Err(found) => Err(format!("{fault}: {found}")),
            Ok(()) => Err(format!("{fault} got through")),
        }
    }
}

impl Gate for Metal {
    fn name(&self) -> &'static str {
        "Metal"
    }

    fn catches(&self) -> &'static str {
        "text that is not valid, a wrong result, an access out of bounds"
    }

    fn ready(&self) -> Result<String, String> {
        BOUNDS.ready()
    }

    fn runs_kernels(&self) -> bool {
        true
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        BOUNDS.examine(subject, &translate(subject)?)
    }

    fn planted(&self) -> Result<String, String> {
        let mut planted = Vec::new();
        let mut plant = |fault, reason, subject: &Subject, text: &str| {
            planted.push(fault);
            BOUNDS.catches(fault, reason, subject, text)
        };

        let wrong = backwards()?;
        let text = translate(&wrong)?;
        plant(
            "a merge that takes the wrong key",
            "the result is wrong",
            &wrong,
            &text,
        )?;
        let first = "using metal::uint;\n";
        let number = "constant uint NUMBER = metal::uint2(1u, 2u);\n";
        let invalid = text.replace(first, &[first, number].concat());
        plant("a pair for a number", "does not compile", &wrong, &invalid)?;

        let base_case = kernels::base_case(BaseCase::Transpose, 1, KeyType::U32);
        let beyond = Subject::tampered(&base_case, |text| {
            text.replace("if base + cell(t, j) < keys_end", "if true")
        })?;
        plant(
            "keys past the end",
            "heap-buffer-overflow",
            &beyond,
            &translate(&beyond)?,
        )?;
        let divergent = Subject::tampered(&kernels::bucket_offsets(), |text| {
            text.replace("if bucket >= params.buckets", "if lane == 7u")
        })?;
        plant(
            "a lane that leaves before a barrier",
            "not all lanes",
            &divergent,
            &translate(&divergent)?,
        )?;
        Ok(planted.join(", "))
    }
}

impl Gate for Races {
    fn name(&self) -> &'static str {
        "races"
    }

    fn catches(&self) -> &'static str {
        "a missing barrier, or one for the wrong memory; two workgroups at one word"
    }

    fn ready(&self) -> Result<String, String> {
        RACES[0].ready()?;
        RACES[1].ready()
    }

    fn runs_kernels(&self) -> bool {
        true
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        let text = translate(subject)?;
        RACES
            .iter()
            .try_for_each(|watch| watch.examine(subject, &text))
    }

    fn planted(&self) -> Result<String, String> {
        let [workgroup, buffers] = &RACES;
        let base_case = kernels::base_case(BaseCase::Diagonal, 1, KeyType::U32);
        let distribute = kernels::distribute(KeyType::U32);

        // A kernel with many lanes: more than the sanitizer has slots for.
        let is_wide = |kernel: &Kernel| {
            kernel.is("samplesort.partition") && kernel.constant("LANES") > Some(256)
        };
        // Of kernels that differ in tile sizes, one is run.
        let is_run = |kernel: &Kernel| Case::of(kernel).is_ok_and(|cases| !cases.is_empty());
        let wide = (dispatched().into_iter())
            .filter(|kernel| kernel.key() == KeyType::U32)
            .find(|kernel| is_wide(kernel) && is_run(kernel))
            .ok_or("no kernel has many lanes")?;

        // Removes each barrier of these kernels in turn, as all of them are needed. Of the kernel
        // with many lanes, removes one in its sum.
        let barrier = "workgroupBarrier();";
        let mut barriers = 0;
        let page_merge = kernels::page_merge(KeyType::U32);
        for kernel in [&base_case, &page_merge, &distribute, &wide] {
            let text = kernel.wgsl();
            let all = text.match_indices(barrier).map(|(at, _)| at);
            let sum = text.find("fn exclusive_sum").filter(|_| *kernel == wide);
            let chosen: Vec<usize> = match sum {
                Some(sum) => all.filter(|&at| at > sum).skip(1).take(1).collect(),
                None => all.collect(),
            };
            for at in chosen {
                let without = Subject::tampered(kernel, |text| {
                    text[..at].to_owned() + &text[at + barrier.len()..]
                })?;
                let fault = format!("the barrier at {at} of {} left out", kernel.label());
                workgroup.catches(&fault, "data race", &without, &translate(&without)?)?;
                barriers += 1;
            }
        }

        let twice = Subject::tampered(&distribute, |text| {
            text.replace("group.x / params.pieces", "(group.x & 0u)")
        })?;
        let fault = "two workgroups at one word";
        buffers.catches(fault, "data race", &twice, &translate(&twice)?)?;

        // Reads a neighbor's key back after a barrier for either kind of memory.
        let read_back = |barrier: &str| {
            Subject::tampered(&base_case, |text| {
                let body = text.trim_end().trim_end_matches('}');
                format!(
                    "{body}\n{barrier}();\nif base + t + 1u < keys_end {{\n\
                     if keys[base + t + 1u] == keys[base + t] {{\n\
                     tile_store(matrix + t, r[0]);\n}}\n}}\n}}\n"
                )
            })
        };
        let (wrong, right) = (read_back("workgroupBarrier")?, read_back("storageBarrier")?);
        let fault = "a barrier for the wrong memory";
        buffers.catches(fault, "data race", &wrong, &translate(&wrong)?)?;
        buffers
            .examine(&right, &translate(&right)?)
            .map_err(|e| format!("a barrier for the right memory: {e}"))?;
        Ok(format!(
            "{barriers} barriers left out one by one, two workgroups at one \
             word, a barrier for the wrong memory"
        ))
    }
}

/// The compiler.
struct Clang {
    program: String,
    version: String,
}

impl Clang {
    fn get() -> Result<&'static Self, String> {
        static FOUND: OnceLock<Option<Clang>> = OnceLock::new();
        let found = FOUND.get_or_init(|| ["clang++-16", "clang++"].into_iter().find_map(Self::ask));
        found.as_ref().ok_or_else(|| {
            "no clang++ from version 16 on: 'make portability' installs it".to_owned()
        })
    }

    fn ask(program: &str) -> Option<Self> {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next()?.trim().to_owned();
        let number = version.split("clang version ").nth(1)?.split('.').next()?;
        (number.parse::<u32>().ok()? >= 16).then_some(Self {
            program: program.to_owned(),
            version,
        })
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs a program. If it fails or hangs, the error is the most telling line of its output.
fn run(command: &mut Command) -> Result<(), String> {
    let output = tools::output(command, &[])?;
    let status = output.status;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // A sanitizer's summary is complete except for types of arguments. A compiler's first error
    // explains the others. The driver prints after the address sanitizer, which may warn about
    // changed stacks.
    let summary = |line: &&str| line.starts_with("SUMMARY: ");
    let line = (said.lines().find(summary))
        .map(|line| line.split_once('(').map_or(line, |(first, _)| first))
        .or_else(|| said.lines().find(|line| line.contains("error: ")))
        .or_else(|| said.lines().find(|line| line.starts_with("driver: ")))
        .or_else(|| said.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or("not a word");
    Err(format!(
        "{} ({status})",
        line.trim_start_matches("SUMMARY: ")
    ))
}

/// Translates a kernel to C++: Metal's text, and a function that calls it for a lane.
fn translate(subject: &Subject) -> Result<String, String> {
    let module = &subject.module;
    let [entry_point] = &module.entry_points[..] else {
        return Err("it is not one entry point".to_owned());
    };
    let (text, name) = to_msl(subject, &entry_point.name)?;

    // In Metal, attributes identify a kernel's arguments. One without is workgroup memory.
    let begin = format!("kernel void {name}(\n");
    let arguments = (text.split_once(&begin))
        .and_then(|(_, rest)| rest.split_once("\n) {"))
        .ok_or("naga's text has no kernel in it")?
        .0;
    let mut call = Vec::new();
    let mut variables = 0;
    for argument in arguments.lines() {
        let attribute = (argument.split_once("[["))
            .and_then(|(_, rest)| rest.split_once("]]"))
            .map(|(attribute, _)| attribute);
        let slot = attribute
            .and_then(|attribute| attribute.strip_prefix("buffer("))
            .and_then(|slot| slot.strip_suffix(')'));
        call.push(match (attribute, slot) {
            (Some(_), Some(slot)) => format!("Place{{buffers[{slot}]}}"),
            (Some(attribute), None) => format!("lane.{attribute}"),
            (None, _) => {
                variables += 1;
                format!("Place{{variables[{}]}}", variables - 1)
            }
        });
    }

    // As in wgpu: the kernel's text has neither the size of workgroup memory ...
    let info = subject.info.get_entry_point(0);
    let sizes: Vec<_> = (module.global_variables.iter())
        .filter(|(handle, variable)| {
            variable.space == naga::AddressSpace::WorkGroup && !info[*handle].is_empty()
        })
        .map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx()))
        .collect();
    if sizes.len() != variables {
        return Err(format!(
            "{variables} arguments without an attribute, {} variables in workgroup memory",
            sizes.len()
        ));
    }
    // ... nor the lengths of the arrays in its buffers.
    let slots = slots(module);
    let lengths: Vec<_> = (module.global_variables.iter())
        .filter(|(_, variable)| {
            (module.types[variable.ty].inner).needs_host_buffer_byte_size(&module.types)
        })
        .filter_map(|(_, variable)| slots.iter().position(|b| Some(*b) == variable.binding))
        .map(|slot| slot as u32)
        .collect();

    let mut cpp = String::new();
    let list = |items: &[u32]| {
        let mut items: Vec<String> = items.iter().map(u32::to_string).collect();
        // An array needs an element.
        items.push("0".to_owned());
        items.join(", ")
    };
    let [x, y, z] = entry_point.workgroup_size;
    write!(
        cpp,
        "#include \"lane.h\"\n\
         namespace shader {{\n{text}\n}}\n\
         const metal::uint LANES_XYZ[3] = {{{x}, {y}, {z}}};\n\
         const metal::uint THREADGROUP_VARIABLES = {};\n\
         const metal::uint THREADGROUP_BYTES[] = {{{}}};\n\
         const metal::uint ARRAYS = {};\n\
         const metal::uint ARRAY_SLOTS[] = {{{}}};\n\
         void run_lane(const Lane &lane, void *const *buffers, void *const *variables) {{\n\
             shader::{name}({});\n\
         }}\n",
        sizes.len(),
        list(&sizes),
        lengths.len(),
        list(&lengths),
        call.join(", "),
    )
    .map_err(|e| e.to_string())?;
    Ok(cpp)
}

/// The bindings in the order of their slots: by number, as in wgpu's layout.
fn slots(module: &naga::Module) -> Vec<naga::ResourceBinding> {
    let mut slots: Vec<_> = (module.global_variables.iter())
        .filter_map(|(_, variable)| variable.binding)
        .collect();
    slots.sort();
    slots
}

/// Metal's text and the kernel's name in it, with the options of wgpu's Metal backend for a trusted
/// module.
fn to_msl(subject: &Subject, entry_point: &str) -> Result<(String, String), String> {
    let slots = slots(&subject.module);
    let resources = (slots.iter().enumerate())
        .map(|(slot, &binding)| {
            let mutable = subject.module.global_variables.iter().any(|(_, variable)| {
                variable.binding == Some(binding)
                    && matches!(variable.space, naga::AddressSpace::Storage { access }
                        if access.contains(naga::StorageAccess::STORE))
            });
            let target = msl::BindTarget {
                buffer: Some(slot as u8),
                mutable,
                ..msl::BindTarget::default()
            };
            (binding, target)
        })
        .collect();
    let resources = msl::EntryPointResources {
        resources,
        immediates_buffer: None,
        sizes_buffer: Some(slots.len() as u8),
    };
    let unchecked = naga::proc::BoundsCheckPolicy::Unchecked;
    let mut options = msl::Options {
        per_entry_point_map: [(entry_point.to_owned(), resources)].into(),
        fake_missing_bindings: false,
        bounds_check_policies: naga::proc::BoundsCheckPolicies {
            index: unchecked,
            buffer: unchecked,
            image_load: unchecked,
            binding_array: unchecked,
        },
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        mesh_shader_primitive_indices_clamp: false,
        emit_int_div_checks: false,
        ray_query_initialization_tracking: false,
        ..msl::Options::default()
    };
    let pipeline = msl::PipelineOptions {
        entry_point: Some((naga::ShaderStage::Compute, entry_point.to_owned())),
        vertex_pulling_transform: true,
        ..msl::PipelineOptions::default()
    };
    let mut texts = VERSIONS.map(|version| {
        options.lang_version = version;
        msl::write_string(&subject.module, &subject.info, &options, &pipeline)
            .map_err(|e| e.to_string())
    });
    // Only one of them is run, so all must be equal except for the first line with the version.
    let body = |text: &Result<(String, _), _>| match text {
        Ok((text, _)) => text.split_once('\n').map(|(_, body)| body.to_owned()),
        Err(_) => None,
    };
    for pair in texts.windows(2) {
        if body(&pair[0]) != body(&pair[1]) {
            return Err("its text is not the same in all versions of Metal".to_owned());
        }
    }
    let last = texts.len() - 1;
    let (text, info) = std::mem::replace(&mut texts[last], Err(String::new()))?;
    let name = info.entry_point_names[0]
        .clone()
        .map_err(|e| e.to_string())?;
    Ok((text, name))
}
