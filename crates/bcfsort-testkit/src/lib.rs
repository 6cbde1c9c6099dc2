//! What the sorter is tried on, and what tries it: data sets, recordings that together use every kernel
//! and are run in lock-step on the CPU, random shaders.
//!
//! The tests over the whole sorter, in `tests` at the top of the repository, are programs of this crate.

// Shared within this repository, and no API of anybody else's.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

pub mod data;
pub mod random_wgsl;
pub mod recordings;
