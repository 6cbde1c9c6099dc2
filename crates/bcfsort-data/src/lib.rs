//! Reproducible data sets, and the raw and text file formats.
//!
//! A [`Spec`] names a data set: a [`Pattern`], a count, a seed and the pattern's parameters.
//! [`generate`] makes its keys. The same `Spec` gives the same bytes on every machine and in every
//! build: the randomness is `ChaCha8` and all arithmetic is on integers.
//!
//! [`KeyReader`] and [`KeyWriter`] stream keys from and to files as little-endian words or as text,
//! one number a line ([`Format`]).
//!
//! # Examples
//!
//! ```
//! use bcfsort_data::{Format, KeyReader, KeyWriter, Pattern, Spec, generate};
//!
//! let keys: Vec<i32> = generate(&Spec::new(Pattern::Distinct, 1000).seed(7))?;
//!
//! let mut file = Vec::new();
//! let mut writer = KeyWriter::new(&mut file, Format::Text);
//! writer.write(&keys)?;
//! writer.finish()?;
//!
//! let mut reader = KeyReader::<i32, _>::new(file.as_slice(), Format::Text);
//! assert_eq!(reader.read_chunk(usize::MAX)?, keys);
//! # Ok::<(), bcfsort_data::DataError>(())
//! ```

// Used within this repository only: not a public API.
#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate
)]

mod adversary;
mod display;
mod error;
mod format;
mod generate;
mod number;
mod pattern;
mod random;
mod text;
mod values;

pub use adversary::WARP;
pub use display::{bytes, clipped, escaped, listed};
pub use error::DataError;
pub use format::{Format, KeyReader, KeyWriter, UnknownFormat, read_full, text_at_once};
pub use generate::{Spec, generate};
pub use number::{Range, parse_count};
pub use pattern::{Pattern, UnknownPattern};
