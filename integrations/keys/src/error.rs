//! Errors.

use arrow_schema::{ArrowError, DataType};

/// Why columns could not be sorted. `E` is the error of the [`Argsort`](crate::Argsort).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E> {
    /// Columns of this type cannot be sorted by: see [`is_supported`](crate::is_supported).
    #[error("cannot sort by columns of type {0}")]
    Unsupported(DataType),
    /// Columns have different numbers of rows.
    #[error("columns of {0} and {1} rows cannot be sorted together")]
    LengthsDiffer(usize, usize),
    /// Batches differ in the number, types or orders of their columns.
    #[error("batches of different columns or orders cannot be sorted together")]
    BatchesDiffer,
    /// No column was given, so the number of rows is unknown.
    #[error("there is no column to sort by")]
    NoColumns,
    /// There are more rows than 32-bit indices can number.
    #[error("{0} rows are too many for 32-bit indices (at most 2^32 - 1)")]
    TooManyRows(usize),
    /// Arrow cannot compare the values.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The sort of integers failed. The text is that of its error.
    #[error(transparent)]
    Argsort(E),
}
