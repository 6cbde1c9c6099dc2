//! Measurements of the sorter: the paper's experiments and others, benchmarks, and autotuning.

// Internal to this repository, not a public API.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

pub mod bench;
mod estimates;
pub mod experiment;
mod measure;
pub mod times;
pub mod tune;
