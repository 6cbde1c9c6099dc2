//! What the command and the experiments share on a terminal: options, messages, progress, output
//! files.

// Shared within this repository, and no API of anybody else's.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

pub mod args;
pub mod engine;
pub mod fault;
pub mod kernel_cache;
pub mod notice;
pub mod output;
pub mod timings;
pub mod tuning_file;
