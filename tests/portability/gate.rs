//! What a portability gate is: one way in which a kernel may fail on hardware that is not here.

use wgpu_bcfsort::kernel::{Kernel, Specialised};
use wgpu_bcfsort::{KeyType, Order};

/// A kernel for a key type and an order, as the device gets it.
pub(crate) struct Subject {
    pub(crate) specialised: Specialised,
    pub(crate) label: String,
    pub(crate) wgsl: String,
    pub(crate) module: naga::Module,
    pub(crate) info: naga::valid::ModuleInfo,
}

impl Subject {
    /// Every kernel the library can build, each text once.
    pub(crate) fn all() -> Vec<Self> {
        let mut seen = std::collections::HashSet::new();
        let mut all = Vec::new();
        for kernel in Kernel::ALL {
            for key in KeyType::ALL {
                for order in [Order::Ascending, Order::Descending] {
                    let specialised = kernel.specialise(key, order);
                    if seen.insert(specialised) {
                        all.push(Self::new(specialised));
                    }
                }
            }
        }
        all
    }

    fn new(specialised: Specialised) -> Self {
        let wgsl = specialised.wgsl();
        let module = naga::front::wgsl::parse_str(&wgsl)
            .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&wgsl)));
        let info = naga::valid::Validator::new(
            naga::valid::ValidationFlags::all(),
            naga::valid::Capabilities::empty(),
        )
        .validate(&module)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&wgsl)));
        Self {
            specialised,
            label: specialised.label(),
            wgsl,
            module,
            info,
        }
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
    /// Passes a kernel, or says what is wrong with it.
    fn examine(&self, subject: &Subject) -> Result<(), String>;
    /// Runs the same examination on faults planted for it: each must be caught, for its own reason.
    ///
    /// Says what was planted and caught, or what got through.
    fn planted(&self) -> Result<String, String>;
}
