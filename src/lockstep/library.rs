//! Recordings that together use everything the library can dispatch.

use crate::kernel::MATRIX;
use crate::phases::record_sort;
use crate::plan::DeviceLimits;
use crate::recording::Recording;
use crate::{BaseCase, Engine, KeyType, Options, Order};

/// Sorts whose recordings together use every kernel, each over two tiles or more: of several runs,
/// the last one ragged; with each base case from one buffer to another and in place; with
/// deterministic and with pivot buckets; merged at once and in instalments; in grids of one row and
/// of two. Each is of a few thousand keys, [`Recording::len`].
///
/// # Examples
///
/// ```
/// use std::collections::BTreeSet;
/// use wgpu_bcfsort::kernel::Kernel;
/// use wgpu_bcfsort::{KeyType, Order, lockstep};
///
/// let recordings = lockstep::library(KeyType::F32, Order::Ascending);
/// let used: BTreeSet<Kernel> = recordings
///     .iter()
///     .flat_map(|recording| recording.steps.iter().map(|step| step.kernel))
///     .collect();
/// assert!(Kernel::ALL.iter().all(|kernel| used.contains(kernel)));
/// ```
#[must_use]
pub fn library(key: KeyType, order: Order) -> Vec<Recording> {
    use BaseCase::{Diagonal, Transpose};
    use Engine::{BcfMergesort, BcfMergesortPb};
    let record = |len, engine, base_case, buckets, samples, cut: fn(&mut DeviceLimits)| {
        let options = Options::default()
            .engine(engine)
            .base_case(base_case)
            .buckets(buckets)
            .samples(samples);
        let mut limits = DeviceLimits {
            buffer_bytes: u64::MAX,
            workgroups: 65_535,
            keys_per_dispatch: u32::MAX,
        };
        cut(&mut limits);
        record_sort(len, key, order, &options, &limits)
    };
    let whole: fn(&mut DeviceLimits) = |_| {};
    vec![
        record(4500, BcfMergesort, Transpose, 1, 1, whole),
        // Long merges in instalments.
        record(6900, BcfMergesort, Transpose, 2, 9, |limits| {
            limits.keys_per_dispatch = MATRIX;
        }),
        // Grids of two rows.
        record(5300, BcfMergesortPb, Diagonal, 4, 7, |limits| {
            limits.workgroups = 2;
        }),
        record(3333, BcfMergesortPb, Diagonal, 4, 5, whole),
    ]
}
