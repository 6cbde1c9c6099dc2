//! The sort of words by the engine of the options.

use crate::device::DeviceLimits;
use crate::engine::Engine;
use crate::key::KeyType;
use crate::layout::{self, SortLayout};
use crate::mergesort;
use crate::options::Options;
use crate::order::Order;
use crate::recording::Recording;
use crate::samplesort::{self, WordSort};

/// Records a sort of `len` keys in [`Buffer::Keys`](crate::recording::Buffer::Keys).
///
/// `len` must be at most [`DeviceLimits::max_len`].
#[must_use]
pub fn record_sort(
    len: u32,
    key: KeyType,
    order: Order,
    options: &Options,
    limits: &DeviceLimits,
) -> Recording {
    let job = layout::LayoutSort {
        len,
        key,
        order,
        layout: &SortLayout::default(),
        ranks: None,
        maps_keys: maps_keys(options),
        counting: None,
        limits,
    };
    job.record(&|recording, sort| record_sort_of_words(recording, sort, options, limits))
}

/// Returns true if the engine of the options maps keys when it loads and stores them. The
/// mergesorts compare unmapped words.
#[must_use]
pub fn maps_keys(options: &Options) -> bool {
    options.engine == Engine::SampleSort
}

/// Records a sort of words by the engine of the options. [`Engine::Auto`] stands for a mergesort.
pub fn record_sort_of_words(
    recording: &mut Recording,
    sort: &WordSort,
    options: &Options,
    limits: &DeviceLimits,
) {
    if options.engine == Engine::SampleSort {
        let tuning = options.tuning.unwrap_or_default();
        samplesort::record(recording, sort, &tuning, limits);
        return;
    }
    let of = (options.engine, &options.mergesort);
    mergesort::record(recording, sort, of, limits);
}
