//! Recordings that together use every kernel, and their execution in lock-step on the CPU.
//!
//! # The kernels
//!
//! The table that `wgpu-bcfsort audit --all --markdown` prints, from sorts of several key types.
//! A test in `tests/lockstep` compares the two:
#![doc = include_str!("kernels.md")]

mod audited;
mod corpus;
mod execution;
mod histogram;
mod library;
mod sums;
mod top_k;

pub use audited::{audit_subject, unexpected};
pub use corpus::{Corpus, CorpusReport, Inputs};
pub use execution::{Execution, KernelReport, is_same};
pub use library::{
    REPRESENTATIVES, dispatched, library, payload_buffer, prefix_sums_library, select_ranks,
    set_parameters, short_label, was_sorted,
};
pub use sums::{Coloring, prefix_sums_of};
