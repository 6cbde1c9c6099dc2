//! Sorting on the host: the reference for the GPU's results, and what follows an argsort.

use crate::key::SortKey;
use crate::order::Order;

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

/// Moves items to the order of an argsort, in place, by swaps: the item at `from[i]` goes to index
/// `i`. `swap` swaps the items at two indices, of one slice or of several.
///
/// O(n) time, at most one swap for each item, no memory. What [`Sorter::sort_pairs`] and
/// [`Sorter::sort_by_key`] do after their argsort.
///
/// [`Sorter::sort_pairs`]: crate::Sorter::sort_pairs
/// [`Sorter::sort_by_key`]: crate::Sorter::sort_by_key
///
/// # Panics
///
/// If `from` is no permutation of its indices; some items may have been swapped then.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::permute;
/// // As of an argsort of the years.
/// let mut years = [1905, 1879, 1915];
/// let mut names = ["relativity", "birth", "gravity"];
/// permute(vec![1, 0, 2], |i, j| {
///     years.swap(i, j);
///     names.swap(i, j);
/// });
/// assert_eq!((years, names), ([1879, 1905, 1915], ["birth", "relativity", "gravity"]));
/// ```
pub fn permute(mut from: Vec<u32>, mut swap: impl FnMut(usize, usize)) {
    for start in 0..from.len() {
        let mut at = start;
        loop {
            let next = from[at] as usize;
            from[at] = at as u32;
            // The cycle's first item has reached its end.
            if next == start {
                break;
            }
            // (What is in place already cannot be asked for again.)
            assert!(next != at, "not a permutation: index {at} occurs again");
            swap(at, next);
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_permutation_panics() {
        for from in [vec![1, 1], vec![0, 0, 2], vec![2, 3, 3, 1], vec![0, 2]] {
            let permuted = std::panic::catch_unwind(|| permute(from, |_, _| ()));
            assert!(permuted.is_err());
        }
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
}
