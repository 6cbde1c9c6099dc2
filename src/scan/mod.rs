//! Scans: prefix sums of all values of a buffer.
//!
//! ```text
//! tile sums       a workgroup for each tile   values -> sums
//! tile offsets    1 workgroup                 sums -> those of all tiles before
//! prefix sums     a workgroup for each tile   values, sums -> prefix sums
//! ```

#[cfg(feature = "gpu")]
mod api;
pub mod kernels;
mod record;

#[cfg(feature = "gpu")]
pub use api::ScanJob;
pub use record::{ScanLayout, record_scan};
