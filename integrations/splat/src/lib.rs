//! The order in which Gaussian splats, or other transparent particles, are drawn, found on the GPU
//! in each frame: culling, depth keys, a stable sort, and the arguments of an indirect draw.
//!
//! [`SplatSorter`] is all of it. [`SplatSorterDescriptor`] says where the positions and the
//! camera's matrix are, and how to sort. It is built on [`wgpu_bcfsort`], and runs wherever that
//! does: with wgpu's default limits, without subgroup operations, with the same result in each
//! frame.
//!
//! `examples/frames.rs` is a whole program.

mod binding;
mod descriptor;
mod error;
mod kernels;
mod parameters;
mod sorter;

pub use descriptor::{Depth, DepthKey, DrawOrder, Positions, SplatSorterDescriptor};
pub use error::{Error, SplatBuffer};
pub use sorter::SplatSorter;
/// The library whose [`Sorter`](wgpu_bcfsort::Sorter) and `wgpu` are arguments here.
pub use wgpu_bcfsort;

/// The example of README.md, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
