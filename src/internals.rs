//! The one door to what is inside, for the other crates of this repository: their tests,
//! experiments and audits look at plans, recordings and kernels. No part of the public API; it
//! changes without notice.
#![allow(missing_docs)]

pub mod algorithm {
    pub use crate::algorithm::*;
}
pub mod host {
    pub use crate::host::*;
}
pub mod key {
    pub use crate::key::*;
}
pub mod kernel {
    pub use crate::kernel::*;
}
pub mod layout {
    pub use crate::layout::*;
}
pub mod network {
    pub use crate::network::*;
}
pub mod phases {
    pub use crate::phases::*;
}
pub mod plan {
    pub use crate::plan::*;
}
pub mod recording {
    pub use crate::recording::*;
}

pub mod samplesort {
    pub use crate::samplesort::*;
}

use crate::prefix_sums::PreparedPrefixSums;
use crate::{Comparator, Error, PreparedSort, wgpu};

/// The dispatches of a sort or of prefix sums.
pub trait Recorded {
    fn recording(&self) -> &recording::Recording;
}

impl Recorded for PreparedSort {
    fn recording(&self) -> &recording::Recording {
        self.recorded()
    }
}

impl Recorded for PreparedPrefixSums {
    fn recording(&self) -> &recording::Recording {
        self.recorded()
    }
}

/// A buffer of a sort's scratch memory, to look into after it ran; `None` if it has none of this
/// role.
#[must_use]
pub fn scratch(sort: &PreparedSort, buffer: recording::Buffer) -> Option<&wgpu::Buffer> {
    sort.scratch(buffer)
}

/// The layout of a kernel's bind group, as the sorter's pipelines have it.
#[must_use]
pub fn layout_entries(assembled: &kernel::Assembled) -> Vec<wgpu::BindGroupLayoutEntry> {
    crate::gpu::pipelines::layout_entries(assembled)
}

/// What stands in for a caller's comparator where every kernel is to be seen.
#[must_use]
pub fn comparator_stand_in() -> Comparator {
    Comparator::stand_in()
}

/// A comparator's text, as kernels have it: `user_row` and `user_precedes`.
#[must_use]
pub fn comparator_text(comparator: &Comparator) -> &str {
    comparator.text()
}

/// That a kernel cannot be run, in the executor's words.
#[must_use]
pub fn kernel_error(kernel: String, message: String) -> Error {
    Error::Kernel { kernel, message }
}
