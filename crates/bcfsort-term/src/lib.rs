//! What the command and the experiments share on a terminal: options, messages, progress, output files.

pub mod args;
pub mod engine;
pub mod fault;
pub mod notice;
pub mod output;
pub mod timings;
pub mod tuning_file;
