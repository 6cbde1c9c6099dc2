//! Histograms: how many keys are in each of some bins, which have bounds.
//!
//! ```text
//! clear     -> counts
//! count     a workgroup for each tile   keys, bounds -> counts
//! ```

mod bounds;
pub mod kernels;
mod record;

pub use bounds::HostBounds;
pub use record::{HistogramLayout, record_histogram};
