//! What a portability gate is: one way in which a kernel may fail on hardware that is not here.

use bcfsort_testkit::recordings::kernels;
use std::collections::{BTreeMap, BTreeSet};
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::kernel::{Kernel, Specialised, Stage as SortStage};

/// A kernel for keys of some words, as the device gets it.
pub(crate) struct Subject {
    pub(crate) specialised: Specialised,
    pub(crate) label: String,
    pub(crate) wgsl: String,
    pub(crate) module: naga::Module,
    pub(crate) info: naga::valid::ModuleInfo,
    /// The gates that it is for.
    pub(crate) stage: Stage,
}

/// Which gates a kernel is for, beside those of the same text with other sizes of tiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Those that only compile or check it, and Metal's: it has the largest tile of its like.
    Compilers,
    /// Those of drivers, which take long to compile it: it has the smallest tile of its like.
    Drivers,
    /// All: its form has one size, or is one that drivers compile soon.
    All,
}

/// The names of a text, without the numbers of its tiles, and whether it has a text for each pass.
fn form(kernel: Specialised) -> (Vec<String>, bool) {
    let label = kernel.label();
    let names = label.split('.').filter(|part| part.parse::<u32>().is_err());
    let names = names.map(str::to_owned).collect();
    (names, sorts_by_large_text(kernel))
}

/// The kernels that differ in the sizes of their tiles only: the bytes of workgroup memory that
/// they take, by their forms.
struct Tiles(BTreeMap<(Vec<String>, bool), BTreeSet<u32>>);

impl Tiles {
    fn of(all: &[Specialised]) -> Self {
        let mut tiles: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for kernel in all {
            let known = tiles.entry(form(*kernel)).or_default();
            known.insert(kernel.workgroup_bytes());
        }
        Self(tiles)
    }

    fn like(&self, kernel: Specialised) -> impl DoubleEndedIterator<Item = u32> {
        let tiles = self.0.get(&form(kernel));
        tiles.into_iter().flatten().copied()
    }

    /// Whether it has the largest tile that FXC and most devices have workgroup memory for.
    fn is_largest(&self, kernel: Specialised) -> bool {
        const WORKGROUP_BYTES: u32 = 32 << 10;
        let largest = self.like(kernel).rfind(|&bytes| bytes <= WORKGROUP_BYTES);
        !matches!(kernel.kernel(), Kernel::Sort(_)) || largest == Some(kernel.workgroup_bytes())
    }

    fn is_smallest(&self, kernel: Specialised) -> bool {
        self.like(kernel).next() == Some(kernel.workgroup_bytes())
    }
}

/// Whether it sorts tiles in registers with a text for each pass.
fn sorts_by_large_text(specialised: Specialised) -> bool {
    let Kernel::Sort(kernel) = specialised.kernel() else {
        return false;
    };
    let (SortStage::Sort { is_compact, .. } | SortStage::Splitters { is_compact, .. }) =
        kernel.stage
    else {
        return false;
    };
    !is_compact && !kernel.compares_rows()
}

/// Whether it sorts tiles in registers, by a network that is written out, and drivers for CPUs take
/// long to compile it.
fn sorts_in_registers(specialised: Specialised) -> bool {
    let Kernel::Sort(kernel) = specialised.kernel() else {
        return false;
    };
    matches!(kernel.stage, SortStage::Sort { .. }) && !kernel.compares_rows()
}

impl Subject {
    /// Whether it sorts tiles in registers with a text for each pass.
    pub(crate) fn sorts_by_large_text(&self) -> bool {
        sorts_by_large_text(self.specialised)
    }

    /// Whether it sorts tiles in registers, and drivers for CPUs take long to compile it.
    pub(crate) fn sorts_in_registers(&self) -> bool {
        sorts_in_registers(self.specialised)
    }

    /// Every kernel that is dispatched by a recording, each text once; or which kernel it is, and
    /// why its text is not valid.
    pub(crate) fn all() -> Vec<Result<Self, (Specialised, String)>> {
        let subject = |specialised: Specialised| {
            Self::new(specialised, specialised.wgsl()).map_err(|message| (specialised, message))
        };
        let all = kernels();
        let tiles = Tiles::of(&all);
        let stage = |specialised: &Specialised| {
            let compiled = tiles.is_largest(*specialised);
            let has_sizes = matches!(specialised.kernel(), Kernel::Sort(_));
            let run = if has_sizes {
                tiles.is_smallest(*specialised)
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
            .filter_map(|&specialised| Some((specialised, stage(&specialised)?)))
            .map(|(specialised, stage)| {
                let mut subject = subject(specialised)?;
                subject.stage = stage;
                Ok(subject)
            })
            .collect()
    }

    /// A kernel for `u32` keys, as it is.
    pub(crate) fn specimen(kernel: Kernel) -> Result<Self, String> {
        let specialised = kernel.specialise(KeyType::U32);
        Self::new(specialised, specialised.wgsl())
    }

    /// The same with a piece of its text replaced: a fault that naga does not see.
    pub(crate) fn altered(kernel: Kernel, piece: &str, by: &str) -> Result<Self, String> {
        let specialised = kernel.specialise(KeyType::U32);
        Self::new(specialised, altered(&specialised.wgsl(), piece, by)?)
    }

    /// A kernel whose text has been tampered with, for a gate to catch.
    pub(crate) fn tampered(
        kernel: Specialised,
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

    fn new(specialised: Specialised, wgsl: String) -> Result<Self, String> {
        let (module, info) = validated(&wgsl)?;
        Ok(Self {
            specialised,
            label: specialised.label(),
            wgsl,
            module,
            info,
            stage: Stage::All,
        })
    }
}

/// A text with the one occurrence of a piece replaced.
///
/// None, or several, are an error: a fault to be planted must not get lost.
pub(crate) fn altered(text: &str, piece: &str, by: &str) -> Result<String, String> {
    match text.matches(piece).count() {
        1 => Ok(text.replace(piece, by)),
        times => Err(format!("to be altered, and there {times} times: {piece}")),
    }
}

/// The module that naga makes of a text, with nothing allowed that a device may lack.
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

/// That an examination failed, and for the reason expected; `fault` says of what.
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

/// One gate. `examine` is called from several threads at once.
pub(crate) trait Gate: Sync {
    /// The title of its column.
    fn name(&self) -> &'static str;
    /// What it rules out, in a line.
    fn catches(&self) -> &'static str;
    /// Looks for the tools it needs, once, before anything else.
    ///
    /// Says the version of what it found, or what is missing and how to get it.
    fn ready(&self) -> Result<String, String>;
    /// Why a kernel is left out, if it is: one reason for all that are.
    fn leaves_out(&self, _: &Subject) -> Option<&'static str> {
        None
    }
    /// Whether it runs kernels on the [cases](crate::cases::Case), or only compiles them.
    fn runs_kernels(&self) -> bool {
        false
    }
    /// Whether it is a driver, which takes long to compile some kernels.
    fn is_driver(&self) -> bool {
        false
    }
    /// Whether it does one thing at a time, whichever thread asks, so that others should run
    /// beside it.
    fn takes_one_at_a_time(&self) -> bool {
        false
    }
    /// Passes a kernel, or says what is wrong with it.
    fn examine(&self, subject: &Subject) -> Result<(), String>;
    /// Runs the same examination on faults planted for it: each must be caught, for its own reason.
    ///
    /// Says what was planted and caught, or what got through.
    fn planted(&self) -> Result<String, String>;
}
