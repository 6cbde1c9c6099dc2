//! Tests of the command `wgsl-audit`, the examples in README.md, shaders of other crates, and
//! stores to components of vectors, and the order of atomics.

mod atomics;
mod command;
mod corpus;
mod documents;
mod packages;
mod readme;
mod sarif;
mod shaders;
mod transcripts;
mod vectors;
