//! Errors.

use arrow_schema::{ArrowError, DataType};

/// Why columns could not be sorted. `E` is the error of the [`Argsort`](crate::Argsort).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E> {
    /// A type that has no order here: see [`is_supported`](crate::is_supported).
    #[error("columns of {0} cannot be sorted by")]
    Unsupported(DataType),
    /// Columns have different numbers of rows.
    #[error("columns of {0} and {1} rows cannot be sorted together")]
    LengthsDiffer(usize, usize),
    /// Batches differ in the number, types or orders of their columns.
    #[error("batches of different columns or orders cannot be sorted together")]
    BatchesDiffer,
    /// There is no column, so that the number of rows is not known.
    #[error("there is no column to sort by")]
    NoColumns,
    /// Indices are `u32`.
    #[error("{0} rows are too many: at most 2^32 - 1 have an index")]
    TooManyRows(usize),
    /// Arrow cannot compare the values.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The sort of integers failed. The text is that of its error.
    #[error(transparent)]
    Argsort(E),
}
