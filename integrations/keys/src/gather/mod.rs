//! Gathers the rows of many batches in any order, on all cores.

mod columns;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use columns::Gather;
use rayon::prelude::*;
use std::fmt;

pub use columns::common_dictionary;

/// The rows of several batches, numbered consecutively, which are gathered in any order.
///
/// The batches stay as they are: they need not be concatenated, and thousands of them cost little
/// more than hundreds. Values of fixed width, booleans, strings and binary values of all layouts,
/// dictionaries that are all prefixes of the longest, and structs of these are gathered by code of
/// their own, which asks for a string's bytes before it needs them. All other columns, such as
/// lists, are gathered by Arrow's `interleave`.
///
/// # Examples
///
/// ```
/// use arrow_array::cast::AsArray;
/// use arrow_array::{ArrayRef, RecordBatch, StringArray};
/// use bcfsort_keys::Rows;
/// use std::sync::Arc;
///
/// let batch = |names: Vec<&str>| {
///     let names: ArrayRef = Arc::new(StringArray::from(names));
///     RecordBatch::try_from_iter([("name", names)])
/// };
/// let batches = [batch(vec!["b", "d"])?, batch(vec!["a", "c"])?];
/// let rows = Rows::new(batches[0].schema(), &batches)?;
/// let sorted = rows.gather(&[2, 0, 3, 1], 1024)?;
/// let names = sorted[0].column(0).as_string::<i32>();
/// assert!(names.iter().flatten().eq(["a", "b", "c", "d"]));
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
pub struct Rows {
    schema: SchemaRef,
    columns: Vec<Box<dyn Gather>>,
    numbers: Numbers,
}

/// Where a row is.
#[derive(Clone, Copy)]
struct Place {
    batch: u32,
    row: u32,
}

/// The numbers of rows.
struct Numbers {
    /// The first row of each batch, and the number of all rows.
    starts: Vec<u32>,
    /// For each multiple of 2^`shift` the batch of that row. A row is in the batch of the multiple
    /// before it, or in a later one.
    guide: Vec<u32>,
    shift: u32,
}

impl Rows {
    /// Takes batches of a schema. The rows get the numbers 0, 1, ... in the order of the batches.
    /// O(batches · columns) time, and that of comparing dictionaries; no value is copied.
    ///
    /// # Errors
    ///
    /// [`ArrowError::InvalidArgumentError`], if batches have columns of different types.
    ///
    /// # Panics
    ///
    /// If there are more than 2^32 - 1 rows, or a batch has fewer columns than the schema.
    pub fn new(schema: SchemaRef, batches: &[RecordBatch]) -> Result<Self, ArrowError> {
        let batches: Vec<&RecordBatch> = (batches.iter())
            .filter(|batch| batch.num_rows() > 0)
            .collect();
        let column = |column: usize| {
            let parts: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(column)).collect();
            if let [first, others @ ..] = &*parts
                && let Some(other) =
                    (others.iter()).find(|other| other.data_type() != first.data_type())
            {
                let name = schema.field(column).name();
                let (first, other) = (first.data_type(), other.data_type());
                return Err(ArrowError::InvalidArgumentError(format!(
                    "column {name:?} is {first} in one batch and {other} in another"
                )));
            }
            Ok(columns::column(&parts))
        };
        Ok(Self {
            columns: (0..schema.fields().len())
                .into_par_iter()
                .map(column)
                .collect::<Result<_, _>>()?,
            numbers: Numbers::new(&batches),
            schema,
        })
    }

    /// The bytes that a row takes, about. O(batches · columns) time.
    #[must_use]
    pub fn bytes_per_row(&self) -> usize {
        let bytes: usize = self.columns.iter().map(|column| column.bytes()).sum();
        bytes / self.numbers.rows().max(1) as usize
    }

    /// Gathers rows, in batches of at most `batch_size`, on all cores. O(rows · columns) time.
    ///
    /// Values that are gathered by code of its own are copied, also the strings of views: the
    /// result does not keep the batches' memory from being freed. Dictionaries are shared.
    ///
    /// If a column overflows its type, as strings of more than 2 GiB do, batches have fewer rows.
    ///
    /// # Errors
    ///
    /// [`ArrowError`], if a single row overflows its type, or Arrow refuses an array.
    ///
    /// # Panics
    ///
    /// If there is no such row, or `batch_size` is 0.
    pub fn gather(&self, rows: &[u32], batch_size: usize) -> Result<Vec<RecordBatch>, ArrowError> {
        // What is done together is enough for all cores, and bounds the memory of the places.
        let window = batch_size.saturating_mul(4 * rayon::current_num_threads());
        let mut done = Vec::with_capacity(rows.len().div_ceil(batch_size));
        for rows in rows.chunks(window) {
            let places: Vec<Place> = (rows.par_iter().with_min_len(1 << 10))
                .map(|&row| self.numbers.place(row))
                .collect();
            let batches: Vec<&[Place]> = places.chunks(batch_size).collect();
            // A task is one column of one batch, since there may be fewer batches than cores.
            let columns = self.columns.len();
            let gathered: Vec<Result<ArrayRef, ArrowError>> = (0..batches.len() * columns)
                .into_par_iter()
                .map(|task| self.columns[task % columns].gather(batches[task / columns]))
                .collect();
            let mut gathered = gathered.into_iter();
            for places in batches {
                let arrays: Vec<_> = gathered.by_ref().take(columns).collect();
                self.finish(places, arrays.into_iter().collect(), &mut done)?;
            }
        }
        Ok(done)
    }

    /// Makes a batch of these columns, or of half the rows each if one has overflowed.
    fn finish(
        &self,
        places: &[Place],
        arrays: Result<Vec<ArrayRef>, ArrowError>,
        done: &mut Vec<RecordBatch>,
    ) -> Result<(), ArrowError> {
        match arrays {
            Ok(arrays) => {
                let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
                let schema = self.schema.clone();
                done.push(RecordBatch::try_new_with_options(schema, arrays, &options)?);
                Ok(())
            }
            Err(error) if places.len() > 1 && is_overflow(&error) => {
                let (first, second) = places.split_at(places.len() / 2);
                for half in [first, second] {
                    let columns = self.columns.par_iter();
                    let arrays = columns.map(|column| column.gather(half)).collect();
                    self.finish(half, arrays, done)?;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("schema", &self.schema)
            .field("rows", &self.numbers.rows())
            .finish_non_exhaustive()
    }
}

impl Numbers {
    /// Of batches, none of which is empty.
    fn new(batches: &[&RecordBatch]) -> Self {
        let mut starts = vec![0_u32];
        let mut rows = 0;
        for batch in batches {
            rows += batch.num_rows();
            starts.push(u32::try_from(rows).expect("at most 2^32 - 1 rows"));
        }
        let rows = rows as u32;
        // A few multiples for each batch.
        let shift = (rows / (4 * batches.len().max(1)) as u32).max(1).ilog2();
        let mut guide = Vec::new();
        let mut batch = 0;
        for row in (0..rows).step_by(1 << shift) {
            while starts[batch + 1] <= row {
                batch += 1;
            }
            guide.push(batch as u32);
        }
        Self {
            starts,
            guide,
            shift,
        }
    }

    fn rows(&self) -> u32 {
        self.starts.last().copied().unwrap_or_default()
    }

    fn place(&self, row: u32) -> Place {
        let mut batch = self.guide[(row >> self.shift) as usize] as usize;
        while self.starts[batch + 1] <= row {
            batch += 1;
        }
        Place {
            batch: batch as u32,
            row: row - self.starts[batch],
        }
    }
}

fn is_overflow(error: &ArrowError) -> bool {
    matches!(
        error,
        ArrowError::OffsetOverflowError(_) | ArrowError::DictionaryKeyOverflowError
    )
}
