//! What a portability gate is: one way in which a kernel may fail on hardware that is not here.

use bcfsort_testkit::recordings::{REPRESENTATIVES, kernels};
use std::collections::BTreeSet;
use wgpu_bcfsort::internals::algorithm::Merges;
use wgpu_bcfsort::internals::kernel::{Kernel, Specialised};
use wgpu_bcfsort::{BaseCase, KeyType, Order, Payload};

/// A kernel for a key type and an order, as the device gets it.
pub(crate) struct Subject {
    pub(crate) specialised: Specialised,
    pub(crate) label: String,
    pub(crate) wgsl: String,
    pub(crate) module: naga::Module,
    pub(crate) info: naga::valid::ModuleInfo,
    /// Whether there is one for the widest records, of the same text but for more barriers where more is moved. (In arrays keys are
    /// compared with more, not moved. Only narrow ones share words.)
    pub(crate) is_narrow_of_two: bool,
}

/// Whether another subject has each piece of its text: base cases in place differ from those that are not in
/// one piece, which the default one in place has, too. (Some compilers take seconds for each.)
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

/// Of the sample sort, what FXC and most devices have workgroup memory for; and of those that differ in the numbers of
/// their tiles only, as their labels say, whether there is one with a larger tile.
fn is_smaller(specialised: Specialised, all: &[Specialised]) -> bool {
    const WORKGROUP_BYTES: u32 = 32 << 10;
    let Kernel::SampleSort(_) = specialised.kernel() else {
        return false;
    };
    let own = without_numbers(&specialised.label());
    let larger = |other: &&Specialised| {
        let bytes = other.workgroup_bytes();
        bytes <= WORKGROUP_BYTES && bytes > specialised.workgroup_bytes()
    };
    specialised.workgroup_bytes() > WORKGROUP_BYTES
        || (all.iter().filter(larger)).any(|other| without_numbers(&other.label()) == own)
}

/// Of the sample sort, the narrowest and the widest records stand for the others, whose pieces these have; and so they do of arrays, where
/// the widest are keys of two words alone.
fn is_between(specialised: Specialised) -> bool {
    let widest = specialised.carrying(Payload::Indices) == specialised;
    let wide = specialised.key().words() == 2;
    let narrowest = specialised.carrying(Payload::None) == specialised;
    let is_one = (narrowest && !wide) || (wide && (widest || specialised.tells_arrays()));
    matches!(specialised.kernel(), Kernel::SampleSort(_))
        && specialised.kernel().carries()
        && !is_one
}

impl Subject {
    /// For gates that leave such kernels out: why, where there is the same text for another key type of that width or
    /// another order, with other constants.
    pub(crate) fn same_but_for_constants(&self) -> Option<&'static str> {
        let [narrow, wide] = REPRESENTATIVES;
        let representative = |(key, order)| self.specialised.kernel().specialise(key, order);
        // (Of kernels that compare no keys there is one for each width, or for all; of those that add, another for f32.)
        let compares =
            representative(narrow).key() == narrow.0 && representative(wide).key() == wide.0;
        let own = (self.specialised.key(), self.specialised.order());
        (compares && own != narrow && own != wide)
            .then_some("differ from those for u32 ascending or f64 descending in constants only")
    }

    /// Whether it is a kernel of the sample sort that sorts in registers, and in which form of its merges.
    pub(crate) fn merges(&self) -> Option<Merges> {
        match self.specialised.kernel() {
            Kernel::SampleSort(kernel) => kernel.merges(),
            _ => None,
        }
    }

    /// Every kernel that `recordings::library` dispatches, each text once; or its label, and why it is no
    /// WGSL.
    pub(crate) fn all() -> Vec<Result<Self, (Specialised, String)>> {
        let subject = |specialised: Specialised| {
            Self::new(specialised, specialised.wgsl()).map_err(|message| (specialised, message))
        };
        let all = kernels();
        let examined = |specialised: &&Specialised| {
            !is_twin(specialised.kernel())
                && !is_smaller(**specialised, &all)
                && !is_between(**specialised)
        };
        let wide: BTreeSet<Vec<String>> = (all.iter().filter(examined))
            .filter(|wide| {
                wide.key().words() == 2 && wide.kernel().carries() && !wide.tells_arrays()
            })
            .map(|wide| without_numbers(&wide.kernel().name()))
            .collect();
        (all.iter().filter(examined))
            .map(|&specialised| {
                let is_narrow = (specialised.key().words() == 1 || specialised.tells_arrays())
                    && specialised.kernel().carries()
                    && !specialised.packs()
                    && !specialised.compares_rows();
                let mut subject = subject(specialised)?;
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
    /// Passes a kernel, or says what is wrong with it.
    fn examine(&self, subject: &Subject) -> Result<(), String>;
    /// Runs the same examination on faults planted for it: each must be caught, for its own reason.
    ///
    /// Says what was planted and caught, or what got through.
    fn planted(&self) -> Result<String, String>;
}
