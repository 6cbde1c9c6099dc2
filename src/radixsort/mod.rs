//! The radix sort: sorts records by at most 16 bits of a key, in two stable passes.
//!
//! ```text
//! for each pass, by a digit of at most 8 bits, the lower one first:
//!   count digits    keys -> counts (of each digit in each tile)
//!   digit offsets   counts -> counts (of the tiles before each), totals
//!   move records    records, counts, totals -> records
//! ```
//!
//! A sample sort compares records, so it has to sort the items of its last level, and equal keys by
//! their values. Two passes by digits have neither, but move each record twice whatever it is: that
//! is faster for few bits, and slower for 32.
//!
//! With at most 2^24 indices as values, a record between the passes is one word: the digit of the
//! second pass, and the index.
//!
//! The split of a tile by four bits, with a counter for each lane and digit, is from Satish, Harris
//! and Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs" (IPDPS 2009).

pub mod kernels;
mod record;

pub use kernels::DigitParams;
pub use record::{DigitSort, MOST_BITS, Source, fits, record};
