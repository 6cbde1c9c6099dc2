//! What the sorter is tried on, and what tries it: data sets, recordings that together use every kernel
//! and are run in lock-step on the CPU, random shaders.
//!
//! The tests over the whole sorter, in `tests` at the top of the repository, are programs of this crate.

pub mod data;
pub mod random_wgsl;
pub mod recordings;

/// Whether tests run all of their cases: `WGPU_BCFSORT_TEST_ALL` is set, and neither empty nor "0".
///
/// By default a test proves its property on few cases, so that `make test` takes minutes.
#[must_use]
pub fn all_cases() -> bool {
    std::env::var_os("WGPU_BCFSORT_TEST_ALL").is_some_and(|value| !value.is_empty() && value != "0")
}
