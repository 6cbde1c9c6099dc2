//! Recordings that together use everything the library can dispatch.

use crate::kernel::{Kernel, MATRIX, Specialised};
use crate::phases::record_sort;
use crate::plan::DeviceLimits;
use crate::recording::Recording;
use crate::{BaseCase, Engine, KeyType, Options, Order};

/// Sorts whose recordings together use every kernel of the default sorts, each over two tiles or more:
/// of several runs, the last one ragged; with deterministic and with pivot buckets; merged at once
/// and in instalments; in grids of one row and of two. For some key types and orders, which between
/// them have every piece of every kernel's text, all other kernels too: each base case, from one buffer
/// to another and in place, and what the paper compares with. Each is of a few thousand keys,
/// [`Recording::len`].
///
/// # Examples
///
/// ```
/// use std::collections::BTreeSet;
/// use wgpu_bcfsort::kernel::Kernel;
/// use wgpu_bcfsort::{KeyType, Order, lockstep};
///
/// let recordings = lockstep::library(KeyType::U32, Order::Ascending);
/// let used: BTreeSet<Kernel> = recordings
///     .iter()
///     .flat_map(|recording| recording.steps.iter().map(|step| step.kernel))
///     .collect();
/// assert!(Kernel::all().all(|kernel| used.contains(&kernel)));
/// ```
#[must_use]
pub fn library(key: KeyType, order: Order) -> Vec<Recording> {
    use BaseCase::{Diagonal, Transpose};
    use Engine::{BcfMergesort, BcfMergesortPb};
    let engine = |engine, buckets, samples| {
        Options::default()
            .engine(engine)
            .buckets(buckets)
            .samples(samples)
    };
    let cut = |options: &Options, len, cut: fn(&mut DeviceLimits)| {
        let mut limits = LIMITS;
        cut(&mut limits);
        record_sort(len, key, order, options, &limits)
    };
    let whole = |options: &Options, len| cut(options, len, |_| {});
    let mut recordings = vec![
        whole(&engine(BcfMergesort, 1, 1).base_case(Transpose), 4500),
        // Long merges in instalments.
        cut(
            &engine(BcfMergesort, 2, 9).base_case(Transpose),
            6900,
            |limits| limits.keys_per_dispatch = MATRIX,
        ),
        // Grids of two rows.
        cut(
            &engine(BcfMergesortPb, 4, 7).base_case(Diagonal),
            5300,
            |limits| limits.workgroups = 2,
        ),
        whole(&engine(BcfMergesortPb, 4, 5).base_case(Diagonal), 3333),
    ];
    if !REPRESENTATIVES.contains(&(key, order)) {
        return recordings;
    }
    // Base cases alone, in place, and from one buffer to the other before one merge.
    for kernel in Kernel::all() {
        if let Kernel::BaseCase {
            form,
            warps,
            in_place,
        } = kernel
        {
            let options = engine(BcfMergesort, 1, 1).base_case(form).warps(warps);
            // Two workgroups or more. The rounds of merges that follow are even in number where the
            // base case is to be in place.
            let tiles = warps / form.warps();
            let mut half = if in_place { 2 } else { 1 };
            while half < tiles {
                half *= 4;
            }
            let len = half * form.keys() + form.keys() / 2 + 1;
            recordings.push(whole(&options, len));
        }
    }
    recordings
}

/// Every kernel that the recordings of [`library`] dispatch, for every key type and order.
#[must_use]
pub fn kernels() -> Vec<Specialised> {
    let mut kernels = Vec::new();
    for key in KeyType::ALL {
        for order in [Order::Ascending, Order::Descending] {
            for recording in library(key, order) {
                let used = recording
                    .steps
                    .iter()
                    .map(|step| recording.specialised(step));
                kernels.extend(used);
            }
        }
    }
    // In a fixed order, each once.
    kernels.sort_by_cached_key(|kernel| (kernel.kernel(), kernel.label()));
    kernels.dedup();
    kernels
}

const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: u64::MAX,
    workgroups: 65_535,
    keys_per_dispatch: u32::MAX,
};

/// One key type and order for each of what a kernel's text can differ in: the words of a key, and
/// the constants that encode it.
const REPRESENTATIVES: [(KeyType, Order); 4] = [
    (KeyType::U32, Order::Ascending),
    (KeyType::F32, Order::Descending),
    (KeyType::U64, Order::Descending),
    (KeyType::F64, Order::Ascending),
];
