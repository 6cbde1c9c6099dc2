//! Measurements of the sorter: the experiments of the paper and beyond, benchmarks, tuning.

pub mod bench;
pub mod experiment;
mod measure;
pub mod tune;
