//! Sorting and merging on the host: the reference for the GPU's results, and the merge of chunks
//! that did not fit the device at once.

use crate::at_once::produce_in_order;
use crate::key::SortKey;
use crate::order::Order;
use std::cmp::Ordering;
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

/// Items of a run between two samples, and so the accuracy of the cuts into ranges.
const SAMPLED: usize = 1 << 14;

/// Samples in a range: its items, and a copy of them, fit a core's cache.
const RANGE: usize = 16;

/// Merges sorted runs, on all cores, and passes the result to `take`, in order, in blocks. `runs`
/// are ranges of `items`, each sorted by `rank`. Stable: of items with equal ranks, those of an
/// earlier run come first.
///
/// O(n log k) time for k runs. Memory: some MiB for each core.
///
/// Every [`SAMPLED`]th item of each run is a sample. The items between two samples are found in all
/// runs by binary search. They are one part of the result, which one thread sorts: the sort of the
/// standard library finds the runs in it and merges them. Between neighbouring samples each run has
/// at most [`SAMPLED`] items, so the size of a range is bounded for all inputs, also for equal
/// ranks, since samples with equal ranks are ordered by run and position.
pub(crate) fn merge_runs<T, K, E>(
    items: &[T],
    runs: &[Range<usize>],
    rank: impl Fn(&T) -> K + Sync,
    mut take: impl FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E>
where
    T: Copy + Send + Sync,
    K: Ord + Copy + Sync,
{
    let mut samples: Vec<(K, usize, usize)> = (runs.iter().enumerate())
        .flat_map(|(i, run)| run.clone().step_by(SAMPLED).map(move |at| (i, at)))
        .map(|(i, at)| (rank(&items[at]), i, at))
        .collect();
    samples.sort_unstable();
    let starts: Vec<_> = samples.into_iter().step_by(RANGE).skip(1).collect();

    let cuts = |start: Option<&_>| cuts(items, runs, &rank, start);
    let merge = |range: usize, part: &mut Vec<T>| {
        let from = match range.checked_sub(1) {
            Some(before) => cuts(Some(&starts[before])),
            None => runs.iter().map(|run| run.start).collect(),
        };
        part.clear();
        for (from, to) in from.into_iter().zip(cuts(starts.get(range))) {
            part.extend_from_slice(&items[from..to]);
        }
        part.sort_by_key(&rank);
    };
    produce_in_order(starts.len() + 1, merge, |part| take(part))
}

/// The ends of the items that precede a sample, in each run; of all items without one.
fn cuts<T, K: Ord + Copy>(
    items: &[T],
    runs: &[Range<usize>],
    rank: &impl Fn(&T) -> K,
    sample: Option<&(K, usize, usize)>,
) -> Vec<usize> {
    let cut = |(i, run): (usize, &Range<usize>)| match sample {
        None => run.end,
        Some(&(_, of_run, at)) if i == of_run => at,
        Some(&(bound, of_run, _)) => {
            let precedes = |item: &T| match rank(item).cmp(&bound) {
                Ordering::Less => true,
                Ordering::Equal => i < of_run,
                Ordering::Greater => false,
            };
            run.start + items[run.clone()].partition_point(precedes)
        }
    };
    runs.iter().enumerate().map(cut).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Items with few different ranks, in runs of these lengths; each knows its position.
    fn check_merge(lens: &[usize], ranks: u64) {
        let mut state = 1_u64;
        let mut items = Vec::new();
        let mut runs = Vec::new();
        for &len in lens {
            let start = items.len();
            let mut run: Vec<u64> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    (state >> 33) % ranks
                })
                .collect();
            run.sort_unstable();
            items.extend((start..).zip(run).map(|(at, rank)| (rank, at)));
            runs.push(start..items.len());
        }
        let mut merged = Vec::new();
        let result: Result<(), ()> = merge_runs(
            &items,
            &runs,
            |item| item.0,
            |block| {
                merged.extend_from_slice(block);
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
        items.sort_by_key(|item| item.0);
        assert!(merged == items, "{lens:?}, {ranks} ranks");
    }

    #[test]
    fn runs_are_merged_stably() {
        let long = 3 * RANGE * SAMPLED + 5;
        for ranks in [1, 2, 1000, u64::MAX] {
            for lens in [
                &[][..],
                &[0],
                &[0, 0, 1],
                &[1, 0, 1, 2],
                &[SAMPLED, SAMPLED - 1, SAMPLED + 1],
                &[long, 3, long],
                &[100; 300],
            ] {
                check_merge(lens, ranks);
            }
        }
    }

    #[test]
    fn a_merge_ends_with_the_first_error() {
        let items = vec![0_u32; 1000 * SAMPLED];
        let mut calls = 0;
        let ended = merge_runs(
            &items,
            &[0..5, 5..items.len()],
            |&item| item,
            |_| {
                calls += 1;
                Err("full")
            },
        );
        assert_eq!((ended, calls), (Err("full"), 1));
    }
}
