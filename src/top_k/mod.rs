//! The first k records of each of many segments.
//!
//! ```text
//! select     a workgroup for each segment   keys -> a row of k keys, of k indices, or both
//! ```

pub mod kernels;
mod record;

pub use record::{Segments, TopKLayout, record_top_k};
