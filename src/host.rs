//! Sorting and merging on the host: the reference for the GPU's results, and the merge of chunks
//! that did not fit the device at once.

use crate::{KeyType, Order, SortKey};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Sorts on the CPU in the total order of the GPU. The results are identical bytes.
///
/// O(n log n) time, no additional memory: it is Rust's `sort_unstable_by`. Keys alone do not need a
/// stable sort.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Order, internals::host::sort_on_cpu};
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

/// Returns the first index whose key precedes its predecessor, or `None` if the keys are sorted.
///
/// O(n) time on the CPU. For keys in GPU buffers there is
/// [`Sorter::is_sorted_until`](crate::Sorter::is_sorted_until).
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Order, internals::host::first_out_of_order};
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

pub(crate) fn rank<T: SortKey>(key: T, order: Order) -> u64 {
    let key_type: KeyType = T::KEY_TYPE;
    key_type.map(order).encode(key.to_bits64())
}

/// Merges sorted runs of indices. `runs` are ranges of `indices`, each sorted by the keys at its
/// indices. Stable: for equal keys, indices of an earlier run come first. O(log k) comparisons per
/// index for k runs.
pub(crate) fn merge_indices<T: SortKey>(
    keys: &[T],
    indices: &[u32],
    runs: &[Range<usize>],
    order: Order,
) -> impl Iterator<Item = u32> {
    let mut rests: Vec<_> = (runs.iter())
        .map(|run| indices[run.clone()].iter().copied())
        .collect();
    // The next index of a run with its key's rank. The run breaks ties of equal keys.
    let head = move |rests: &mut [std::iter::Copied<std::slice::Iter<'_, u32>>], run: usize| {
        let index = rests[run].next()?;
        Some(Reverse((rank(keys[index as usize], order), run, index)))
    };
    let mut heads: BinaryHeap<_> = (0..rests.len())
        .filter_map(|run| head(&mut rests, run))
        .collect();
    std::iter::from_fn(move || {
        let Reverse((_, run, index)) = heads.pop()?;
        heads.extend(head(&mut rests, run));
        Some(index)
    })
}

/// Permutes items by swaps: item `from[i]` moves to index `i`. At most one swap per item.
pub(crate) fn permute(mut from: Vec<u32>, mut swap: impl FnMut(usize, usize)) {
    for start in 0..from.len() {
        let mut at = start;
        loop {
            let next = from[at] as usize;
            from[at] = at as u32;
            // The cycle's first item has reached its end.
            if next == start {
                break;
            }
            swap(at, next);
            at = next;
        }
    }
}

/// A streaming merge of sorted runs into one sorted sequence.
///
/// Runs are iterators of results, e.g. of keys read from files. The first error ends the merge.
/// O(log k) comparisons per key for k runs. Memory: one key of each run.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use wgpu_bcfsort::{Order, internals::host::KWayMerge};
/// let runs = [[1_u32, 4, 6], [2, 3, 9]].map(|run| run.into_iter().map(Ok::<_, Infallible>));
/// let merged = KWayMerge::new(runs.into(), Order::Ascending);
/// let merged: Result<Vec<u32>, Infallible> = merged.collect();
/// assert_eq!(merged, Ok(vec![1, 2, 3, 4, 6, 9]));
/// ```
#[derive(Debug)]
pub struct KWayMerge<T, E, I> {
    runs: Vec<I>,
    order: Order,
    /// The rank of the next key of each unfinished run, and the run.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    failed: Option<E>,
    started: bool,
    key: std::marker::PhantomData<T>,
}

impl<T: SortKey, E, I: Iterator<Item = Result<T, E>>> KWayMerge<T, E, I> {
    /// Creates a merge of `runs`. Each run must be sorted in `order`.
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

    /// The rank of a run's next key. Stores an error for the next call.
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
            // End the merge: after an error the runs' positions are undefined.
            self.heads.clear();
            return Some(Err(error));
        }
        let Reverse((rank, run)) = *self.heads.peek()?;
        match self.pull(run) {
            // Replacing the top costs one descent of the heap, a pop and a push cost two.
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
    fn items_are_permuted_by_any_permutation() {
        for n in 0..7_u32 {
            let mut from: Vec<u32> = (0..n).collect();
            // All permutations, by Heap's algorithm.
            let mut counters = vec![0; n as usize];
            let mut i = 0;
            loop {
                let mut items: Vec<u32> = (100..100 + n).collect();
                permute(from.clone(), |i, j| items.swap(i, j));
                assert!(
                    items
                        .iter()
                        .zip(&from)
                        .all(|(item, from)| item - 100 == *from)
                );
                while i < n as usize && counters[i] >= i {
                    counters[i] = 0;
                    i += 1;
                }
                if i >= n as usize {
                    break;
                }
                from.swap(if i % 2 == 0 { 0 } else { counters[i] }, i);
                counters[i] += 1;
                i = 0;
            }
        }
    }

    #[test]
    fn merged_indices_of_equal_keys_ascend() {
        let keys = [5.0_f32, 1.0, 5.0, 1.0, 9.0, 5.0, 1.0];
        let merged: Vec<u32> = merge_indices(
            &keys,
            &[1, 0, 2, 3, 4, 6, 5],
            &[0..3, 3..5, 5..7],
            Order::Ascending,
        )
        .collect();
        assert_eq!(merged, [1, 3, 6, 0, 2, 5, 4]);
        let merged: Vec<u32> = merge_indices(
            &keys,
            &[0, 2, 1, 4, 3, 5, 6],
            &[0..3, 3..5, 5..7],
            Order::Descending,
        )
        .collect();
        assert_eq!(merged, [4, 0, 2, 5, 1, 3, 6]);
    }

    #[test]
    fn merging_no_runs_and_empty_runs_gives_nothing() {
        let none: Vec<std::vec::IntoIter<Result<u32, ()>>> = vec![];
        assert_eq!(KWayMerge::new(none, Order::Ascending).count(), 0);
        let empty = vec![Vec::<Result<u32, ()>>::new().into_iter(); 3];
        assert_eq!(KWayMerge::new(empty, Order::Descending).count(), 0);
    }
}
