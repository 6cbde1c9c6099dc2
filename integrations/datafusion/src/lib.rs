#![doc = include_str!("../README.md")]

mod exec;
mod gpu;
mod metrics;
mod options;
mod rule;
mod sorted;
mod sorting;

pub use bcfsort_auto::{Device, NoDevice};
pub use exec::GpuSortExec;
pub use gpu::GpuPool;
pub use options::{BcfsortOptions, OnError, Switch};
pub use rule::GpuSortRule;

#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod commands;

#[cfg(feature = "commands")]
mod remains;

#[cfg(feature = "session")]
mod session;
#[cfg(feature = "session")]
pub use session::with_gpu_sort;
