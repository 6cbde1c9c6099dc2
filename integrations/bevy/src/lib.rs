//! Sorts of GPU buffers in Bevy's frames: keys, values and indices, on Bevy's own device, recorded
//! into the render graph.
//!
//! [`SortPlugin`] is the plugin, and [`GpuSort`] the component that describes a sort.
//! [`GpuSortSystems`] are the sets to order your own passes by, and [`GpuSortState`] has the
//! errors.
//! It is built on [`wgpu_bcfsort`], and runs wherever that and Bevy's compute shaders do: without
//! subgroup operations, with the same result in each frame.
//!
//! `examples/boids.rs` is a whole program.

mod plugin;
mod render;
mod sort;

pub use plugin::{GpuSortSystems, SortPlugin};
pub use render::{ExtractedGpuSort, RenderSorter};
pub use sort::{GpuSort, GpuSortState, SortBuffer};
/// The library whose types are arguments here, with the `wgpu` that Bevy uses, too.
pub use wgpu_bcfsort;

/// The example of README.md, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
