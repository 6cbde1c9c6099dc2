//! Measurements of the sorter: the experiments of the paper and beyond, benchmarks, tuning.

// Shared within this repository, and no API of anybody else's.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

pub mod bench;
pub mod experiment;
mod measure;
pub mod tune;
