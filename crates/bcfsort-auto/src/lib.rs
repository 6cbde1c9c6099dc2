//! Sorts on the fastest device of the machine: a GPU, all of them, or all cores of the CPU.
//!
//! [`AutoSorter`] chooses for each call by a [model] of both. It is what the command, Python, and
//! SQL engines sort by, so that the same [names of devices](Device), the same environment variables
//! and the same policy for a GPU that fails hold everywhere:
//!
//! | variable | |
//! |---|---|
//! | [`WGPU_BCFSORT_DEVICE`](device::DEVICE) | the device where none is named: `auto`, `cpu`, `gpu`, `all`, a number or a part of a name |
//! | [`WGPU_BCFSORT_REQUIRE_ADAPTER=1`](device::REQUIRE_ADAPTER) | a missing GPU is an error, and `auto` is `gpu` |
//!
//! The parts can be used alone: [`cpu`] sorts on the CPU with the same bits as a GPU,
//! [`MultiSorter`] on several GPUs at once, and [`ties`] sorts strings by one argsort after
//! another.
//!
//! # Examples
//!
//! ```
//! use bcfsort_auto::{AutoSorter, Device};
//! use wgpu_bcfsort::Order;
//! # fn main() -> Result<(), bcfsort_auto::Error> {
//! let sorter = AutoSorter::new(Device::Auto)?;
//! let mut keys = vec![5_u32, 3, 9];
//! sorter.sort(&mut keys, Order::Ascending)?;
//! assert_eq!(keys, [3, 5, 9]);
//! # Ok(()) }
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod cpu;
pub mod device;
pub mod model;
mod opened;
mod sorter;
pub mod ties;

pub use device::{Device, NoDevice};
pub use model::Work;
pub use sorter::{AutoSorter, Choice, OnError, Place, Warning};
pub use wgpu_bcfsort::MultiSorter;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device that was asked for does not exist.
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    /// A sort failed on the GPU, and may not be done on the CPU.
    #[error(transparent)]
    Sort(#[from] wgpu_bcfsort::Error),
    /// The process was forked from the one that has opened the GPU: what Vulkan's and Metal's
    /// drivers keep does not survive this.
    #[error(
        "the GPU was opened before this process was forked: start processes by the method 'spawn' \
         or 'forkserver'"
    )]
    Forked,
    /// The GPU failed before, and the CPU may not replace it.
    #[error("{0}")]
    Failed(String),
    /// There are not as many values as keys.
    #[error("{keys} keys, and {values} values")]
    LengthsDiffer {
        /// The number of keys.
        keys: usize,
        /// The number of values.
        values: usize,
    },
    /// Indices are of 32 bits.
    #[error("{0} keys are too many for indices of 32 bits")]
    TooManyToNumber(usize),
}
