//! Kernels as values: what a WGSL module is made of, its assembly, and its interface.
//!
//! This module knows no algorithm. Each algorithm makes its kernels in its own room, from files in
//! `shaders/`.

/// A file of `shaders/`, or a section of it.
macro_rules! wgsl {
    (@) => { None };
    (@ $section:literal) => { Some($section) };
    ($path:literal $(, $section:literal)?) => {
        $crate::shader::Source::new(
            $path,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $path)),
            $crate::shader::wgsl!(@ $($section)?),
        )
    };
}
pub(crate) use wgsl;

mod kernel;
mod network;
mod parameters;
mod reflection;
mod source;

pub use kernel::{Access, Assembled, Binding, Conflicts, Definition, Kernel, Piece};
pub use network::Network;
pub(crate) use parameters::parameters;
pub use parameters::{PARAMETER_BLOCK, Parameters};
pub use source::Source;

/// Banks of workgroup memory, lanes of a warp, rows and columns of the bank matrix: the paper's w.
pub const W: u32 = 32;
/// Keys of a bank matrix: the paper's M.
pub const MATRIX: u32 = W * W;
/// The largest number of keys of a tile that a workgroup sorts.
pub const LARGEST_TILE: u32 = 8 * MATRIX;
