//! The paper's mergesorts, and its baseline: Sitchinava and Weichert, "Bank Conflict Free
//! Comparison-based Sorting On GPUs".
//!
//! [`Plan`] has the runs, rounds and buckets, [`record`] adds the dispatches of each phase to a
//! recording, and [`kernels`] makes the kernels.

mod base_case;
mod distribution;
mod final_merge;
pub mod kernels;
mod merge;
mod options;
mod paper;
mod plan;
mod random;
mod record;
mod splitters;

pub use options::MergesortOptions;
pub use paper::{BaseCase, PAGE, WARP_PAGE, WARP_TILE};
pub use plan::*;
pub use random::sample_position;
pub(crate) use record::record;
