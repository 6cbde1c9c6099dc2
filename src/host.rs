//! Sorting and merging on the host: what the GPU's results are checked against, and how chunks that
//! did not fit the device become one.

use crate::{KeyType, Order, SortKey};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sorts on the CPU, in the same total order as the GPU: the same bytes come out.
///
/// Not stable, which with keys alone makes no difference. O(n log n) time, no memory.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Order, sort_on_cpu};
/// let mut keys = [0.0_f32, -0.0, f32::NAN, -1.0];
/// sort_on_cpu(&mut keys, Order::Ascending);
/// assert_eq!(keys.map(f32::to_bits), [-1.0, -0.0, 0.0, f32::NAN].map(f32::to_bits));
/// ```
pub fn sort_on_cpu<T: SortKey>(keys: &mut [T], order: Order) {
    match order {
        Order::Ascending => keys.sort_unstable_by(T::total_order),
        Order::Descending => keys.sort_unstable_by(|a, b| b.total_order(a)),
    }
}

/// The first index whose key comes before its predecessor, or `None` if the keys are sorted.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Order, first_out_of_order};
/// assert_eq!(first_out_of_order(&[1_u32, 5, 4, 6], Order::Ascending), Some(2));
/// assert_eq!(first_out_of_order(&[3_u32, 2, 2], Order::Descending), None);
/// ```
pub fn first_out_of_order<T: SortKey>(keys: &[T], order: Order) -> Option<usize> {
    let wrong = match order {
        Order::Ascending => std::cmp::Ordering::Greater,
        Order::Descending => std::cmp::Ordering::Less,
    };
    keys.windows(2)
        .position(|pair| pair[0].total_order(&pair[1]) == wrong)
        .map(|i| i + 1)
}

fn rank<T: SortKey>(key: T, order: Order) -> u64 {
    let key_type: KeyType = T::KEY_TYPE;
    key_type.map(order).encode(key.to_bits64())
}

/// Merges sorted runs into one sorted sequence, streaming.
///
/// Each run is an iterator of results, so that runs may be files; the first error ends the merge.
/// O(log k) comparisons a key for k runs; holds one key of each run.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use wgpu_bcfsort::{KWayMerge, Order};
/// let runs = [[1_u32, 4, 6], [2, 3, 9]].map(|run| run.into_iter().map(Ok::<_, Infallible>));
/// let merged: Result<Vec<u32>, Infallible> = KWayMerge::new(runs.into(), Order::Ascending).collect();
/// assert_eq!(merged, Ok(vec![1, 2, 3, 4, 6, 9]));
/// ```
#[derive(Debug)]
pub struct KWayMerge<T, E, I> {
    runs: Vec<I>,
    order: Order,
    /// The next key's rank of each run that has one, and the run.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    failed: Option<E>,
    started: bool,
    key: std::marker::PhantomData<T>,
}

impl<T: SortKey, E, I: Iterator<Item = Result<T, E>>> KWayMerge<T, E, I> {
    /// A merge of `runs`, each of which must be sorted in `order`.
    #[must_use]
    pub fn new(runs: Vec<I>, order: Order) -> Self {
        let heads = BinaryHeap::with_capacity(runs.len());
        Self {
            runs,
            order,
            heads,
            failed: None,
            started: false,
            key: std::marker::PhantomData,
        }
    }

    /// The rank of a run's next key. An error is kept for the next call.
    fn pull(&mut self, run: usize) -> Option<u64> {
        match self.runs[run].next()? {
            Ok(key) => Some(rank(key, self.order)),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

impl<T: SortKey, E, I: Iterator<Item = Result<T, E>>> Iterator for KWayMerge<T, E, I> {
    type Item = Result<T, E>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.started {
            self.started = true;
            for run in 0..self.runs.len() {
                if let Some(rank) = self.pull(run) {
                    self.heads.push(Reverse((rank, run)));
                }
            }
        }
        if let Some(error) = self.failed.take() {
            // Nothing after an error: the runs' positions mean nothing any more.
            self.heads.clear();
            return Some(Err(error));
        }
        let Reverse((rank, run)) = *self.heads.peek()?;
        match self.pull(run) {
            // Replacing the top costs one descent, popping and pushing two.
            Some(next) => {
                if let Some(mut top) = self.heads.peek_mut() {
                    *top = Reverse((next, run));
                }
            }
            None => {
                self.heads.pop();
            }
        }
        Some(Ok(T::from_bits64(T::KEY_TYPE.map(self.order).decode(rank))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_run_ends_the_merge() {
        let runs = vec![
            vec![Ok(1_u32), Err("torn"), Ok(7)].into_iter(),
            vec![Ok(2), Ok(3)].into_iter(),
        ];
        let merged: Vec<_> = KWayMerge::new(runs, Order::Ascending).collect();
        assert_eq!(merged, [Ok(1), Err("torn")]);
    }

    #[test]
    fn merging_no_runs_and_empty_runs_gives_nothing() {
        let none: Vec<std::vec::IntoIter<Result<u32, ()>>> = vec![];
        assert_eq!(KWayMerge::new(none, Order::Ascending).count(), 0);
        let empty = vec![Vec::<Result<u32, ()>>::new().into_iter(); 3];
        assert_eq!(KWayMerge::new(empty, Order::Descending).count(), 0);
    }
}
