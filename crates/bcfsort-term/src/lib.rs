//! Terminal code shared by the command and the experiments: options, messages, progress and output
//! files.

// Internal to this repository, not a public API.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

pub mod allocator;
pub mod args;
pub mod codec;
pub mod engine;
pub mod fault;
pub mod kernel_cache;
pub mod memory;
pub mod notice;
pub mod output;
pub mod stdio;
pub mod threads;
pub mod timings;
pub mod tuning_file;
