//! Gathers rows in sorted order, on all cores.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use datafusion_common::Result;
use rayon::prelude::*;
use std::ops::Range;

/// The rows of several batches, numbered consecutively.
pub(crate) struct Rows<'a> {
    schema: &'a SchemaRef,
    /// For each column its part in each batch.
    columns: Vec<Vec<&'a dyn Array>>,
    /// The first row of each batch.
    starts: Vec<usize>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(schema: &'a SchemaRef, batches: &'a [RecordBatch]) -> Self {
        let mut starts = Vec::with_capacity(batches.len());
        let mut rows = 0;
        for batch in batches {
            starts.push(rows);
            rows += batch.num_rows();
        }
        let part = |column: usize| {
            let parts = batches.iter().map(|batch| batch.column(column).as_ref());
            parts.collect()
        };
        Self {
            schema,
            columns: (0..schema.fields().len()).map(part).collect(),
            starts,
        }
    }

    /// These rows, in batches of at most `batch_size`.
    pub(crate) fn gather(&self, rows: &[u32], batch_size: usize) -> Result<Vec<RecordBatch>> {
        let places: Vec<(usize, usize)> = (rows.par_iter().with_min_len(1 << 10))
            .map(|&row| self.place(row as usize))
            .collect();
        let batches = rows.len().div_ceil(batch_size);
        let columns = self.columns.len();
        let range = |batch: usize| batch * batch_size..rows.len().min((batch + 1) * batch_size);
        // A task is one column of one batch, since there may be fewer batches than cores.
        let mut gathered: Vec<Result<ArrayRef, ArrowError>> = (0..batches * columns)
            .into_par_iter()
            .map(|task| self.column(task % columns, &places[range(task / columns)]))
            .collect();
        let mut done = Vec::with_capacity(batches);
        for batch in 0..batches {
            let rest = gathered.split_off(columns);
            let arrays = std::mem::replace(&mut gathered, rest);
            self.finish(&places, range(batch), arrays, &mut done)?;
        }
        Ok(done)
    }

    /// The batch of a row, and the row's index in it.
    fn place(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|&start| start <= row) - 1;
        (batch, row - self.starts[batch])
    }

    fn column(&self, column: usize, places: &[(usize, usize)]) -> Result<ArrayRef, ArrowError> {
        let parts = &self.columns[column];
        if let [only] = parts[..] {
            let indices: Vec<u32> = places.iter().map(|&(_, row)| row as u32).collect();
            return Ok(compact(take(only, &UInt32Array::from(indices), None)?));
        }
        Ok(compact(interleave(parts, places)?))
    }

    /// Makes a batch of these columns. If a column overflows its type, as strings of more than 2
    /// GiB do, makes two batches of half the rows.
    fn finish(
        &self,
        places: &[(usize, usize)],
        range: Range<usize>,
        arrays: Vec<Result<ArrayRef, ArrowError>>,
        done: &mut Vec<RecordBatch>,
    ) -> Result<()> {
        let rows = range.len();
        match arrays.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(arrays) => {
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                let schema = self.schema.clone();
                done.push(RecordBatch::try_new_with_options(schema, arrays, &options)?);
                Ok(())
            }
            Err(error) if rows > 1 && is_overflow(&error) => {
                let middle = range.start + rows / 2;
                for half in [range.start..middle, middle..range.end] {
                    let column = |column| self.column(column, &places[half.clone()]);
                    let arrays = (0..self.columns.len()).map(column).collect();
                    self.finish(places, half, arrays, done)?;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn is_overflow(error: &ArrowError) -> bool {
    matches!(
        error,
        ArrowError::OffsetOverflowError(_) | ArrowError::DictionaryKeyOverflowError
    )
}

/// Copies the strings of view arrays, so that each column has memory of its own.
pub(crate) fn compact_batch(batch: RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().cloned().map(compact).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let compacted = RecordBatch::try_new_with_options(batch.schema(), columns, &options);
    compacted.unwrap_or(batch)
}

/// Copies the strings of a view array. Otherwise the views of sorted rows would keep nearly all
/// batches of the input from being freed.
fn compact(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => std::sync::Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => std::sync::Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}
