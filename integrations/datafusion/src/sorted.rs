//! Sorted rows.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use bcfsort_keys::{NarrowRows, Rows, SortColumn, is_decodable};
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr};
use rayon::prelude::*;
use std::ops::Range;

/// Sorted rows, whose batches are made on demand.
pub(crate) enum Sorted {
    /// The rows in the order that they came in, and the indices that sort them.
    Indexed {
        rows: Rows,
        indices: Vec<u32>,
        bytes_per_row: usize,
        _memory: MemoryReservation,
    },
    /// Rows whose columns are decoded from their keys.
    Decoded {
        rows: NarrowRows,
        columns: KeyColumns,
        _memory: MemoryReservation,
    },
}

impl Sorted {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Indexed { indices, .. } => indices.len(),
            Self::Decoded { rows, .. } => rows.len(),
        }
    }

    /// The bytes that a row takes in a batch, about.
    pub(crate) fn bytes_per_row(&self) -> usize {
        match self {
            Self::Indexed { bytes_per_row, .. } => *bytes_per_row,
            Self::Decoded { columns, .. } => columns.bytes_per_row,
        }
    }

    /// Makes batches of at most `batch_size` rows from a range of the rows.
    pub(crate) fn batches(
        &self,
        range: Range<usize>,
        schema: &SchemaRef,
        batch_size: usize,
    ) -> Result<Vec<RecordBatch>> {
        match self {
            Self::Indexed { rows, indices, .. } => Ok(rows.gather(&indices[range], batch_size)?),
            Self::Decoded { rows, columns, .. } => {
                let batches = range.len().div_ceil(batch_size);
                let batch = |i: usize| {
                    let begin = range.start + i * batch_size;
                    let decoded = rows.decode(begin..range.end.min(begin + batch_size))?;
                    let of_field = |&key: &usize| decoded[key].clone();
                    let arrays: Vec<ArrayRef> = columns.of_fields.iter().map(of_field).collect();
                    Ok(RecordBatch::try_new(schema.clone(), arrays)?)
                };
                (0..batches).into_par_iter().map(batch).collect()
            }
        }
    }

    /// Keeps the keys only: the memory of the input is free before the output is read. There were
    /// `all` rows before the limit.
    pub(crate) fn decoded(
        rows: NarrowRows,
        columns: KeyColumns,
        all: usize,
        memory: MemoryReservation,
    ) -> Self {
        let bytes = match rows.bits() {
            0..=32 => 4 * rows.len(),
            33..=64 => 8 * rows.len(),
            // Wide keys stay in place, including those beyond the limit.
            _ => 20 * all,
        };
        // The rows and their sort had a larger reservation.
        memory.shrink(memory.size().saturating_sub(bytes));
        Self::Decoded {
            rows,
            columns,
            _memory: memory,
        }
    }
}

/// The columns of rows that are sorted by all of their columns.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumns {
    /// For each key, its column.
    of_keys: Vec<usize>,
    /// For each column, its key.
    of_fields: Vec<usize>,
    bytes_per_row: usize,
}

impl KeyColumns {
    /// None unless each key is a decodable column, and each column is a key.
    pub(crate) fn new(expr: &LexOrdering, schema: &SchemaRef) -> Option<Self> {
        let column_of = |key: &PhysicalSortExpr| {
            let column = key.expr.downcast_ref::<Column>()?.index();
            is_decodable(schema.fields().get(column)?.data_type()).then_some(column)
        };
        let of_keys: Vec<usize> = expr.iter().map(column_of).collect::<Option<_>>()?;
        let key_of = |field| of_keys.iter().position(|&column| column == field);
        let of_fields: Vec<usize> = (0..schema.fields().len())
            .map(key_of)
            .collect::<Option<_>>()?;
        let width = |data_type: &DataType| data_type.primitive_width().unwrap_or(1) + 1;
        let bytes_per_row = schema
            .fields()
            .iter()
            .map(|field| width(field.data_type()))
            .sum();
        Some(Self {
            of_keys,
            of_fields,
            bytes_per_row,
        })
    }

    /// The columns of a batch to sort by.
    pub(crate) fn of_batch(&self, batch: &RecordBatch, expr: &LexOrdering) -> Vec<SortColumn> {
        let column = |(&column, key): (&usize, &PhysicalSortExpr)| SortColumn {
            values: batch.column(column).clone(),
            descending: key.options.descending,
            nulls_first: key.options.nulls_first,
        };
        self.of_keys.iter().zip(expr.iter()).map(column).collect()
    }
}
