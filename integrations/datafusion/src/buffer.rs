//! Rows that are read and not sorted yet.

use crate::gather::compact_batch;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::utils::memory::RecordBatchMemoryCounter;
use datafusion_execution::memory_pool::MemoryReservation;
use rayon::prelude::*;

/// The most batches that rows are gathered from.
const MOST_BATCHES: usize = 256;

/// Rows that wait for their sort, with the memory that is reserved for them and for the sort.
pub(crate) struct Buffer {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) rows: usize,
    /// Counts the bytes of batches, including a batch whose reservation fails and that is not
    /// pushed.
    pub(crate) memory: RecordBatchMemoryCounter,
    /// The bytes that are reserved for the batches themselves.
    pub(crate) own: usize,
    /// The bytes of a copy of all rows: more than `own` if strings share memory.
    pub(crate) copies: usize,
    pub(crate) reservation: MemoryReservation,
}

impl Buffer {
    /// Adds a batch, and the bytes that are reserved for it alone.
    pub(crate) fn push(&mut self, batch: RecordBatch, own: usize) {
        self.rows += batch.num_rows();
        self.own += own;
        self.batches.push(batch);
    }

    /// Concatenates many small batches to few large ones, if there is memory for the copies.
    ///
    /// A gather from thousands of arrays takes twice as long as from hundreds, since their
    /// addresses do not stay in the cache. If fewer than half of the rows are gathered, the copies
    /// take longer than they save.
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
        // Strings of more than 2 GiB do not fit in one batch: then the group stays as it is.
        let one = |group: Vec<RecordBatch>| match concat_batches(schema, &group) {
            Ok(batch) => vec![compact_batch(batch)],
            Err(_) => group,
        };
        self.batches = groups.into_par_iter().flat_map_iter(one).collect();
        self.reservation.shrink(std::mem::take(&mut self.own));
    }

    pub(crate) fn take(&mut self) -> Self {
        Self {
            batches: std::mem::take(&mut self.batches),
            rows: std::mem::take(&mut self.rows),
            memory: std::mem::take(&mut self.memory),
            own: std::mem::take(&mut self.own),
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

#[cfg(test)]
mod tests {
    use super::{Buffer, MOST_BATCHES};
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use datafusion_common::utils::memory::RecordBatchMemoryCounter;
    use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
    use std::sync::Arc;

    /// A batch that gets no memory is counted, but its bytes are not given back.
    #[test]
    fn what_was_never_reserved_is_not_given_back() {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let mut buffer = Buffer {
            batches: Vec::new(),
            rows: 0,
            memory: RecordBatchMemoryCounter::new(),
            own: 0,
            copies: 0,
            reservation: MemoryConsumer::new("test").register(&pool),
        };
        let batch = |rows: i64| {
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
            RecordBatch::try_from_iter([("k", values)]).expect("a batch")
        };
        for _ in 0..=MOST_BATCHES {
            let batch = batch(10);
            let own = buffer.memory.count_batch(&batch);
            buffer.reservation.grow(own);
            buffer.push(batch, own);
        }
        buffer.memory.count_batch(&batch(100_000));
        buffer.coalesce(&batch(0).schema(), usize::MAX);
        assert!(buffer.batches.len() <= MOST_BATCHES);
        assert_eq!(buffer.reservation.size(), buffer.copies);
    }
}
