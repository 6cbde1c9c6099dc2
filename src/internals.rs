//! Access to plans, recordings and kernels for the other crates of this repository: tests,
//! experiments and audits. It is not a part of the public API and changes without notice.
#![allow(missing_docs)]

pub mod device {
    pub use crate::device::*;
}
pub mod histogram {
    pub use crate::histogram::*;
}
pub mod host {
    pub use crate::host::*;
}
pub mod job {
    pub use crate::job::*;
}
pub mod key {
    pub use crate::key::*;
}
pub mod layout {
    pub use crate::layout::*;
}
pub mod merging {
    pub use crate::merging::*;
}
pub mod mergesort {
    pub use crate::mergesort::*;
}
pub mod planner {
    pub use crate::planner::*;
}
pub mod prefix_sums {
    pub use crate::prefix_sums::*;
}
pub mod radixsort {
    pub use crate::radixsort::*;
}
pub mod recording {
    pub use crate::recording::*;
}
pub mod samplesort {
    pub use crate::samplesort::*;
}
pub mod scan {
    pub use crate::scan::*;
}
pub mod shader {
    pub use crate::shader::*;
}
pub mod top_k {
    pub use crate::top_k::*;
}

use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::prefix_sums::PreparedPrefixSums;
use crate::row_function::{Comparator, RowFunction};
use crate::shader::Kernel;
#[cfg(feature = "gpu")]
use crate::sorter::PreparedSort;

/// Every kernel that the sorts or prefix sums can dispatch, by algorithm. Sizes and warps other
/// than the default ones make more.
#[must_use]
pub fn kernels() -> Vec<Kernel> {
    let mut all = mergesort::kernels::all();
    all.extend(layout::kernels::all());
    all.extend(samplesort::kernels::all());
    all.extend(radixsort::kernels::all());
    all.extend(prefix_sums::kernels::all());
    all.extend(scan::kernels::all());
    all.extend(top_k::kernels::all());
    all.extend(merging::kernels::all());
    all.extend(histogram::kernels::all());
    all
}

/// The dispatches of a sort or of prefix sums.
pub trait Recorded {
    fn recording(&self) -> &recording::Recording;
}

#[cfg(feature = "gpu")]
impl Recorded for PreparedSort {
    fn recording(&self) -> &recording::Recording {
        self.recorded()
    }
}

#[cfg(feature = "gpu")]
impl Recorded for PreparedPrefixSums {
    fn recording(&self) -> &recording::Recording {
        self.recorded()
    }
}

/// A scratch buffer of a sort by its role, to inspect after a run. `None` if the sort has none.
#[cfg(feature = "gpu")]
#[must_use]
pub fn scratch(sort: &PreparedSort, buffer: recording::Buffer) -> Option<&wgpu::Buffer> {
    sort.scratch(buffer)
}

/// The layout of a kernel's bind group in the sorter's pipelines.
#[cfg(feature = "gpu")]
#[must_use]
pub fn layout_entries(assembled: &shader::Assembled) -> Vec<wgpu::BindGroupLayoutEntry> {
    crate::gpu::pipelines::layout_entries(assembled)
}

/// A stand-in for a user's comparator where all kernels are enumerated.
#[must_use]
pub fn comparator_stand_in() -> Comparator {
    RowFunction::stand_in().into()
}

/// The function of a comparator, as recordings have it.
#[must_use]
pub fn function_of(comparator: &Comparator) -> &RowFunction {
    comparator.function()
}

/// The renamed text of a function, as in kernels: `user_row`, and `user_precedes` or `user_keeps`.
#[must_use]
pub fn text_of(custom: &RowFunction) -> &str {
    custom.text()
}

/// The executor's error for a kernel that cannot run.
#[must_use]
pub fn kernel_error(kernel: String, message: String) -> Error {
    Error::Kernel { kernel, message }
}
