//! The command as a user runs it.

mod argsort;
mod audit;
mod auto;
mod check;
mod cli;
mod experiment;
mod input;
mod inputs;
mod limits;
mod npy;
mod records;
mod terminal;
