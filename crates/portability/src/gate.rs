//! Portability gates. Each finds one kind of kernel failure on hardware that is not available here.

use bcfsort_testkit::recordings::dispatched;
use std::collections::{BTreeMap, BTreeSet};
use wgpu_bcfsort::internals::shader::Kernel;

/// Direct3D's workgroup memory, and that of most devices.
pub(crate) const DX12_WORKGROUP_BYTES: u32 = 32 << 10;

/// A kernel for one key type, as the device receives it.
pub(crate) struct Subject {
    pub(crate) kernel: Kernel,
    pub(crate) label: String,
    pub(crate) wgsl: String,
    pub(crate) module: naga::Module,
    pub(crate) info: naga::valid::ModuleInfo,
    /// The gates that examine it.
    pub(crate) stage: Stage,
}

/// The gates that examine a kernel. Kernels of the same form with other tile sizes may be examined
/// by the other gates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Gates that compile or check it, and Metal's: it has the largest tile of its form.
    Compilers,
    /// Drivers, which compile it slowly: it has the smallest tile of its form.
    Drivers,
    /// All gates: its form has one size, or drivers compile it fast.
    All,
}

/// The kernel's label without tile sizes, and whether it has code for each pass.
fn form(kernel: &Kernel) -> (Vec<String>, bool) {
    let label = kernel.label();
    let names = label.split('.').filter(|part| part.parse::<u32>().is_err());
    let names = names.map(str::to_owned).collect();
    (names, sorts_by_large_text(kernel))
}

/// Kernels that differ in tile sizes only: the workgroup memory in bytes of each size, by form.
struct Tiles(BTreeMap<(Vec<String>, bool), BTreeSet<u32>>);

impl Tiles {
    fn of(all: &[Kernel]) -> Self {
        let mut tiles: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for kernel in all {
            let known = tiles.entry(form(kernel)).or_default();
            known.insert(kernel.workgroup_bytes());
        }
        Self(tiles)
    }

    fn like(&self, kernel: &Kernel) -> impl DoubleEndedIterator<Item = u32> {
        let tiles = self.0.get(&form(kernel));
        tiles.into_iter().flatten().copied()
    }

    /// True if it has the largest tile that DX12 has the memory for.
    fn is_largest(&self, kernel: &Kernel) -> bool {
        let largest = self
            .like(kernel)
            .rfind(|&bytes| bytes <= DX12_WORKGROUP_BYTES);
        !kernel.is("samplesort") || largest == Some(kernel.workgroup_bytes())
    }

    fn is_smallest(&self, kernel: &Kernel) -> bool {
        self.like(kernel).next() == Some(kernel.workgroup_bytes())
    }
}

/// True if it sorts tiles in registers, with code for each pass.
fn sorts_by_large_text(kernel: &Kernel) -> bool {
    let sorts = kernel.is("samplesort.sort") || kernel.is("samplesort.splitters");
    sorts && !kernel.name().contains(".compact") && !kernel.compares_rows()
}

/// True if it sorts tiles in registers, by an unrolled network, which CPU drivers compile slowly.
fn sorts_in_registers(kernel: &Kernel) -> bool {
    kernel.is("samplesort.sort") && !kernel.compares_rows()
}

impl Subject {
    /// True if it sorts tiles in registers, with code for each pass.
    pub(crate) fn sorts_by_large_text(&self) -> bool {
        sorts_by_large_text(&self.kernel)
    }

    /// True if it sorts tiles in registers, which CPU drivers compile slowly.
    pub(crate) fn sorts_in_registers(&self) -> bool {
        sorts_in_registers(&self.kernel)
    }

    /// All kernels that a recording dispatches, each text once. For a text that is not valid: the
    /// kernel and the error.
    pub(crate) fn all() -> Vec<Result<Self, (Kernel, String)>> {
        let subject = |kernel: &Kernel| {
            Self::new(kernel, kernel.wgsl()).map_err(|message| (kernel.clone(), message))
        };
        let all = dispatched();
        let tiles = Tiles::of(&all);
        let stage = |kernel: &Kernel| {
            let compiled = tiles.is_largest(kernel);
            let has_sizes = kernel.is("samplesort");
            let run = if has_sizes {
                tiles.is_smallest(kernel)
            } else {
                compiled
            };
            match (compiled, run) {
                (true, true) => Some(Stage::All),
                (true, false) => Some(Stage::Compilers),
                (false, true) => Some(Stage::Drivers),
                (false, false) => None,
            }
        };
        (all.iter())
            .filter_map(|kernel| Some((kernel, stage(kernel)?)))
            .map(|(kernel, stage)| {
                let mut subject = subject(kernel)?;
                subject.stage = stage;
                Ok(subject)
            })
            .collect()
    }

    /// A kernel, unchanged.
    pub(crate) fn specimen(kernel: &Kernel) -> Result<Self, String> {
        Self::new(kernel, kernel.wgsl())
    }

    /// The same kernel with a piece of its text replaced: a fault that naga does not detect.
    pub(crate) fn altered(kernel: &Kernel, piece: &str, by: &str) -> Result<Self, String> {
        Self::new(kernel, altered(&kernel.wgsl(), piece, by)?)
    }

    /// A kernel with an altered text, for a gate to catch.
    pub(crate) fn tampered(
        kernel: &Kernel,
        tamper: impl FnOnce(&str) -> String,
    ) -> Result<Self, String> {
        let text = kernel.wgsl();
        let wgsl = tamper(&text);
        if wgsl == text {
            return Err(format!(
                "{}: the text to tamper with is gone",
                kernel.label()
            ));
        }
        let label = format!("{}.tampered", kernel.label());
        Ok(Self {
            label,
            ..Self::new(kernel, wgsl)?
        })
    }

    fn new(kernel: &Kernel, wgsl: String) -> Result<Self, String> {
        let (module, info) = validated(&wgsl)?;
        Ok(Self {
            kernel: kernel.clone(),
            label: kernel.label().to_owned(),
            wgsl,
            module,
            info,
            stage: Stage::All,
        })
    }
}

/// Replaces the only occurrence of a piece of text.
///
/// Returns an error if there are none or several: a planted fault must not get lost.
pub(crate) fn altered(text: &str, piece: &str, by: &str) -> Result<String, String> {
    match text.matches(piece).count() {
        1 => Ok(text.replace(piece, by)),
        times => Err(format!("to be altered, and there {times} times: {piece}")),
    }
}

/// naga's module for a text, validated without optional capabilities.
pub(crate) fn validated(wgsl: &str) -> Result<(naga::Module, naga::valid::ModuleInfo), String> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|e| e.emit_to_string(wgsl))?;
    let info = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    )
    .validate(&module)
    .map_err(|e| e.emit_to_string(wgsl))?;
    Ok((module, info))
}

/// Checks that an examination of `fault` failed for the expected reason.
pub(crate) fn caught(
    fault: &str,
    outcome: Result<(), String>,
    reason: &str,
) -> Result<String, String> {
    match outcome {
        Err(message) if message.contains(reason) => Ok(fault.to_owned()),
        Err(message) => Err(format!(
            "{fault}: caught, but not for '{reason}':\n{message}"
        )),
        Ok(()) => Err(format!("{fault}: not caught")),
    }
}

/// A gate. `examine` is called from several threads concurrently.
pub(crate) trait Gate: Sync {
    /// The title of its column.
    fn name(&self) -> &'static str;
    /// The faults that it detects, in one line.
    fn catches(&self) -> &'static str;
    /// Looks for its tools. Called once, before anything else.
    ///
    /// Returns the version found, or a description of the missing tool and how to get it.
    fn ready(&self) -> Result<String, String>;
    /// The reason to leave out a kernel, which completes "kernels that ...", or `None`.
    fn leaves_out(&self, _: &Subject) -> Option<&'static str> {
        None
    }
    /// True if it runs kernels on the [cases](crate::cases::Case), false if it only compiles them.
    fn runs_kernels(&self) -> bool {
        false
    }
    /// True if it is a driver, which compiles some kernels slowly.
    fn is_driver(&self) -> bool {
        false
    }
    /// True if it does one job at a time, for all threads, so that other gates should run beside
    /// it.
    fn is_sequential(&self) -> bool {
        false
    }
    /// Examines a kernel, and returns an error if it is faulty.
    fn examine(&self, subject: &Subject) -> Result<(), String>;
    /// Runs the same examination on planted faults. Each must be caught for the right reason.
    ///
    /// Returns a list of the faults caught, or the fault that was missed.
    fn planted(&self) -> Result<String, String>;
}
