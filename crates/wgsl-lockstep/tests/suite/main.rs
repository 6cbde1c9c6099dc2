//! Tests of the command `wgsl-audit`, of what README.md shows, of other crates' shaders, and of
//! stores to components of vectors.

mod command;
mod corpus;
mod packages;
mod readme;
mod sarif;
mod vectors;
