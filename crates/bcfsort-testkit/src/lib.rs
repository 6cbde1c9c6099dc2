//! Test tools for the sorter: recordings that together use every kernel and run in
//! lock-step on the CPU, random shaders, covering arrays.
//!
//! The tests of the whole sorter, in `tests` at the top of the repository, belong to this crate.

// Used within this repository only: not a public API.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

pub mod covering;
pub mod kernels_of_tests;
pub mod random_wgsl;
pub mod recordings;

use wgpu_bcfsort::Options;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::paper::{BaseCase, MergesortOptions};

/// The device that recordings are for, unless a test is about another one: a GPU whose buffers are
/// as large as a sort wants, and which splits no dispatch.
pub const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: u64::MAX,
    workgroups: 65_535,
    keys_per_dispatch: u32::MAX,
    workgroup_bytes: 48 << 10,
    workgroup_lanes: 1024,
    sampling_seed: 0x5eed,
};

/// Declares setters for the paper's parameters, which tests chain on a sorter's options.
macro_rules! paper_options {
    ($($name:ident: $type:ty),*) => {
        /// Sets the paper's mergesort parameters directly on the options of a sorter.
        pub trait PaperOptions {
            $(#[doc = concat!("Sets `", stringify!($name), "`.")]
            #[must_use]
            fn $name(self, $name: $type) -> Options;)*
        }

        impl PaperOptions for Options {
            $(fn $name(self, $name: $type) -> Options {
                let mergesort: MergesortOptions = self.mergesort.clone().$name($name);
                self.mergesort(mergesort)
            })*
        }
    };
}
paper_options!(base_case: BaseCase, warps: u32, buckets: u32, samples: u32, seed: u64);

/// True if the environment asks for all cases of every test, as `make test-all` does:
/// `WGPU_BCFSORT_TEST_ALL` is set, and neither empty nor `0`.
///
/// Otherwise a test with many cases runs a selection of them that shows the same property.
#[must_use]
pub fn all_cases() -> bool {
    let value = std::env::var_os("WGPU_BCFSORT_TEST_ALL");
    value.is_some_and(|value| !value.is_empty() && value != "0")
}
