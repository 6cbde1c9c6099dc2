//! The command as a user runs it.

mod argsort;
mod audit;
mod auto;
mod check;
mod cli;
mod doctor;
mod experiment;
mod files;
mod input;
mod inputs;
mod kernel_cache;
mod limits;
mod merge;
mod npy;
mod numbers;
mod prefix_sums;
mod record_faults;
#[cfg(unix)]
mod record_files;
mod records;
mod sort_on_the_gpu;
mod terminal;
mod transcripts;
mod uniq;
mod without_an_adapter;
