//! Rows that are read and not sorted yet.

use crate::gather::compact_batch;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::utils::memory::RecordBatchMemoryCounter;
use datafusion_execution::memory_pool::MemoryReservation;
use rayon::prelude::*;

/// The most batches that rows are collected from.
const MOST_BATCHES: usize = 256;

/// Rows that wait for their sort, with the memory that is reserved for them and for the sort.
pub(crate) struct Buffer {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) rows: usize,
    pub(crate) memory: RecordBatchMemoryCounter,
    /// The bytes of copies of all rows: more than `memory`, where strings share theirs.
    pub(crate) copies: usize,
    pub(crate) reservation: MemoryReservation,
}

impl Buffer {
    pub(crate) fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.batches.push(batch);
    }

    /// Makes many small batches few large ones, if there is memory for the copies: rows that are
    /// collected from thousands of arrays take twice as long as from hundreds, since where these
    /// are is not in the cache. Where fewer rows than half are collected, the copies take longer.
    pub(crate) fn coalesce(&mut self, schema: &SchemaRef, collected: usize) {
        self.copies = self.batches.par_iter().map(size_of_copy).sum();
        let together = self.batches.len().div_ceil(MOST_BATCHES);
        let is_in_vain = together == 1 || collected < self.rows / 2;
        if is_in_vain || self.reservation.try_grow(self.copies).is_err() {
            return;
        }
        let batches = std::mem::take(&mut self.batches);
        let mut groups = Vec::with_capacity(MOST_BATCHES);
        let mut batches = batches.into_iter().peekable();
        while batches.peek().is_some() {
            groups.push(batches.by_ref().take(together).collect::<Vec<_>>());
        }
        // Strings of more than 2 GiB do not fit in one batch: then there are more of them.
        let one = |group: Vec<RecordBatch>| match concat_batches(schema, &group) {
            Ok(batch) => vec![compact_batch(batch)],
            Err(_) => group,
        };
        self.batches = groups.into_par_iter().flat_map_iter(one).collect();
        self.reservation.shrink(self.memory.memory_usage());
    }

    pub(crate) fn take(&mut self) -> Self {
        Self {
            batches: std::mem::take(&mut self.batches),
            rows: std::mem::take(&mut self.rows),
            memory: std::mem::take(&mut self.memory),
            copies: std::mem::take(&mut self.copies),
            reservation: self.reservation.take(),
        }
    }
}

/// The bytes of a copy of a batch.
fn size_of_copy(batch: &RecordBatch) -> usize {
    let size = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8View => column.as_string_view().total_buffer_bytes_used() + 16 * column.len(),
        DataType::BinaryView => {
            column.as_binary_view().total_buffer_bytes_used() + 16 * column.len()
        }
        _ => (column.to_data().get_slice_memory_size())
            .unwrap_or_else(|_| column.get_array_memory_size()),
    };
    batch.columns().iter().map(size).sum()
}
