//! What a portability gate is: one way in which a kernel may fail on hardware that is not here.

use bcfsort_testkit::recordings::{REPRESENTATIVES, kernels};
use std::collections::{BTreeMap, BTreeSet};
use wgpu_bcfsort::internals::algorithm::Merges;
use wgpu_bcfsort::internals::kernel::{Kernel, SampleSortKernel, Specialised, Stage as SortStage};
use wgpu_bcfsort::{BaseCase, KeyType, Order, Payload};

/// A kernel for a key type and an order, as the device gets it.
pub(crate) struct Subject {
    pub(crate) specialised: Specialised,
    pub(crate) label: String,
    pub(crate) wgsl: String,
    pub(crate) module: naga::Module,
    pub(crate) info: naga::valid::ModuleInfo,
    /// The gates that it is for.
    pub(crate) stage: Stage,
    /// Whether there is one for the widest records, of the same text with more barriers, since more
    /// words are moved. (Keys of segments are compared with more words, not moved with them. Only
    /// narrow keys are packed.)
    pub(crate) is_narrow_of_two: bool,
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

/// Whether other subjects have each piece of its text: base cases in place differ from those that
/// are not in one piece, which the default one in place has, too. (Some compilers are slow
/// with each.)
fn is_twin(kernel: Kernel) -> bool {
    match kernel {
        Kernel::BaseCase {
            form,
            warps,
            in_place,
        } => in_place && (form, warps) != (BaseCase::default(), 1),
        _ => false,
    }
}

/// The names of a text, without the numbers of its tiles.
fn without_numbers(label: &str) -> Vec<String> {
    let names = label.split('.').filter(|part| part.parse::<u32>().is_err());
    names.map(str::to_owned).collect()
}

/// The kernels that differ in the sizes of their tiles only: the bytes of workgroup memory that
/// they take, by their names without numbers.
struct Tiles(BTreeMap<Vec<String>, BTreeSet<u32>>);

impl Tiles {
    fn of(all: &[Specialised]) -> Self {
        let mut tiles: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for kernel in all {
            let known = tiles.entry(without_numbers(&kernel.label())).or_default();
            known.insert(kernel.workgroup_bytes());
        }
        Self(tiles)
    }

    fn like(&self, kernel: Specialised) -> impl DoubleEndedIterator<Item = u32> {
        let tiles = self.0.get(&without_numbers(&kernel.label()));
        tiles.into_iter().flatten().copied()
    }

    /// Whether it has the largest tile that FXC and most devices have workgroup memory for.
    fn is_largest(&self, kernel: Specialised) -> bool {
        const WORKGROUP_BYTES: u32 = 32 << 10;
        let largest = self.like(kernel).rfind(|&bytes| bytes <= WORKGROUP_BYTES);
        !matches!(kernel.kernel(), Kernel::SampleSort(_) | Kernel::Sort(_))
            || largest == Some(kernel.workgroup_bytes())
    }

    fn is_smallest(&self, kernel: Specialised) -> bool {
        self.like(kernel).next() == Some(kernel.workgroup_bytes())
    }
}

/// Whether its records are neither the narrowest nor the widest of a kernel of the sample sort:
/// these two have all pieces of the text between them. Of segments, the widest are keys of two
/// words alone.
fn is_between(specialised: Specialised) -> bool {
    let widest = specialised.carrying(Payload::Indices) == specialised;
    let wide = specialised.key().words() == 2;
    let narrowest = specialised.carrying(Payload::None) == specialised;
    let is_one = (narrowest && !wide) || (wide && (widest || specialised.tells_arrays()));
    matches!(specialised.kernel(), Kernel::SampleSort(_))
        && specialised.kernel().carries()
        && !is_one
}

/// The form of its merges, of a kernel of the sample sort that sorts in registers.
fn merges(specialised: Specialised) -> Option<Merges> {
    match specialised.kernel() {
        Kernel::SampleSort(kernel) => kernel.merges(),
        _ => None,
    }
}

/// Whether drivers for CPUs take long to compile it: in other forms than those made for them.
fn takes_drivers_long(specialised: Specialised) -> bool {
    merges(specialised).is_some_and(|m| !matches!(m, Merges::Compact | Merges::Stages))
}

impl Subject {
    /// For gates that leave such kernels out: why, where there is the same text for another key
    /// type of that width or another order, with other constants.
    pub(crate) fn same_but_for_constants(&self) -> Option<&'static str> {
        let [narrow, wide] = REPRESENTATIVES;
        let representative = |(key, order)| self.specialised.kernel().specialise(key, order);
        // (Of kernels that compare no keys there is one for each width, or one for all; of those
        // that add, another for f32.)
        let compares =
            representative(narrow).key() == narrow.0 && representative(wide).key() == wide.0;
        let own = (self.specialised.key(), self.specialised.order());
        (compares && own != narrow && own != wide)
            .then_some("differ from those for u32 ascending or f64 descending in constants only")
    }

    /// Whether drivers for CPUs take long to compile it.
    pub(crate) fn takes_drivers_long(&self) -> bool {
        takes_drivers_long(self.specialised)
    }

    /// Whether it sorts tiles in place, of the narrowest or the widest records, and in the form
    /// that GPUs run: the part of the text that the kernels of this form share.
    pub(crate) fn is_looped_sort_of_tiles(&self) -> bool {
        matches!(
            self.specialised.kernel(),
            Kernel::SampleSort(SampleSortKernel::SortedTiles { tile, in_place: true })
                if tile.merges == Merges::Looped
        ) && !is_between(self.specialised)
    }

    /// Whether it is a kernel of the sample sort that sorts in registers.
    pub(crate) fn sorts_in_registers(&self) -> bool {
        let sorts_tiles = matches!(
            self.specialised.kernel(),
            Kernel::Sort(kernel) if matches!(kernel.stage, SortStage::Sort { .. })
        );
        sorts_tiles || merges(self.specialised).is_some()
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
            let compiled = !is_twin(specialised.kernel())
                && tiles.is_largest(*specialised)
                && !is_between(*specialised);
            let has_sizes = matches!(specialised.kernel(), Kernel::Sort(_));
            let run = if has_sizes || takes_drivers_long(*specialised) {
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
        let wide: BTreeSet<Vec<String>> = (all.iter())
            .filter(|wide| {
                wide.key().words() == 2
                    && wide.kernel().carries()
                    && !wide.tells_arrays()
                    && stage(wide).is_some_and(|stage| stage != Stage::Drivers)
            })
            .map(|wide| without_numbers(&wide.kernel().name()))
            .collect();
        (all.iter())
            .filter_map(|&specialised| Some((specialised, stage(&specialised)?)))
            .map(|(specialised, stage)| {
                let is_narrow = (specialised.key().words() == 1 || specialised.tells_arrays())
                    && specialised.kernel().carries()
                    && !specialised.packs()
                    && !specialised.compares_rows();
                let mut subject = subject(specialised)?;
                subject.stage = stage;
                subject.is_narrow_of_two =
                    is_narrow && wide.contains(&without_numbers(&specialised.kernel().name()));
                Ok(subject)
            })
            .collect()
    }

    /// A kernel for `u32` keys, as it is.
    pub(crate) fn specimen(kernel: Kernel) -> Result<Self, String> {
        let specialised = kernel.specialise(KeyType::U32, Order::Ascending);
        Self::new(specialised, specialised.wgsl())
    }

    /// The same with a piece of its text replaced: a fault that naga does not see.
    pub(crate) fn altered(kernel: Kernel, piece: &str, by: &str) -> Result<Self, String> {
        let specialised = kernel.specialise(KeyType::U32, Order::Ascending);
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
            is_narrow_of_two: false,
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
