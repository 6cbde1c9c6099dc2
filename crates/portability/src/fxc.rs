//! The gate of FXC, Direct3D's older compiler. wgpu uses it for DX12 if there is no DXC, so on
//! every Windows unless an application ships DXC. It runs on Wine.
//!
//! Only FXC rejects barriers after control flow that its analysis takes for divergent, and this
//! analysis differs from WGSL's.

use crate::gate::{Gate, Subject, altered, caught};
use crate::hlsl::{exceeds_workgroup_memory, sound, write};
use crate::tools;
use naga::back::hlsl::ShaderModel;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::mergesort::kernels::distribute;
use wgpu_bcfsort::internals::shader::W;

/// The only shader model that wgpu uses FXC for.
const MODEL: ShaderModel = ShaderModel::V5_1;

#[derive(Default)]
pub(crate) struct FxcGate {
    /// Idle processes, kept because starting one is slow.
    idle: Mutex<Vec<Fxc>>,
}

impl FxcGate {
    fn compile(&self, text: &str) -> Result<(), String> {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let mut fxc = idle.map_or_else(Fxc::start, Ok)?;
        // A process whose pipes fail is dropped.
        let (result, said) = fxc.compile(text).map_err(|e| format!("FXC: {e}"))?;
        lock().push(fxc);
        if result < 0 { Err(said) } else { Ok(()) }
    }
}

impl Gate for FxcGate {
    fn name(&self) -> &'static str {
        "FXC 5.1"
    }

    fn catches(&self) -> &'static str {
        "HLSL that Windows' own compiler refuses: barriers it cannot prove to be met by all lanes"
    }

    fn ready(&self) -> Result<String, String> {
        let wine = tools::run(Command::new(WINE).arg("--version"), b"")?;
        build()?;
        self.compile("[numthreads(1, 1, 1)] void main() {}")?;
        Ok(format!(
            "d3dcompiler_47.dll {} on {}",
            tools::fingerprint(&library()?)?,
            String::from_utf8_lossy(&wine).trim()
        ))
    }

    fn leaves_out(&self, subject: &Subject) -> Option<&'static str> {
        if subject.sorts_by_large_text() {
            return Some(
                "sort tiles with a text for each pass: FXC is slow with them, so sorts on DX12 \
                 take the compact ones",
            );
        }
        if subject.kernel.constant("IDLE_ROUNDS") == Some(0) {
            return Some("end loops by what is in workgroup memory: DX12 gets those of all rounds");
        }
        let warps = subject.kernel.constant("LANES").map(|lanes| lanes / W);
        let has_several_warps = subject.kernel.constant("TILES").is_some() && warps > Some(1);
        if has_several_warps && subject.kernel.key().words() == 2 {
            return Some(
                "sort 64-bit keys with several warps: FXC is slow with them; they differ from \
                 kernels that are taken by these alone",
            );
        }
        exceeds_workgroup_memory(subject)
    }

    fn examine(&self, subject: &Subject) -> Result<(), String> {
        // Unchecked, as the library compiles it. FXC compiles checked code slowly.
        self.compile(&write(subject, MODEL, false)?)
    }

    fn planted(&self) -> Result<String, String> {
        self.compile(&sound(MODEL)?)?;
        let mistyped = altered(
            &sound(MODEL)?,
            "uint origin = (start + ",
            "uint origin = (params + ",
        )?;
        let divergent = Subject::altered(
            &distribute(KeyType::U32),
            "var done = first_chunk;",
            "var done = first_chunk + lane;",
        )?;
        Ok([
            caught(
                "a sum of a number and a structure",
                self.compile(&mistyped),
                "X3022",
            )?,
            caught(
                "a barrier in divergent control flow",
                self.examine(&divergent),
                "non-varying flow control",
            )?,
        ]
        .join("; "))
    }
}

/// Debian's path. The package with a launcher in the PATH has many more dependencies.
const WINE: &str = "/usr/lib/wine/wine64";

/// A process with FXC; its program is tools/fxc.c.
struct Fxc {
    process: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Fxc {
    fn start() -> Result<Self, String> {
        let library = library()?;
        let wine = tools::installed("wine")?;
        let mut process = Command::new(WINE)
            .arg(program()?)
            // The root directory is drive Z.
            .env("FXC", format!("Z:{}", library.display()).replace('/', "\\"))
            .env("WINEPREFIX", &wine)
            // Wine would write menu entries here.
            .env("HOME", &wine)
            .env("WINEDEBUG", "-all")
            // Disables Wine's own compiler, .NET and the browser.
            .env("WINEDLLOVERRIDES", "d3dcompiler_47=n;mscoree,mshtml=")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{WINE}: {e}"))?;
        Ok(Self {
            stdin: process.stdin.take().expect("a pipe was asked for"),
            stdout: process.stdout.take().expect("a pipe was asked for"),
            process,
        })
    }

    /// Compiles a text. Returns the result, which is negative for an error, and FXC's messages.
    fn compile(&mut self, text: &str) -> std::io::Result<(i32, String)> {
        let length = u32::try_from(text.len()).map_err(std::io::Error::other)?;
        self.stdin.write_all(&length.to_le_bytes())?;
        self.stdin.write_all(text.as_bytes())?;
        let mut number = || {
            let mut bytes = [0; 4];
            self.stdout.read_exact(&mut bytes).map(|()| bytes)
        };
        let result = i32::from_le_bytes(number()?);
        let mut said = vec![0; u32::from_le_bytes(number()?) as usize];
        self.stdout.read_exact(&mut said)?;
        Ok((result, String::from_utf8_lossy(&said).into_owned()))
    }
}

impl Drop for Fxc {
    fn drop(&mut self) {
        // Its answers are no longer needed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn library() -> Result<PathBuf, String> {
    tools::installed("node/node_modules/webgpu/dist/win32-x64/d3dcompiler_47.dll")
}

fn program() -> Result<PathBuf, String> {
    Ok(tools::installed("wine")?.with_file_name("fxc.exe"))
}

/// Builds the program for Windows. Called at each start, so that it is never outdated.
fn build() -> Result<(), String> {
    const MINGW: &str = "/usr/x86_64-w64-mingw32";
    let source = Path::new(tools::TOOLS).join("fxc.c");
    let program = program()?;
    let object = program.with_extension("o");
    tools::run(
        Command::new("clang-16")
            .args([
                "--target=x86_64-w64-mingw32",
                "-O1",
                "-Wall",
                "-Werror",
                "-c",
            ])
            .args(["-mno-stack-arg-probe", "-DCINTERFACE", "-isystem"])
            .arg(format!("{MINGW}/include"))
            .args([&source, Path::new("-o"), &object]),
        b"",
    )?;
    tools::run(
        Command::new("ld.lld-16")
            .args(["-m", "i386pep", "-e", "start", "--subsystem", "console"])
            .args([&object, Path::new("-o"), &program])
            .args([&format!("-L{MINGW}/lib"), "-lkernel32"]),
        b"",
    )?;
    Ok(())
}
