//! The command as a user runs it.

mod audit;
mod auto;
mod cli;
mod experiment;
mod input;
mod records;
