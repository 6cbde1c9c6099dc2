//! Kernels as values: what a WGSL module is made of, its assembly, and its interface.
//!
//! This module knows no algorithm. Each algorithm makes its kernels in its own room, from files in
//! `shaders/`.

/// The text of a file in `shaders/`.
macro_rules! wgsl {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $path))
    };
}
pub(crate) use wgsl;

mod kernel;
mod network;
mod parameters;
mod reflection;

pub use kernel::{Access, Assembled, Binding, Conflicts, Definition, Kernel, Piece};
pub use network::Network;
pub(crate) use parameters::parameters;
pub use parameters::{PARAMETER_BLOCK, Parameters};

/// Banks of workgroup memory, lanes of a warp, rows and columns of the bank matrix: the paper's w.
pub const W: u32 = 32;
/// Keys of a bank matrix: the paper's M.
pub const MATRIX: u32 = W * W;
/// The largest number of keys of a tile that a workgroup sorts.
pub const LARGEST_TILE: u32 = 8 * MATRIX;
