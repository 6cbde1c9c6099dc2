//! Tests of the command `wgsl-audit`, of what README.md shows, and of other crates' shaders.

mod command;
mod corpus;
mod packages;
mod readme;
mod sarif;
