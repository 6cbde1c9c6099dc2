//! Colored prefix sums (paper, introduction and Appendix A).

#[cfg(feature = "gpu")]
mod api;
mod host;
pub mod kernels;
mod method;
mod options;
mod record;
mod tiling;

#[cfg(feature = "gpu")]
pub use api::{PrefixSums, PreparedPrefixSums};
pub use host::{Summand, prefix_sums_on_cpu};
pub use method::{MOST_COLORS, PrefixSumsMethod, Scan};
pub use options::PrefixSumsOptions;
pub use record::record_prefix_sums;
pub use tiling::{LONGEST_TILE, MOST_TILES, Tiling, default_tiles};
