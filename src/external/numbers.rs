//! The format of keys alone.

use super::RecordFormat;
use crate::error::Error;
use crate::key::SortKey;
use crate::order::Order;
use crate::sorter::Sorter;
use std::marker::PhantomData;

/// Keys alone as records of an [`ExternalSorter`](super::ExternalSorter): each unit is a key, and
/// [`Sorter::sort_to`] sorts them. It takes a copy and a byte for each key in addition if a vector
/// has more than [`Sorter::max_len`].
///
/// # Examples
///
/// See [`ExternalSorter`](super::ExternalSorter).
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a, T> {
    sorter: &'a Sorter,
    order: Order,
    key: PhantomData<T>,
}

impl<'a, T: SortKey> Numbers<'a, T> {
    /// Makes a format of keys that `sorter` sorts in `order`.
    #[must_use]
    pub fn new(sorter: &'a Sorter, order: Order) -> Self {
        Self {
            sorter,
            order,
            key: PhantomData,
        }
    }
}

impl<T: SortKey> RecordFormat for Numbers<'_, T> {
    type Unit = T;
    /// The unsigned integer whose order is that of the keys.
    type Key = u64;
    type Error = Error;
    const OVERHEAD: usize = 0;

    fn sort(
        &self,
        records: &mut [T],
        take: &mut dyn FnMut(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Stable: equal keys have equal bits.
        self.sorter.sort_to(records, self.order, take)
    }

    fn key(&self, records: &[T]) -> u64 {
        records[0].rank(self.order)
    }

    fn count(&self, records: &[T]) -> usize {
        records.len()
    }

    fn cut(&self, records: &[T], units: usize) -> usize {
        units.clamp(1, records.len())
    }

    fn split(&self, sorted: &[T], key: &u64, or_equal: bool) -> usize {
        sorted.partition_point(|&record| {
            let rank = record.rank(self.order);
            rank < *key || (or_equal && rank == *key)
        })
    }
}
