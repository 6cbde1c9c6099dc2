//! Records: lines, rows of CSV files and structs, which a sort moves whole.
//!
//! A [`Layout`] finds the records of a format and makes their keys, which compare as bytes. A
//! [`ChunkReader`](reader::ChunkReader) reads whole records, and [`Records`] sorts them by the
//! first 64 bits of the keys, then those that are equal in these bits by the next ones on a GPU, or
//! by the whole key on the CPU.

pub(crate) mod args;
pub(crate) mod check;
mod command;
mod decimal;
mod fixed;
pub(crate) mod gensort;
mod key;
mod layout;
mod lines;
mod memory;
pub(crate) mod merge;
mod neighbours;
mod npy;
mod reader;
mod sorter;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod uniq;
mod verify;
mod version;
mod writing;

pub(crate) use command::{Job, sort};
pub(crate) use memory::sort_lines;

use layout::{Bounds, Layout, Prefix, Wrong};
use sorter::Records;
