//! Recordings that together use everything the library can dispatch.

use crate::phases::record_sort;
use crate::plan::DeviceLimits;
use crate::recording::Recording;
use crate::{BaseCase, Engine, KeyType, Options, Order};

/// Sorts whose recordings together use every kernel, each over two tiles or more: both engines and
/// base cases, deterministic and pivot buckets, long merges cut into several dispatches, ragged
/// ends. Each is of a few thousand keys: [`Recording::len`] words (twice as many for two-word
/// types) are its input.
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
    // An even and an odd number of moves, so that keys begin in either buffer; the second with
    // dispatches of so few keys that merges are cut into several.
    const SHAPES: [(u32, u32, u32); 3] = [
        (3 * 1024 + 123, 4, u32::MAX),
        (5 * 1024 - 5, 3, 2048),
        (2 * 1024 + 1, 1, u32::MAX),
    ];
    let mut recordings = Vec::new();
    for engine in Engine::ALL {
        for base_case in BaseCase::ALL {
            for (len, buckets, keys_per_dispatch) in SHAPES {
                let options = Options::default()
                    .engine(engine)
                    .base_case(base_case)
                    .buckets(buckets)
                    .samples(buckets);
                let limits = DeviceLimits {
                    buffer_bytes: 1 << 27,
                    workgroups: 65_535,
                    keys_per_dispatch,
                };
                recordings.push(record_sort(len, key, order, &options, &limits));
            }
        }
    }
    recordings
}
