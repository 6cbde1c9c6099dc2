//! The command as a user runs it.

mod audit;
mod cli;
mod experiment;
