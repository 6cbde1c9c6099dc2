//! The order in which Gaussian splats, or other transparent particles, are drawn, found on the GPU
//! in each frame: culling, depth keys, a stable sort, and the arguments of an indirect draw.
//!
//! [`SplatSorter`] is all of it. [`SplatSorterDescriptor`] says where the positions and the
//! camera's matrix are, and how to sort. It is built on [`wgpu_bcfsort`], and runs wherever that
//! does: with wgpu's default limits, without subgroup operations, with the same result in each
//! frame.
//!
//! `examples/frames.rs` is a whole program.

#[cfg(feature = "gpu")]
mod binding;
mod descriptor;
mod error;
#[doc(hidden)]
pub mod internals;
#[cfg(feature = "gpu")]
mod kernels;
mod parameters;
mod plan;
#[cfg(feature = "gpu")]
mod sorter;

pub use descriptor::{Depth, DepthKey, DrawOrder};
#[cfg(feature = "gpu")]
pub use descriptor::{Positions, SplatSorterDescriptor};
pub use error::{Error, SplatBuffer};
#[cfg(feature = "gpu")]
pub use sorter::SplatSorter;
/// The library whose [`Sorter`](wgpu_bcfsort::Sorter) and `wgpu` are arguments here.
pub use wgpu_bcfsort;

/// The example of README.md, as a test.
#[cfg(all(doctest, feature = "gpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
