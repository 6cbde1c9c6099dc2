//! The merge of two sorted inputs, A and B, which are in buffers of their own.
//!
//! ```text
//! splits    a lane for each tile        A, B -> the records of A before each tile of the output
//! merge     a workgroup for each tile   A, B, splits -> the tile
//! ```

#[cfg(feature = "gpu")]
mod api;
pub mod kernels;
mod record;

#[cfg(feature = "gpu")]
pub use api::MergeJob;
pub use record::{MergeLayout, MergedValues, record_merge};
