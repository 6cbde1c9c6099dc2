//! Turns Arrow columns into integer keys that have the same order, so that a GPU can sort tables.
//!
//! The columns to sort by are packed into one unsigned integer per row, the first column in its
//! most significant bits. Values are stored in as few bits as their range needs: a date of one year
//! takes 9 bits, a constant column none. Up to 128 bits are packed. Rows with equal keys are sorted
//! by the rest: many strings by their next bytes, with the same [`Argsort`] if it is on a GPU, and
//! all else by comparisons on the CPU.
//!
//! [`sort_indices`] is the whole sort: give it an [`Argsort`] that sorts integers. [`encode`]
//! returns the keys alone. [`NarrowRows`] sorts rows that have no other columns, without indices.
//! [`Rows`] gathers the others in the order of the indices. All passes run on all cores.
//!
//! # Examples
//!
//! ```
//! use arrow_array::{Date32Array, StringArray};
//! use bcfsort_keys::{Cpu, Floats, SortColumn, sort_indices};
//! use std::sync::Arc;
//!
//! let dates = vec![Some(20_001), None, Some(20_000), Some(20_001)];
//! let columns = [
//!     SortColumn {
//!         values: Arc::new(Date32Array::from(dates)),
//!         descending: true,
//!         nulls_first: false,
//!     },
//!     SortColumn {
//!         values: Arc::new(StringArray::from(vec!["pear", "fig", "apple", "cherry"])),
//!         descending: false,
//!         nulls_first: false,
//!     },
//! ];
//! let indices = sort_indices(&columns, Floats::Total, &Cpu)?;
//! assert_eq!(indices, [3, 0, 2, 1]);
//! # Ok::<(), bcfsort_keys::Error<std::convert::Infallible>>(())
//! ```

mod argsort;
mod column;
mod encode;
mod error;
mod gather;
mod join;
mod narrow;
mod plain;
mod select;
mod sort;
mod strings;
mod types;

pub use argsort::{Argsort, Cpu, SortKeys};
pub use encode::{Encoded, Keys, encode};
pub use error::Error;
pub use gather::{Rows, common_dictionary};
pub use join::join;
pub use narrow::{NarrowRows, is_decodable};
pub use sort::sort_indices;
pub use types::{is_exact, is_supported, most_bits};

use arrow_array::ArrayRef;

/// A column to sort by.
#[derive(Clone, Debug)]
pub struct SortColumn {
    /// The values, whose type must be [supported](is_supported).
    pub values: ArrayRef,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Whether nulls come first, in either order. Otherwise they come last.
    pub nulls_first: bool,
}

/// The order of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Floats {
    /// The total order of IEEE 754, as in Arrow's own sorts: -NaN, -∞, ..., -0, 0, ..., ∞, NaN.
    /// Values of different bits are different.
    #[default]
    Total,
    /// All NaNs are equal, and greater than all numbers; -0 equals 0. As in polars.
    NanGreatest,
}
