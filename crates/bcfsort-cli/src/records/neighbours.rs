//! Compares each record with the one before it.

use super::{Bounds, Layout};
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The number of records that one thread compares at a time.
const BLOCK: usize = 1 << 12;

/// Compares the records of a file, part by part.
pub(super) struct Neighbours<'a> {
    layout: &'a dyn Layout,
    /// The key of the last record so far.
    last: Option<Vec<u8>>,
}

impl<'a> Neighbours<'a> {
    pub(super) const fn new(layout: &'a dyn Layout) -> Self {
        Self { layout, last: None }
    }

    /// For each record of the next part, the order of the one before it and this one by their keys.
    /// The first one of the file counts as larger than what is before it.
    pub(super) fn compare(&mut self, records: &[u8], bounds: &Bounds) -> Vec<Ordering> {
        let push_key = |index: usize, key: &mut Vec<u8>| {
            key.clear();
            self.layout.push_key(&records[bounds.range(index)], key);
        };
        let mut orders = vec![Ordering::Less; bounds.len()];
        let blocks = orders.par_chunks_mut(BLOCK).enumerate();
        blocks.for_each(|(block, orders)| {
            let start = block * BLOCK;
            let (mut before, mut this) = (Vec::new(), Vec::new());
            let mut is_first = start == 0 && self.last.is_none();
            match (start, &self.last) {
                (0, Some(last)) => before.clone_from(last),
                (0, None) => {}
                _ => push_key(start - 1, &mut before),
            }
            for (index, order) in orders.iter_mut().enumerate() {
                push_key(start + index, &mut this);
                if !std::mem::take(&mut is_first) {
                    *order = before.cmp(&this);
                }
                std::mem::swap(&mut before, &mut this);
            }
        });
        if let Some(last) = bounds.len().checked_sub(1) {
            let mut key = self.last.take().unwrap_or_default();
            key.clear();
            self.layout.push_key(&records[bounds.range(last)], &mut key);
            self.last = Some(key);
        }
        orders
    }

    /// The next sorted records without those whose key the one before them has, and the number of
    /// those that are left.
    pub(super) fn unique<'b>(&mut self, sorted: &'b [u8]) -> (Cow<'b, [u8]>, u64) {
        let bounds = self.layout.bounds(sorted);
        let orders = self.compare(sorted, &bounds);
        let equal = orders.iter().filter(|order| order.is_eq()).count();
        let left = (orders.len() - equal) as u64;
        if equal == 0 {
            return (Cow::Borrowed(sorted), left);
        }
        let mut kept = Vec::with_capacity(sorted.len());
        for (index, order) in orders.into_iter().enumerate() {
            if order != Ordering::Equal {
                kept.extend_from_slice(&sorted[bounds.range(index)]);
            }
        }
        (Cow::Owned(kept), left)
    }
}
